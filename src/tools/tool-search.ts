import { z } from 'zod';
import type { Clock } from '../clock.ts';
import type { JsonObject } from '../ledger/content.ts';
import type { NewRecord, RecordData } from '../ledger/records.ts';
import type { GateResult, GateSubjects } from '../lifecycle/hooks.ts';
import { bindTools } from './bind-tools.ts';
import type { BoundTool } from './binding.ts';
import type { Catalogue } from './catalogue.ts';
import { defineTool } from './define-tool.ts';
import { type FoundTools, findTools } from './find-tools.ts';
import { RuntimeToolResult, runtimeTool } from './runtime-tool.ts';
import { safeName } from './safe-text.ts';
import type { ToolContext } from './tool.ts';

/** Tools a model may ask of one search at most; a larger limit counts as this. */
const MAX_LIMIT = 20;

const inputSchema = z.object({
  query: z.string().describe('What the tool should do, or its name.'),
  limit: z.int().min(1).optional().describe('How many tools to load at most. Default 5, at most 20.'),
});

type SearchInput = z.output<typeof inputSchema>;

/** The one definition of the search tool, whose bytes never change. */
const shared = once(() =>
  bound({
    name: 'tool_search',
    description:
      'Finds tools that are available but not loaded, by what they do or by name, and loads the best matches. Loaded tools can be called from your next message on, not together with the search.',
  }),
);

/** What a search works with and where its success goes. */
export interface ToolSearchScope {
  readonly turnId: string;
  readonly catalogue: Catalogue;
  readonly clock: Clock;
  /** Names visible when the step of the call started. */
  visible(): ReadonlySet<string>;
  gate(
    subject: GateSubjects['beforeActivation'],
    signal: AbortSignal,
  ): Promise<GateResult<GateSubjects['beforeActivation']>>;
  /** The names a settled search activates, by its call: they become visible at the next step. */
  activate(callId: string, names: readonly string[]): void;
}

/** `tool_search` for one turn. A search that fails or is stopped activates nothing. */
export function toolSearch(scope: ToolSearchScope): BoundTool {
  // Arguments were validated against the schema above before settlement enters the tool.
  return runtimeTool(shared(), (input, ctx) => search(scope, input as SearchInput, ctx));
}

async function search(
  scope: ToolSearchScope,
  input: SearchInput,
  ctx: ToolContext,
): Promise<RuntimeToolResult> {
  const { catalogue, clock } = scope;
  const startedMs = clock.monotonicMs();
  const limit = Math.min(input.limit ?? catalogue.policy.maxResults, MAX_LIMIT);
  const outcome = await findTools(catalogue, scope.visible(), {
    query: input.query,
    limit,
    signal: ctx.signal,
    clock,
  });
  const names = await admitted(
    scope,
    outcome.found.map((one) => one.name),
    ctx,
  );
  ctx.signal.throwIfAborted();
  const at = { turn: scope.turnId, step: ctx.stepId, call: ctx.callId };
  const durationMs = clock.monotonicMs() - startedMs;
  const searched = { ...searchedData(input.query, outcome, names), limit, durationMs };
  const facts: NewRecord[] = [{ ...at, type: 'tools.searched', data: searched }];
  if (names.length > 0) {
    facts.push({
      ...at,
      type: 'tools.activated',
      data: { names: [...names], schemaChars: searched.schemaChars },
    });
  }
  return new RuntimeToolResult(
    { type: 'text', text: resultText(input.query, names, outcome.alreadyActive) },
    facts,
    () => scope.activate(ctx.callId, names),
  );
}

/** What the gate lets through of what was found; a refusal lets nothing through. */
async function admitted(
  scope: ToolSearchScope,
  names: readonly string[],
  ctx: ToolContext,
): Promise<readonly string[]> {
  if (names.length === 0) return names;
  const { sessionId, agentPath, turnId, stepId } = ctx;
  const result = await scope.gate({ sessionId, agentPath, turnId, stepId, names }, ctx.signal);
  if (result.type === 'refuse') return [];
  const allowed = new Set(result.subject.names);
  return names.filter((name) => allowed.has(name));
}

function searchedData(
  query: string,
  outcome: FoundTools,
  names: readonly string[],
): Omit<RecordData<'tools.searched'>, 'limit' | 'durationMs'> {
  const kept = outcome.found.filter((one) => names.includes(one.name));
  return {
    query: query.slice(0, 1_600),
    ranked: outcome.ranked.slice(0, 50),
    activated: [...names],
    alreadyActive: [...outcome.alreadyActive],
    omittedByLimit: outcome.omittedByLimit,
    omittedByBytes: outcome.omittedByBytes,
    schemaChars: kept.reduce((sum, one) => sum + one.schemaChars, 0),
  };
}

/** Names only: the schemas come with the next request. */
function resultText(query: string, activated: readonly string[], alreadyActive: readonly string[]): string {
  const result: JsonObject = {
    activated: activated.map((name) => safeName(name)),
    ...(alreadyActive.length === 0 ? {} : { alreadyActive: alreadyActive.map((name) => safeName(name)) }),
  };
  const json = JSON.stringify(result);
  if (activated.length > 0 || alreadyActive.length > 0) return json;
  const hint =
    query.trim() === ''
      ? 'The query was empty: say what the tool should do.'
      : 'Nothing matched. Try other words for what the tool should do.';
  return `${json}\n${hint}`;
}

function bound(definition: { readonly name: string; readonly description: string }): BoundTool {
  const tool = defineTool({ ...definition, inputSchema, recovery: 'replay_safe', execute: () => undefined });
  const [only] = bindTools([tool]).tools;
  // One tool in, one tool out.
  return { ...(only as BoundTool), exactArguments: true };
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
