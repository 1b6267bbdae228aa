import { z } from 'zod';
import type { NewRecord, RecordData } from '../ledger/records.ts';
import type { PreparedActivation } from './activations.ts';
import type { BoundTool } from './binding.ts';
import type { DiscoveryPolicy } from './discovery-policy.ts';
import type { DiscoveryScope } from './discovery-scope.ts';
import { type FoundTools, findTools } from './find-tools.ts';
import { once, ownTool } from './own-tool.ts';
import { RuntimeToolResult, runtimeTool } from './runtime-tool.ts';
import { searchResultText } from './search-result-text.ts';
import type { ToolContext } from './tool.ts';

/** Tools a model may ask of one search at most; a larger limit counts as this. */
export const MAX_SEARCH_LIMIT = 20;

const limit = z.int().min(1).optional();

const textSchema = (most: number) =>
  z.object({
    query: z.string(),
    limit: limit.describe(`Default ${most}, at most ${MAX_SEARCH_LIMIT}.`),
  });

const selectSchema = z.object({
  query: z
    .string()
    .describe('"select:A,B" for exactly these tools, one bare name, or words for what the tool should do.'),
  max_results: limit.describe('How many tools a search by words loads at most. Default 5, at most 20.'),
});

interface SearchInput {
  readonly query: string;
  readonly limit?: number | undefined;
  readonly max_results?: number | undefined;
}

/** The definitions of the search tool, one for each way it works, whose bytes never change. Every request pays them. */
const byText = Array.from({ length: MAX_SEARCH_LIMIT + 1 }, (_, most) =>
  once(() => ({
    ...ownTool({
      name: 'tool_search',
      description:
        'Finds further tools by what they should do, or by name, and loads the best matches. Call them from your next message on, not together with the search.',
      inputSchema: textSchema(most),
    }),
    exactArguments: true as const,
  })),
);

const SELECT_HEAD =
  'Loads tools that stand among yours with a name and a hint only. Give "select:A,B" to load exactly these, one bare name, or words to search for.';
const DIRECT =
  'You may also call such a tool at once: it runs if its arguments fit, and else its parameters are shown to you.';
const NOT_DIRECT =
  'A call to such a tool before it is loaded does not run: its parameters are shown to you instead.';
const IN_REQUEST = 'Loaded tools stand among yours with their parameters from your next message on.';
const IN_RESULT = 'The parameters of loaded tools come with the result; call them from your next message on.';

const SELECTING = {
  request: {
    direct: once(() => selectTool(DIRECT, IN_REQUEST)),
    taught: once(() => selectTool(NOT_DIRECT, IN_REQUEST)),
  },
  result: {
    direct: once(() => selectTool(DIRECT, IN_RESULT)),
    taught: once(() => selectTool(NOT_DIRECT, IN_RESULT)),
  },
};

function selectTool(...how: readonly string[]): BoundTool {
  const description = [SELECT_HEAD, ...how].join(' ');
  const bound = ownTool({ name: 'ToolSearch', description, inputSchema: selectSchema });
  return {
    ...bound,
    exactArguments: true,
    // Other keys are passed over; this one was the way to ask by name, and passing over it would find something else.
    validate: async (args) =>
      Array.isArray(args['select'])
        ? { type: 'invalid', message: OLD_SELECT, paths: [['select']] }
        : bound.validate(args),
  };
}

const OLD_SELECT =
  'select: is not taken as a list. Nothing was loaded. Name the tools in the query instead: {"query": "select:A,B"}.';

function definitionOf({ queryForms, carrier, hiddenCall, maxResults }: DiscoveryPolicy): BoundTool {
  const text = byText[maxResults];
  if (queryForms === 'text' && text !== undefined) return text();
  return SELECTING[carrier][hiddenCall === 'teach' ? 'taught' : 'direct']();
}

/** The search tool of one turn. A search that fails or is stopped activates nothing. */
export function toolSearch(scope: DiscoveryScope): BoundTool {
  // Arguments were validated against the schema above before settlement enters the tool.
  return runtimeTool(definitionOf(scope.catalogue.policy), (input, ctx) =>
    search(scope, input as SearchInput, ctx),
  );
}

async function search(
  scope: DiscoveryScope,
  input: SearchInput,
  ctx: ToolContext,
): Promise<RuntimeToolResult> {
  const { catalogue, clock, activations } = scope;
  const startedMs = clock.monotonicMs();
  const asked = input.limit ?? input.max_results ?? catalogue.policy.maxResults;
  const most = Math.min(asked, MAX_SEARCH_LIMIT, scope.placesLeft());
  const found = await findTools(
    { catalogue, callable: scope.callable(), live: scope.live },
    { query: input.query, limit: most, signal: ctx.signal, clock },
  );
  const { stepId, callId, signal } = ctx;
  const names = found.found.map((one) => one.name);
  const activation = await activations.prepare({ callId, stepId, names, signal });
  signal.throwIfAborted();
  const durationMs = clock.monotonicMs() - startedMs;
  const searched = { ...searchedData(input.query, found, activation), limit: most, durationMs };
  const facts: readonly NewRecord[] = [
    { type: 'tools.searched', turn: scope.turnId, step: stepId, call: callId, data: searched },
    ...activation.facts,
  ];
  const text = searchResultText(scope, input.query, found, activation);
  return new RuntimeToolResult({ type: 'text', text }, facts, activation.settled);
}

function searchedData(
  query: string,
  found: FoundTools,
  { names }: PreparedActivation,
): Omit<RecordData<'tools.searched'>, 'limit' | 'durationMs'> {
  const kept = found.found.filter((one) => names.includes(one.name));
  return {
    query: query.slice(0, 1_600),
    ranked: found.ranked.slice(0, 50),
    activated: [...names],
    alreadyActive: [...found.alreadyActive],
    omittedByLimit: found.omittedByLimit,
    omittedByBytes: found.omittedByBytes,
    schemaChars: kept.reduce((sum, one) => sum + one.schemaChars, 0),
  };
}
