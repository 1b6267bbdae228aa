import { hookFor, type ObserverHookName } from '../../machines/hooks.ts';
import type { MachineKind } from '../../machines/machine-kind.ts';

/** A value of {@link TransitionMeta}. Text is cut to {@link MAX_META_CHARS} characters. */
export type MetaValue = string | number | boolean | null;

/** What a transition was about: ids, counters and kinds, never content. */
export type TransitionMeta = { readonly [name: string]: MetaValue };

/** Ids that stay the same over the life of an instance. `turn`, `step` and `call` are its own or inherited. */
export interface InstanceIds {
  readonly id: string;
  /** What a person knows it by: the agent or graph it is of, at most {@link MAX_META_CHARS} characters. */
  readonly name?: string;
  readonly parentId?: string;
  readonly rootId: string;
  readonly session: string;
  readonly turn?: string;
  readonly step?: string;
  readonly call?: string;
}

/**
 * One event that met one machine instance; frozen, flat, JSON-safe and at most 2 KiB. Hooks, inspection and
 * charts are all made of these, so they see the same.
 */
export interface TransitionRecord extends InstanceIds {
  readonly v: 1;
  /** Counts from 1 without gaps within one lifecycle host. */
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly kind: MachineKind;
  readonly machineId: string;
  /** `'(start)'` for the creation of the instance. */
  readonly from: string;
  readonly to: string;
  readonly event: string;
  /** The state does not accept the event; nothing changed. */
  readonly illegal?: true;
  /** Repeats what an earlier process did; no hook fires. */
  readonly replayed?: true;
  /** A guard or action threw: the instance is dead in the state it had. */
  readonly fault?: true;
  /** The last record of the instance. */
  readonly final?: true;
  /** The observer hook of this transition. */
  readonly hook?: ObserverHookName;
  /** What the event itself said, where it said something. */
  readonly facts?: TransitionMeta;
  /** `facts`, and over them those of the instance after the transition. */
  readonly meta: TransitionMeta;
}

/** What happened, before it is a record. */
export interface TransitionFacts {
  readonly from: string;
  readonly to: string;
  readonly event: { readonly type: string };
  readonly context: object;
  readonly illegal?: boolean;
  readonly replayed?: boolean;
  readonly fault?: boolean;
  readonly final?: boolean;
  /** Children of the instance that are alive when it ends; a turn that ends waits for them, so 0 if all is well. */
  readonly liveChildren?: number;
}

/** Longest text of a {@link TransitionMeta}, in characters. */
export const MAX_META_CHARS = 64;

/** Facts of the context that records carry. Everything else of a context stays inside. */
const CONTEXT_META = {
  agent: [
    'mailboxSize',
    'openChildren',
    'graph',
    'turns',
    'restarts',
    'maxRestarts',
    'wakeReason',
    'failureKind',
  ],
  turn: [
    'stepIndex',
    'maxSteps',
    'stepCompleted',
    'pendingCalls',
    'parkedCount',
    'overflowUsed',
    'stopAfterStep',
    'pauseReason',
    'closeReason',
    'stopReason',
    'failureKind',
  ],
  step: [
    'index',
    'attempt',
    'maxAttempts',
    'idleRetriesLeft',
    'truncatedRetriesLeft',
    'emitted',
    'abortRequested',
    'calls',
    'visibleCount',
    'usageKnown',
    'failureKind',
  ],
  'tool-call': [
    'toolName',
    'origin',
    'recovery',
    'generation',
    'repaired',
    'operationId',
    'refusal',
    'outcome',
    'abortCause',
    'failureKind',
  ],
  'graph-supervisor': [
    'revision',
    'runningWorks',
    'parkedWorks',
    'settledWorks',
    'passes',
    'closeReason',
    'failureKind',
  ],
} as const satisfies Record<MachineKind, readonly string[]>;

