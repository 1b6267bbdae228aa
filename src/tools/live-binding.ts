import { SwarmError } from '../errors.ts';
import type { RecordData } from '../ledger/records.ts';
import type { ToolPin } from '../ledger/turn-facts.ts';
import { bindingOf, bindTool } from './bind-tools.ts';
import type { Binding, BoundTool } from './binding.ts';
import { createNameClaims, type NameClaims } from './name-claims.ts';
import { type SettleOptions, settleSources } from './open-sources.ts';
import { safeName } from './safe-text.ts';
import type { Tool } from './tool.ts';
import type { ToolSource } from './tool-source.ts';

/** What a fact says of live tools that changed. */
export type ToolsChange = RecordData<'tools.changed'>;

type ExcludedTool = ToolsChange['excluded'][number];

/** The tools of a turn from one step boundary to the next. */
export interface LiveState {
  /** Counts from 1, the state the turn began with. */
  readonly revision: number;
  /** Tools of the agent and those offered, within the ceiling. */
  readonly binding: Binding;
  /** Were bound earlier in the session and are offered no more. */
  readonly withdrawn: ReadonlySet<string>;
  /** What became different from the state before, or from what the facts of the session say. */
  readonly changes: readonly ToolsChange[];
}

/** The live tools of one turn. */
export interface LiveTools {
  /** The state of the last reading. */
  readonly state: LiveState;
  /** Lets sources that have to ask find out what they offer. */
  settle(options: SettleOptions): Promise<void>;
  /** Reads the sources again; the same state where none of them changed. */
  refresh(): LiveState;
  /** Whether the source of a bound tool has it at this moment. */
  isOffered(name: string): boolean;
}

export interface LiveToolsOptions {
  /** Tools of the agent within the ceiling: they have their names first. */
  readonly base: Binding;
  readonly sources: readonly ToolSource[];
  /** Names the run may use at most. */
  readonly ceiling: ReadonlySet<string> | undefined;
  readonly reservedNames: readonly string[];
  /** Tools of all sources together; the rest is left out. */
  readonly maxTools: number;
  /** The live tools that the facts of the session tell of, by name. */
  readonly pins: ReadonlyMap<string, ToolPin>;
}

/**
 * Puts together what an agent's own tools and its live sources amount to. A tool of a source that cannot be bound (its
 * name is taken, reserved or looks like another's, its schema is unusable, there are too many) is left out and told
 * of; it never takes the place of another. Whose tool has a name keeps it for as long as it is offered.
 */
export function createLiveTools(options: LiveToolsOptions): LiveTools {
  let readings = options.sources.map((source) => readSource(source, undefined));
  let state = compose(options, readings, { pins: options.pins, revision: 0, excluded: [] });
  return {
    get state() {
      return state;
    },
    settle: (settling) => settleSources(options.sources, settling),
    refresh() {
      const next = options.sources.map((source, at) => readSource(source, readings[at]));
      if (next.some((reading, at) => reading !== readings[at])) {
        readings = next;
        state = compose(options, next, state);
      }
      return state;
    },
    isOffered(name) {
      const source = state.binding.byName(name)?.source;
      const at = options.sources.findIndex((one) => one.name === source);
      const one = options.sources[at];
      // Its own tools an agent always has.
      if (one === undefined) return true;
      return readSource(one, readings[at]).tools.some((tool) => tool.name === name);
    },
  };
}

/** What a source offered when it was read. */
interface Reading {
  readonly source: ToolSource;
  readonly revision: number;
  readonly tools: readonly Tool[];
}

/** The same reading where nothing changed or the source cannot be read. */
function readSource(source: ToolSource, before: Reading | undefined): Reading {
  try {
    const { revision } = source;
    if (before?.revision === revision) return before;
    // Read after the revision: what changes in between is read again at the next boundary.
    return { source, revision, tools: [...source.tools()] };
  } catch {
    return before ?? { source, revision: Number.NaN, tools: [] };
  }
}

/** What the next state is told apart from. */
interface Known {
  readonly revision: number;
  readonly pins: ReadonlyMap<string, ToolPin>;
  readonly excluded: readonly ExcludedTool[];
}

function compose(options: LiveToolsOptions, readings: readonly Reading[], known: Known): LiveState & Known {
  const { base, ceiling } = options;
  const { bound, excluded } = bindOffered(options, readings, known.pins);
  const mayUse = (name: string) => ceiling === undefined || ceiling.has(name);
  const pins = new Map(bound.map(({ name, schemaHash, source = '' }) => [name, { source, schemaHash }]));
  const gone = [...known.pins.keys()].filter((name) => !pins.has(name));
  const revision = known.revision + 1;
  return {
    revision,
    binding: extended(
      base,
      bound.filter(({ name }) => mayUse(name)),
    ),
    withdrawn: new Set(gone.filter((name) => mayUse(name) && base.byName(name) === undefined)),
    changes: changesOf(revision, { ...differences(pins, known.pins), withdrawn: gone, excluded }, known),
    pins,
    excluded,
  };
}

