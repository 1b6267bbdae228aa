import type { JsonObject } from './content.ts';
import type { LedgerRecord, RecordData, RecordOf } from './records.ts';

/** Where a call stands, by its facts alone. */
export type CallStatus =
  /** Nothing but the call: certainly not dispatched. */
  | 'called'
  /** Waits for a decision. */
  | 'parked'
  /** A decision is recorded, nothing was dispatched. */
  | 'decided'
  /** Dispatched without an outcome: running, or after a crash indeterminate. */
  | 'dispatched'
  | 'refused'
  | 'settled';

/** Everything recorded about one call. */
export interface CallFacts {
  readonly callId: string;
  readonly stepId: string;
  readonly called: RecordOf<'tool.called'>;
  /** What the model sent after repair; empty while it lies in an artifact, see `withArguments`. */
  readonly args: JsonObject;
  readonly refused?: RecordOf<'tool.refused'>;
  readonly requested?: RecordOf<'permission.requested'>;
  readonly decided?: RecordOf<'permission.decided'>;
  readonly expired?: RecordOf<'permission.expired'>;
  readonly cancelled?: RecordOf<'permission.cancelled'>;
  readonly dispatched?: RecordOf<'tool.dispatched'>;
  readonly settled?: RecordOf<'tool.settled'>;
  /** Names a search of this call activated. */
  readonly activated?: readonly string[];
  readonly indeterminate?: RecordOf<'tool.indeterminate'>;
  readonly reconciled?: RecordOf<'tool.reconciled'>;
}

export interface StepFacts {
  readonly stepId: string;
  readonly index: number;
  readonly opened: RecordOf<'step.opened'>;
  /** Attempts that reached the provider. */
  readonly attempts: number;
  /** Set when the last started attempt has neither failed nor answered. */
  readonly openAttempt?: number;
  /** When the next attempt was to be made, in milliseconds since the epoch; set while the step backs off. */
  readonly retryAt?: number;
  readonly closed?: RecordOf<'step.closed'>;
  /** The request last sent. */
  readonly prepared?: RecordOf<'request.prepared'>;
  /** The answer; absent while none is complete. */
  readonly message?: RecordOf<'assistant.message'>;
  readonly callIds: readonly string[];
}

/** One turn as its facts tell it. */
export interface TurnFacts {
  readonly turnId: string;
  readonly opened: RecordOf<'turn.opened'>;
  readonly closed?: RecordOf<'turn.closed'>;
  readonly paused: boolean;
  readonly steps: readonly StepFacts[];
  readonly calls: ReadonlyMap<string, CallFacts>;
  /** Accepted steering that no step has carried yet. */
  readonly steering: readonly RecordOf<'steering.accepted'>[];
  /** Steps whose output was rejected. */
  readonly rejectedOutputs: readonly string[];
  /** Folds that were made or tried. */
  readonly compactions: readonly CompactionFact[];
  /** Children that calls of the turn asked for, by session, in the order they were wanted. */
  readonly children: ReadonlyMap<string, ChildFacts>;
  /** Who takes over when the turn ends. */
  readonly handoff?: RecordOf<'handoff.taken'>;
}

/** One child as the facts of its parent tell it. */
export interface ChildFacts {
  readonly intended: RecordOf<'child.intended'>;
  readonly started?: RecordOf<'child.started'>;
  readonly finished?: RecordOf<'child.finished'>;
  readonly lost?: RecordOf<'child.lost'>;
}

/** What became of a fold. */
export type CompactionFact = RecordOf<'compaction.committed'> | RecordOf<'compaction.skipped'>;

/** What is known of a live tool: who offers it, and its schema hash. */
export interface ToolPin {
  readonly source: string;
  readonly schemaHash: string;
}