/** Fields of events that records carry. Reasons are absent: some are free text of a user. */
const SHOWN_OF_EVENTS: ReadonlySet<string> = new Set([
  'attempt',
  'budget',
  'callId',
  'calls',
  'cause',
  'childId',
  'code',
  'decision',
  'delayMs',
  'edited',
  'emitted',
  'expiresAt',
  'graph',
  'kind',
  'operationId',
  'outcome',
  'reattached',
  'revision',
  'request',
  'status',
  'stepId',
  'stopReason',
  'target',
  'toolName',
  'underWindow',
  'usageKnown',
  'what',
  'work',
]);

/** Names of the facts of a context that records carry, by kind of machine. */
export function contextFacts(kind: MachineKind): readonly string[] {
  return CONTEXT_META[kind];
}

/**
 * What a record says of an instance in a state: the allowed facts of its context.
 * @returns a fresh object the caller may add to
 */
export function contextMeta(kind: MachineKind, context: object): Record<string, MetaValue> {
  const meta: Record<string, MetaValue> = {};
  collect(meta, context, CONTEXT_META[kind]);
  return meta;
}

/** Builds the record of one transition. Called once for each, for a few microseconds; the result is frozen. */
export function buildRecord(
  kind: MachineKind,
  ids: InstanceIds,
  stamp: { readonly seq: number; readonly at: number },
  facts: TransitionFacts,
): TransitionRecord {
  const { from, to, event } = facts;
  const said = saidBy(event);
  const meta: Record<string, MetaValue> = { ...said };
  collect(meta, facts.context, CONTEXT_META[kind]);
  if (facts.liveChildren !== undefined && facts.liveChildren > 0) meta['liveChildren'] = facts.liveChildren;
  const record: { -readonly [K in keyof TransitionRecord]: TransitionRecord[K] } = {
    v: 1,
    seq: stamp.seq,
    at: stamp.at,
    kind,
    machineId: kind,
    ...ids,
    from,
    to,
    event: event.type,
    meta: Object.freeze(meta),
  };
  if (facts.illegal === true) record.illegal = true;
  if (facts.replayed === true) record.replayed = true;
  if (facts.fault === true) record.fault = true;
  if (facts.final === true) record.final = true;
  const isSilent = facts.illegal === true || facts.replayed === true || facts.fault === true;
  const hook = isSilent ? undefined : hookFor(kind, from, event.type, to);
  if (hook !== undefined) record.hook = hook;
  if (said !== undefined) record.facts = Object.freeze(said);
  return Object.freeze(record);
}

/** Fields of an event that records carry; undefined where it has none. Events have few fields of many names. */
function saidBy(event: object): Record<string, MetaValue> | undefined {
  // Events are plain data, whose fields are looked up by name and checked by type.
  const fields = event as { readonly [name: string]: unknown };
  let said: Record<string, MetaValue> | undefined;
  for (const name of Object.keys(fields)) {
    const shown = SHOWN_OF_EVENTS.has(name) ? metaValue(fields[name]) : undefined;
    if (shown === undefined) continue;
    said ??= {};
    said[name] = shown;
  }
  return said;
}

function collect(meta: Record<string, MetaValue>, source: object, names: readonly string[]): void {
  // Contexts are plain data whose fields are looked up by name and checked by type.
  const fields = source as { readonly [name: string]: unknown };
  for (const name of names) {
    const value = metaValue(fields[name]);
    if (value !== undefined) meta[name] = value;
  }
}

function metaValue(value: unknown): MetaValue | undefined {
  if (typeof value === 'string') return shortText(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  return typeof value === 'boolean' || value === null ? value : undefined;
}

/** A text of at most {@link MAX_META_CHARS} characters. */
export function shortText(text: string): string {
  return text.length > MAX_META_CHARS ? cut(text) : text;
}

/** Cuts between characters, never inside one. */
function cut(text: string): string {
  const end = MAX_META_CHARS - 1;
  const code = text.charCodeAt(end - 1);
  return `${text.slice(0, code >= 0xd800 && code <= 0xdbff ? end - 1 : end)}…`;
}
