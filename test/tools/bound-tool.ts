import { bindTools } from '../../src/tools/bind-tools.ts';
import type { BoundTool } from '../../src/tools/binding.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { InputSchema, Tool, ToolDefinition } from '../../src/tools/tool.ts';

type Options = Partial<ToolDefinition<InputSchema, unknown, unknown>>;

/** A tool of which only what a test is about matters. */
export function toolNamed(name: string, options: Options = {}): Tool {
  return defineTool<InputSchema, unknown, unknown>({
    name,
    description: `Does ${name}.`,
    inputSchema: { type: 'object' },
    execute: () => 'done',
    ...options,
  });
}

/** {@link toolNamed}, bound alone. */
export function boundNamed(name: string, options: Options = {}): BoundTool {
  const [bound] = bindTools([toolNamed(name, options)]).tools;
  if (bound === undefined) throw new TypeError('a binding of one tool is empty');
  return bound;
}

/** A tool with that input schema, bound alone. */
export function boundWith(inputSchema: InputSchema): BoundTool {
  return boundNamed('probe', { inputSchema });
}
