import { z } from 'zod';
import { SwarmError } from '../errors.ts';
import type { Model } from '../model/adapter.ts';
import type { SearchableTool, ToolRanker } from './search-index.ts';
import type { Reranker } from './search-rerank.ts';

/**
 * Ways to handle tools that are not in every request.
 * - `search`: found by `tool_search`, visible from the next step until the turn ends.
 * - `groups`: loaded by group with `load_tools`, kept over turns.
 * - `placeholder`: every deferred tool stands in the request by name and hint alone; searched, or called directly
 *   with arguments that fit.
 * - `placeholder-static`: the same, with schemas in results so that the tools of the request never change.
 * - `invoke`: never in the request; searched, inspected and called through meta tools.
 * - `off`: every bound tool is in every request.
 */
export type DiscoveryPreset = 'search' | 'groups' | 'placeholder' | 'placeholder-static' | 'invoke' | 'off';

/** Options of tool discovery; on the runtime, an agent or a run, the nearest wins field by field. */
export interface DiscoveryOptions {
  /** Default `search`. */
  readonly preset?: DiscoveryPreset;
  /** The tools in every request; when given, every other bound tool is deferred. */
  readonly direct?: readonly string[];
  /** Tools one search activates unless the model asks for more. Default 5, at most 20. */
  readonly maxResults?: number;
  /** Characters of schema one search may activate; the best match always fits. Default 16,000, at most 32,768. */
  readonly maxSchemaChars?: number;
  /** Characters of the list of deferred names in the system text. Default 8,000. */
  readonly maxInventoryChars?: number;
  /** Ranks instead of the built-in index. Must be deterministic; a throw fails the search. */
  readonly ranker?: (tools: readonly SearchableTool[]) => ToolRanker;
  /** Reorders what the ranker found, within `rerankTimeoutMs` (default 2,000). */
  readonly reranker?: Reranker;
  readonly rerankTimeoutMs?: number;
  /**
   * Whether a call to a placeholder runs when its arguments fit. Default true; with false it only shows the model the
   * parameters. Presets without placeholders have no such calls.
   */
  readonly directCalls?: boolean;
  /**
   * Text for the model that goes with the result which activates tools, once a turn for each of them: what it must
   * know to use them. A throw counts as no text.
   */
  readonly activationNote?: (names: readonly string[]) => string | undefined;
  /** How calls that cannot be used as they are written are mended. */
  readonly repair?: RepairOptions;
}

/**
 * Mending of calls. What can be told without a model is always mended first: names by case and the like, arguments by
 * unwrapping and by the types of the schema. A call gets one model request at most, whose usage is counted.
 */
export interface RepairOptions {
  /** `case` (default): no model is asked for a name. `model`: one is asked which visible tool was meant, if any. */
  readonly names?: 'case' | 'model';
  /** Mends arguments that break their schema; without it they are refused. For names the agent's own model stands in. */
  readonly model?: Model;
}

/** What a preset differs in. Everything after the availability gate is the same for all of them. */
export interface DiscoveryPolicy {
  readonly preset: DiscoveryPreset;
  /**
   * What becomes of a call to a deferred tool that is not active: refused; run where its arguments fit and else
   * answered with its parameters; always answered with its parameters.
   */
  readonly hiddenCall: 'reject' | 'shape-gated' | 'teach';
  /** How long an activation lives. */
  readonly retention: 'turn' | 'replay';
  /** What a deferred tool looks like in a request before it is active. */
  readonly wire: 'absent' | 'placeholder';
  /** Where its schema comes to the model. */
  readonly carrier: 'request' | 'result';
  /** How it is called. */
  readonly exposition: 'project' | 'invoke';
  /** What activates. */
  readonly activation: 'search' | 'group';
  /** Whether `select:` and bare names are forms of their own. */
  readonly queryForms: 'text' | 'select';
  /** What the system text says of deferred tools. */
  readonly inventory: 'names' | 'groups' | 'none';
  /** Whether tools that ask for approval are deferred like others. */
  readonly gatedTools: 'deferred' | 'inline';
  readonly searchToolName: string;
  /** The runtime's own tools through which deferred ones are reached; the first is `searchToolName`. */
  readonly ownTools: readonly string[];
  readonly direct: readonly string[] | undefined;
  readonly maxResults: number;
  readonly maxSchemaChars: number;
  readonly maxInventoryChars: number;
  readonly ranker: DiscoveryOptions['ranker'];
  readonly reranker: Reranker | undefined;
  readonly rerankTimeoutMs: number;
  readonly activationNote: DiscoveryOptions['activationNote'];
  readonly repair: RepairOptions;
}

type PresetRow = Pick<
  DiscoveryPolicy,
  | 'hiddenCall'
  | 'retention'
  | 'wire'
  | 'carrier'
  | 'exposition'
  | 'activation'
  | 'queryForms'
  | 'inventory'
  | 'gatedTools'
  | 'ownTools'
>;

const SEARCH_TOOL = 'tool_search';