interface Offer {
  readonly source: string;
  readonly tool: Tool;
}

/** First those that keep their names, then the others, each in the order of the sources. */
function bindOffered(
  { base, maxTools, reservedNames }: LiveToolsOptions,
  readings: readonly Reading[],
  pins: ReadonlyMap<string, ToolPin>,
): { readonly bound: readonly BoundTool[]; readonly excluded: readonly ExcludedTool[] } {
  const claims = createNameClaims(reservedNames);
  for (const { tool } of base.tools) claims.claim(tool);
  const offers = readings.flatMap(({ source, tools }) =>
    tools.map((tool): Offer => ({ source: source.name, tool })),
  );
  const keepsName = ({ source, tool }: Offer) => pins.get(tool?.name)?.source === source;
  const bound: BoundTool[] = [];
  const excluded: ExcludedTool[] = [];
  for (const offer of [...offers.filter(keepsName), ...offers.filter((one) => !keepsName(one))]) {
    const made = bound.length < maxTools ? bindOffer(offer, claims) : 'too-many-tools';
    if (typeof made !== 'string') bound.push(made);
    else excluded.push({ name: safeName(String(offer.tool?.name)), source: offer.source, reason: made });
  }
  return { bound, excluded };
}

/** The tool, or the code of why it cannot be bound. */
function bindOffer({ source, tool }: Offer, claims: NameClaims): BoundTool | string {
  let bound: BoundTool;
  try {
    bound = boundOnce(tool, source);
  } catch (error) {
    return error instanceof SwarmError ? error.code : 'invalid-definition';
  }
  return claims.claim(tool)?.code ?? bound;
}

/** Tools are frozen, so each is prepared once for each source that offers it. */
const BOUND = new WeakMap<Tool, Map<string, BoundTool>>();

function boundOnce(tool: Tool, source: string): BoundTool {
  const known = BOUND.get(tool)?.get(source);
  if (known !== undefined) return known;
  const bound = bindTool(tool, { source });
  const bySource = BOUND.get(tool) ?? new Map<string, BoundTool>();
  BOUND.set(tool, bySource.set(source, bound));
  return bound;
}

/** The last binding made over one: turns that find the same tools share it, and its search index. */
const EXTENDED = new WeakMap<Binding, { readonly live: readonly BoundTool[]; readonly binding: Binding }>();

function extended(base: Binding, live: readonly BoundTool[]): Binding {
  if (live.length === 0) return base;
  const last = EXTENDED.get(base);
  if (last?.live.length === live.length && last.live.every((one, at) => one === live[at])) {
    return last.binding;
  }
  const binding = bindingOf([...base.tools, ...live]);
  EXTENDED.set(base, { live, binding });
  return binding;
}

function differences(pins: ReadonlyMap<string, ToolPin>, before: ReadonlyMap<string, ToolPin>) {
  const named = [...pins].map(([name, pin]) => ({ name, ...pin }));
  return {
    added: named.filter(({ name }) => !before.has(name)),
    changed: named.filter(({ name, schemaHash }) => {
      const pin = before.get(name);
      return pin !== undefined && pin.schemaHash !== schemaHash;
    }),
  };
}

/** Names of one fact: more are told in several, so that none is too large to be kept. */
const MAX_NAMES_IN_FACT = 500;

type Difference = { readonly [K in Exclude<keyof ToolsChange, 'revision'>]: Readonly<ToolsChange[K]> };

function changesOf(revision: number, found: Difference, known: Known): readonly ToolsChange[] {
  const isKnown = JSON.stringify(found.excluded) === JSON.stringify(known.excluded);
  const difference: Difference = { ...found, excluded: isKnown ? [] : found.excluded };
  const most = Math.max(...Object.values(difference).map((names) => names.length));
  return Array.from({ length: Math.ceil(most / MAX_NAMES_IN_FACT) }, (_, at) => {
    const part = <T>(names: readonly T[]) =>
      names.slice(at * MAX_NAMES_IN_FACT, (at + 1) * MAX_NAMES_IN_FACT);
    const { added, changed, withdrawn, excluded } = difference;
    return {
      revision,
      added: part(added),
      changed: part(changed),
      withdrawn: part(withdrawn),
      excluded: part(excluded),
    };
  });
}
