import { z } from 'zod';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool, ToolContext, ToolDefinition } from '../../src/tools/tool.ts';

const inputSchema = z.object({ id: z.string() });
type Input = z.output<typeof inputSchema>;

/** One entry of an implementation. */
export interface ToolEntry {
  readonly toolName: string;
  readonly id: string;
  readonly callId: string;
  readonly operationId: string;
}

type Options = Omit<
  Partial<ToolDefinition<typeof inputSchema, unknown, unknown>>,
  'name' | 'inputSchema' | 'execute'
>;

/** Makes tools with the one argument `id` and sees every entry of their implementations. */
export interface ToolSpy {
  readonly entries: readonly ToolEntry[];
  /** `act` gives the result; default: the text `<name> <id>`. */
  tool(name: string, act?: (input: Input, ctx: ToolContext) => unknown, options?: Options): Tool<unknown>;
}

export function createToolSpy(onEntry?: (entry: ToolEntry) => void): ToolSpy {
  const entries: ToolEntry[] = [];
  return {
    entries,
    tool(name, act = ({ id }) => `${name} ${id}`, options = {}) {
      return defineTool({
        description: `Does ${name}.`,
        ...options,
        name,
        inputSchema,
        execute(input, ctx) {
          const entry = {
            toolName: name,
            id: input.id,
            callId: ctx.callId,
            operationId: ctx.operationId,
          };
          entries.push(entry);
          onEntry?.(entry);
          return act(input, ctx);
        },
      });
    },
  };
}
