import type { ToolOutput } from '../ledger/content.ts';
import {
  type AiCall,
  type AiTool,
  type LiftedAiTool,
  liftAiTool,
  type ParsedInput,
} from '../model/ai-tool.ts';
import { defineTool } from './define-tool.ts';
import { ShownResult } from './shown-result.ts';
import type { InputSchema, Tool, ToolContext, ToolDefinition } from './tool.ts';

/** What a tool of the AI SDK cannot say, or says otherwise. */
export type AiToolOptions = Partial<
  Pick<
    ToolDefinition<InputSchema, unknown, unknown>,
    | 'description'
    | 'defer'
    | 'group'
    | 'aliases'
    | 'applies'
    | 'needsApproval'
    | 'approvalScope'
    | 'rememberable'
    | 'exclusive'
    | 'timeoutMs'
    | 'maxResultBytes'
  >
> & {
  /** Default `never_auto_retry`. */
  readonly recovery?: 'never_auto_retry' | 'replay_safe' | 'idempotent';
};

/**
 * Makes a tool of this runtime out of one of the AI SDK: its schema, `execute`, `needsApproval`, `toModelOutput` and
 * `deferLoading` hold, and it settles like any other. It gets the context of the run and no messages; values it yields
 * before the last are progress; what it does while its input streams is left out. Options win over what it says.
 * @throws SwarmError 'invalid-definition' for a tool of a provider, one without `execute` or with a description that
 * is a function; 'unusable-schema' for a schema that has no JSON Schema
 * @example
 * const look = fromAiTool('look', tool({ inputSchema: z.object({ at: z.string() }), execute: ({ at }) => at }));
 */
export function fromAiTool(name: string, tool: AiTool, options: AiToolOptions = {}): Tool<unknown> {
  const lifted = liftAiTool(name, tool);
  // Both are what `defineTool` takes, and it checks them; the SDK's types end at the door of the model room.
  const { inputSchema, outputSchema } = lifted as {
    readonly inputSchema: InputSchema;
    readonly outputSchema: ToolDefinition<InputSchema, unknown, unknown>['outputSchema'];
  };
  return defineTool<InputSchema, unknown, unknown>({
    description: lifted.description ?? '',
    needsApproval: approvalOf(lifted),
    ...(lifted.isDeferred ? { defer: 'always' as const } : {}),
    ...options,
    name,
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    execute: (input, ctx) => run(lifted, input, ctx),
  });
}

async function run(lifted: LiftedAiTool, given: unknown, ctx: ToolContext): Promise<unknown> {
  const { toModelOutput } = lifted;
  const input = lifted.isParsed ? valid(given) : await lifted.parse(given);
  if (input.type === 'invalid') return { error: 'The arguments do not pass the check of the tool itself.' };
  const { callId, context, signal } = ctx;
  const call: AiCall = { callId, context, signal };
  const value = await lifted.execute(input.value, call, (preliminary) => ctx.progress(textOf(preliminary)));
  if (toModelOutput === undefined) return new ShownResult(value);
  return new ShownResult(value, await showing(() => toModelOutput(value, input.value, call)));
}

function valid(value: unknown): ParsedInput {
  return { type: 'valid', value };
}

/** What a mapping came to; where it failed, the failure stands until it is asked for. */
async function showing(map: () => Promise<ToolOutput>): Promise<() => ToolOutput> {
  try {
    const output = await map();
    return () => output;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

function approvalOf({ needsApproval, parse }: LiftedAiTool): boolean | NeedsApproval {
  if (typeof needsApproval === 'boolean') return needsApproval;
  return async (input, { callId, context }) => {
    const parsed = await parse(input);
    // What its own check refuses never runs; until then it asks.
    return parsed.type === 'invalid' || needsApproval(parsed.value, { callId, context });
  };
}

type NeedsApproval = Exclude<
  NonNullable<ToolDefinition<InputSchema, unknown, unknown>['needsApproval']>,
  boolean
>;

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
}