/** One session as its facts tell it. */
export interface SessionFacts {
  readonly opened?: RecordOf<'session.opened'>;
  readonly turns: readonly TurnFacts[];
  /** The turn that was opened and not closed; at most one. */
  readonly openTurn?: TurnFacts;
  /** Decisions that hold for the whole session, by scope key. */
  readonly remembered: ReadonlyMap<string, RecordOf<'permission.decided'>>;
  /** Effects that finished, as `<hook> <fact id>`. */
  readonly effectsDone: ReadonlySet<string>;
  /** Live tools that were told of and not withdrawn since, by name. */
  readonly pins: ReadonlyMap<string, ToolPin>;
  readonly head?: LedgerRecord;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type MutableStep = Mutable<Omit<StepFacts, 'callIds'>> & { callIds: string[] };
type MutableCall = Mutable<CallFacts>;
type MutableTurn = Mutable<
  Omit<TurnFacts, 'steps' | 'calls' | 'steering' | 'rejectedOutputs' | 'compactions' | 'children'>
> & {
  compactions: CompactionFact[];
  children: Map<string, Mutable<ChildFacts>>;
  steps: MutableStep[];
  calls: Map<string, MutableCall>;
  steering: RecordOf<'steering.accepted'>[];
  rejectedOutputs: string[];
};

/** Folds records of one session, in order, into what they say. Total: any prefix gives a legal answer. */
export function foldSession(records: readonly LedgerRecord[]): SessionFacts {
  const turns: MutableTurn[] = [];
  const remembered = new Map<string, RecordOf<'permission.decided'>>();
  const effectsDone = new Set<string>();
  const scopeKeys = new Map<string, string>();
  const pins = new Map<string, ToolPin>();
  let opened: RecordOf<'session.opened'> | undefined;
  for (const record of records) {
    if (record.type === 'session.opened') opened = record;
    else if (record.type === 'effect.done') effectsDone.add(`${record.data.hook} ${record.data.fact}`);
    else if (record.type === 'turn.opened') turns.push(newTurn(record));
    else {
      const turn = turns.at(-1);
      if (turn !== undefined && record.turn === turn.turnId) foldTurn(turn, record);
      if (record.type === 'tools.changed') foldPins(pins, record);
      if (record.type === 'permission.requested') scopeKeys.set(record.data.request, record.data.scopeKey);
      if (record.type === 'permission.decided' && record.data.scope === 'session') {
        const key = scopeKeys.get(record.data.request);
        if (key !== undefined) remembered.set(key, record);
      }
    }
  }
  const last = turns.at(-1);
  const head = records.at(-1);
  return {
    ...(opened === undefined ? {} : { opened }),
    turns,
    ...(last === undefined || last.closed !== undefined ? {} : { openTurn: last }),
    remembered,
    effectsDone,
    pins,
    ...(head === undefined ? {} : { head }),
  };
}

function foldPins(pins: Map<string, ToolPin>, { data }: RecordOf<'tools.changed'>): void {
  for (const { name, ...pin } of [...data.added, ...data.changed]) pins.set(name, pin);
  for (const name of data.withdrawn) pins.delete(name);
}

function newTurn(record: RecordOf<'turn.opened'>): MutableTurn {
  return {
    turnId: record.turn ?? '',
    opened: record,
    paused: false,
    steps: [],
    calls: new Map(),
    steering: [],
    rejectedOutputs: [],
    compactions: [],
    children: new Map(),
  };
}

function foldTurn(turn: MutableTurn, record: LedgerRecord): void {
  switch (record.type) {
    case 'turn.paused':
      turn.paused = true;
      return;
    case 'turn.resumed':
      turn.paused = false;
      return;
    case 'turn.closed':
      turn.closed = record;
      return;
    case 'compaction.committed':
    case 'compaction.skipped':
      turn.compactions.push(record);
      return;
    case 'output.rejected':
      turn.rejectedOutputs.push(record.step ?? '');
      return;
    case 'steering.accepted':
      turn.steering.push(record);
      return;
    case 'steering.injected':
    case 'steering.undelivered':
      turn.steering = turn.steering.filter((one) => !record.data.ids.includes(one.data.id));
      return;
    case 'child.intended':
      turn.children.set(record.data.child, { intended: record });
      return;
    case 'child.started':
    case 'child.finished':
    case 'child.lost':
      foldChild(turn.children.get(record.data.child), record);
      return;
    case 'handoff.taken':
      turn.handoff = record;
      return;
    case 'tools.changed':
      foldWithdrawn(turn, new Set(record.data.withdrawn));
      return;
    default:
      if (record.call === undefined) foldStep(turn, record);
      else foldCall(turn, record);
  }
}

function foldChild(
  child: Mutable<ChildFacts> | undefined,
  record: RecordOf<'child.started' | 'child.finished' | 'child.lost'>,
): void {
  if (child === undefined) return;
  if (record.type === 'child.started') child.started = record;
  else if (record.type === 'child.finished') child.finished = record;
  else child.lost = record;
}

/** A tool that comes back has to be found again. */
function foldWithdrawn(turn: MutableTurn, names: ReadonlySet<string>): void {
  for (const call of turn.calls.values()) {
    if (call.activated !== undefined) call.activated = call.activated.filter((name) => !names.has(name));
  }
}

function foldStep(turn: MutableTurn, record: LedgerRecord): void {
  if (record.type === 'step.opened') {
    turn.steps.push({
      stepId: record.step ?? '',
      index: record.data.index,
      opened: record,
      attempts: 0,
      callIds: [],
    });
    return;
  }
  const step = turn.steps.at(-1);
  if (step === undefined || record.step !== step.stepId) return;
  if (record.type === 'attempt.started') {
    step.attempts = record.data.attempt;
    step.openAttempt = record.data.attempt;
    delete step.retryAt;
  } else if (record.type === 'request.prepared') {
    step.prepared = record;
  } else if (record.type === 'attempt.retry-scheduled') {
    step.retryAt = record.at + record.data.delayMs;
  } else if (record.type === 'attempt.failed') {
    delete step.openAttempt;
  } else if (record.type === 'assistant.message' && record.data.partial !== true) {
    step.message = record;
  } else if (record.type === 'step.closed') {
    step.closed = record;
    delete step.openAttempt;
  }
}

function foldCall(turn: MutableTurn, record: LedgerRecord): void {
  const callId = record.call ?? '';
  if (record.type === 'tool.called') {
    turn.calls.set(callId, { callId, stepId: record.step ?? '', called: record, args: record.data.args });
    turn.steps.at(-1)?.callIds.push(callId);
    return;
  }
  const call = turn.calls.get(callId);
  if (call === undefined) return;
  if (record.type === 'tool.refused') call.refused = record;
  else if (record.type === 'tools.activated') call.activated = record.data.names;
  else if (record.type === 'tool.dispatched') call.dispatched = record;
  else if (record.type === 'tool.settled') call.settled = record;
  else if (record.type === 'tool.indeterminate') call.indeterminate = record;
  else if (record.type === 'tool.reconciled') call.reconciled = record;
  else if (record.type === 'permission.requested') foldRequested(call, record);
  else if (record.type === 'permission.decided') call.decided = record;
  else if (record.type === 'permission.expired') call.expired = record;
  else if (record.type === 'permission.cancelled') call.cancelled = record;
}

/** Asked again: a process that cancelled a request and ended before it refused the call left it to the next. */
function foldRequested(call: MutableCall, record: RecordOf<'permission.requested'>): void {
  call.requested = record;
  delete call.cancelled;
}

/** Where a call stands. */
export function callStatus(call: CallFacts): CallStatus {
  if (call.settled !== undefined) return 'settled';
  if (call.refused !== undefined) return 'refused';
  if (call.dispatched !== undefined) return 'dispatched';
  if (call.decided !== undefined || call.expired !== undefined) return 'decided';
  return call.requested === undefined || call.cancelled !== undefined ? 'called' : 'parked';
}

/** True when the call has its result, of whichever kind. */
export function hasResult(call: CallFacts): boolean {
  return call.settled !== undefined || call.refused !== undefined;
}

/** The text a model gets for a refused call, or its settled output. */
export function resultOf(call: CallFacts): RecordData<'tool.settled'>['output'] | undefined {
  if (call.settled !== undefined) return call.settled.data.output;
  if (call.refused !== undefined) return { type: 'error', text: call.refused.data.text };
  return undefined;
}

/** Arguments that are asked about: those a gate put in place, else those the model sent. */
export function requestedArgs(call: CallFacts): JsonObject {
  return call.requested?.data.input ?? call.args;
}

/** Names activated in a turn: by step, then by the order of the calls that found them. */
export function activatedNames(turn: TurnFacts): readonly string[] {
  const calls = turn.steps.flatMap((step) => step.callIds.map((id) => turn.calls.get(id)));
  return [...new Set(calls.flatMap((call) => call?.activated ?? []))];
}

/** Arguments that run: those a person edited or a gate put in place, else those the model sent. */
export function effectiveArgs(call: CallFacts): JsonObject {
  return call.dispatched?.data.editedArgs ?? call.decided?.data.editedInput ?? requestedArgs(call);
}
