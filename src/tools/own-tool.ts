import { bindTools } from './bind-tools.ts';
import type { BoundTool } from './binding.ts';
import { defineTool } from './define-tool.ts';
import type { InputSchema } from './tool.ts';

/** Definition of a tool of the runtime: what a model sees of it. */
export interface OwnToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: InputSchema;
}

/** A bound tool of the runtime without its implementation, to be given one for each turn by `runtimeTool`. */
export function ownTool(definition: OwnToolDefinition): BoundTool {
  const tool = defineTool({ ...definition, recovery: 'replay_safe', execute: () => undefined });
  const maxDescriptionChars = definition.description.length + 1;
  const [only] = bindTools([tool], { maxDescriptionChars }).tools;
  // One tool in, one tool out.
  return only as BoundTool;
}

/** The value of `make`, made at its first use. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