const SEARCH: PresetRow = {
  hiddenCall: 'reject',
  retention: 'turn',
  wire: 'absent',
  carrier: 'request',
  exposition: 'project',
  activation: 'search',
  queryForms: 'text',
  inventory: 'names',
  gatedTools: 'deferred',
  ownTools: [SEARCH_TOOL],
};

const PLACEHOLDER: PresetRow = {
  ...SEARCH,
  hiddenCall: 'shape-gated',
  retention: 'replay',
  wire: 'placeholder',
  queryForms: 'select',
  inventory: 'none',
  ownTools: ['ToolSearch'],
};

/** The table of what each preset differs in. */
export const PRESETS: Readonly<Record<DiscoveryPreset, PresetRow>> = {
  search: SEARCH,
  groups: {
    ...SEARCH,
    retention: 'replay',
    activation: 'group',
    inventory: 'none',
    ownTools: ['load_tools'],
  },
  placeholder: PLACEHOLDER,
  'placeholder-static': { ...PLACEHOLDER, carrier: 'result' },
  invoke: {
    ...SEARCH,
    hiddenCall: 'teach',
    exposition: 'invoke',
    inventory: 'groups',
    gatedTools: 'inline',
    ownTools: [SEARCH_TOOL, 'tool_inspect', 'tool_invoke'],
  },
  off: { ...SEARCH, inventory: 'none', ownTools: [] },
};

const MAX_RESULTS = 20;
const MAX_SCHEMA_CHARS = 32_768;

const count = (max: number) => z.int().min(1).max(max).optional();
const fn = z.custom<(...args: never[]) => unknown>(
  (value) => typeof value === 'function',
  'must be a function',
);

const optionsSchema = z.strictObject({
  preset: z.enum(Object.keys(PRESETS) as [DiscoveryPreset, ...DiscoveryPreset[]]).optional(),
  direct: z.array(z.string()).optional(),
  maxResults: count(MAX_RESULTS),
  maxSchemaChars: count(MAX_SCHEMA_CHARS),
  maxInventoryChars: z.int().min(0).optional(),
  ranker: fn.optional(),
  reranker: z
    .custom<Reranker>((value) => typeof value === 'object' && value !== null && 'rank' in value)
    .optional(),
  rerankTimeoutMs: z.number().min(0).optional(),
  directCalls: z.boolean().optional(),
  activationNote: fn.optional(),
  repair: z
    .strictObject({
      names: z.enum(['case', 'model']).optional(),
      model: z.custom<Model>(isModel, 'must be a model').optional(),
    })
    .optional(),
});

function isModel(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'step' in value && typeof value.step === 'function';
}

/** @throws SwarmError 'invalid-definition' naming the field; `where` says whose options they are */
export function checkDiscovery(options: DiscoveryOptions | undefined, where: string): void {
  if (options === undefined) return;
  const parsed = optionsSchema.safeParse(options);
  if (parsed.success) return;
  const issue = parsed.error.issues[0];
  const path = ['discovery', ...(issue?.path ?? [])].map(String).join('.');
  throw new SwarmError('invalid-definition', `${where}: ${path}: ${issue?.message ?? 'unusable'}`);
}

/**
 * The policy of one turn. `layers` from the farthest (runtime) to the nearest (run). `preset` overrides what they say:
 * a turn goes on under the preset it was opened with.
 */
export function resolveDiscovery(
  layers: readonly (DiscoveryOptions | undefined)[],
  preset?: string,
): DiscoveryPolicy {
  const merged: DiscoveryOptions = Object.assign({}, ...layers.map(defined));
  const name = preset !== undefined && isPreset(preset) ? preset : (merged.preset ?? 'search');
  return {
    ...presetOf(name, merged.directCalls ?? true),
    direct: merged.direct,
    maxResults: merged.maxResults ?? 5,
    maxSchemaChars: merged.maxSchemaChars ?? 16_000,
    maxInventoryChars: merged.maxInventoryChars ?? 8_000,
    ranker: merged.ranker,
    reranker: merged.reranker,
    rerankTimeoutMs: merged.rerankTimeoutMs ?? 2_000,
    activationNote: merged.activationNote,
    repair: merged.repair ?? {},
  };
}

/** The same policy with every tool in every request. */
export function withoutDiscovery(policy: DiscoveryPolicy): DiscoveryPolicy {
  return { ...policy, ...presetOf('off', true) };
}

function presetOf(preset: DiscoveryPreset, directCalls: boolean) {
  const row = PRESETS[preset];
  const hiddenCall = row.hiddenCall === 'shape-gated' && !directCalls ? 'teach' : row.hiddenCall;
  return { preset, ...row, hiddenCall, searchToolName: row.ownTools[0] ?? SEARCH_TOOL } as const;
}

function isPreset(name: string): name is DiscoveryPreset {
  return Object.hasOwn(PRESETS, name);
}

function defined(layer: DiscoveryOptions | undefined): DiscoveryOptions {
  return Object.fromEntries(Object.entries(layer ?? {}).filter(([, value]) => value !== undefined));
}
