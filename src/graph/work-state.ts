import type { RecordData } from '../ledger/records.ts';

export type GraphUpdate = RecordData<'graph.updated'>;
export type OperatorSpec = GraphUpdate['operators'][number];
export type WorkSpec = GraphUpdate['works'][number];
export type NodeFinished = RecordData<'node.finished'>;
export type SkipReason = RecordData<'node.skipped'>['reason'];

/** Where a work stands, by its facts alone. The last five are settled: nothing of them changes any more. */
export type WorkStatus =
  /** Inputs are missing. */
  | 'waiting'
  /** What it runs on is fixed; nobody was admitted yet. */
  | 'ready'
  /** Admitted; nothing of it ran. */
  | 'claimed'
  | 'running'
  /** An attempt failed and another one follows. */
  | 'retrying'
  /** An attempt was entered and nobody knows what became of it. */
  | 'indeterminate'
  | 'completed'
  | 'failed'
  | 'cancelled'
  /** Another work stands for it. */
  | 'superseded'
  | 'skipped';

/** What a settled work is to those that wait for it. */
export type InputClass = 'unsettled' | 'completed' | 'failed' | 'skipped';

/** How many inputs are of each class. */
export type Tally = Record<InputClass, number>;

/** What is to be done about a work now. */
export type Verdict =
  | { readonly type: 'none' }
  /** Its inputs are settled: fix what it runs on, see {@link takenInputs}. */
  | { readonly type: 'ready' }
  /** It may be claimed, when there is room. */
  | { readonly type: 'admit' }
  | { readonly type: 'skip'; readonly reason: SkipReason }
  /** All its items are settled: it has its outcome. */
  | { readonly type: 'gather' }
  /** A stop came before it was entered. */
  | { readonly type: 'cancel'; readonly reason: string };

/** One attempt: entered, ended, or both. Either fact may come first. */
export interface Attempt {
  started?: RecordData<'node.started'>;
  /** When it was entered, in milliseconds since the epoch. */
  startedAt?: number;
  finished?: NodeFinished;
}

/** Position in the order in which works are looked at: by update, place in it, item, id. */
export type WorkOrder = readonly [revision: number, index: number, item: number];

/** One work and every fact about it. Owned by its schedule; nobody else writes to it. */
export interface WorkState {
  readonly work: string;
  readonly spec: WorkSpec;
  readonly operator: OperatorState;
  readonly order: WorkOrder;
  readonly inputs: WorkState[];
  /** Works that wait for this one. */
  readonly dependents: WorkState[];
  /** The work this one is an item of, and its place. */
  readonly itemOf: { readonly of: WorkState; readonly index: number } | undefined;
  /** Its items, once it is known how many there are. */
  readonly items: WorkState[];
  readonly tally: Tally;
  readonly itemTally: Tally;
  /** Records it is given that are not committed. */
  missingRecords: number;
  readied: RecordData<'graph.readied'> | undefined;
  claimed: RecordData<'graph.claimed'> | undefined;
  readonly attempts: Map<number, Attempt>;
  lastAttempt: number;
  /** The attempt that is its outcome. */
  outcome: NodeFinished | undefined;
  skipped: SkipReason | undefined;
  stopped: { readonly reason: string; readonly superseded: boolean } | undefined;
  status: WorkStatus;
  /** What it is to those that wait for it; follows from the status. */
  inputClass: InputClass;
}

/** One operator and its works, in their order. */
export interface OperatorState {
  readonly spec: OperatorSpec;
  readonly revision: number;
  readonly index: number;
  readonly works: WorkState[];
  /** Operators that get a work for each result of this one. */
  readonly routedTo: OperatorState[];
  /** Session it is bound to. */
  session: string | undefined;
  /** Works that were claimed and are not settled. */
  active: number;
  /** Requests in its session, with the positions where they were last asked and last answered. */
  readonly requests: Map<string, { asked: number; answered: number }>;
  /** Works it is routed are stopped as they come. */
  stopped: string | undefined;
}

const SETTLED: ReadonlySet<WorkStatus> = new Set([
  'completed',
  'failed',
  'cancelled',
  'superseded',
  'skipped',
]);

/** Whether nothing of a work changes any more. */
export function isSettled(status: WorkStatus): boolean {
  return SETTLED.has(status);
}

/** Whether a work holds its operator: it was admitted and is not settled. */
export function isActive(status: WorkStatus): boolean {
  return status === 'claimed' || status === 'running' || status === 'retrying' || status === 'indeterminate';
}

/** A work that was left out on purpose is skipped; one that could not run because of a failure has failed as well. */
export function classOf({ status, skipped }: Pick<WorkState, 'status' | 'skipped'>): InputClass {
  if (status === 'completed') return 'completed';
  if (status !== 'skipped') return SETTLED.has(status) ? 'failed' : 'unsettled';
  return skipped === 'condition' || skipped === 'inputs-skipped' ? 'skipped' : 'failed';
}

export function emptyTally(): Tally {
  return { unsettled: 0, completed: 0, failed: 0, skipped: 0 };
}

/** The outcome an attempt is, if it is one. */
export function isOutcome(finished: NodeFinished): boolean {
  return finished.status !== 'indeterminate' && finished.retryAt === undefined;
}

/** The status that the facts of a work add up to, in whichever order they came. */
export function statusOf(work: WorkState): WorkStatus {
  if (work.outcome !== undefined) {
    const { status } = work.outcome;
    return status === 'indeterminate' ? 'failed' : status;
  }
  if (work.skipped !== undefined) return 'skipped';
  const last = work.attempts.get(work.lastAttempt);
  if (last?.finished !== undefined)
    return last.finished.status === 'indeterminate' ? 'indeterminate' : 'retrying';
  if (last !== undefined) return 'running';
  if (work.claimed !== undefined) return 'claimed';
  // A stopped map is over when its items are.
  if (work.stopped !== undefined && work.itemTally.unsettled === 0) {
    return work.stopped.superseded ? 'superseded' : 'cancelled';
  }
  return work.readied === undefined ? 'waiting' : 'ready';
}

/**
 * Items of a map that may be at work or over: those that are settled and as many more as may run at once. Items begin
 * in their order, so the others are not looked at before their time.
 */
export function itemsInReach({ itemTally, spec }: WorkState): number {
  const { completed, failed, skipped } = itemTally;
  return completed + failed + skipped + (spec.maxConcurrency ?? Number.POSITIVE_INFINITY);
}

const NOTHING: Verdict = { type: 'none' };
const READY: Verdict = { type: 'ready' };

/** What is to be done about a work, a pure function of its facts and those of its inputs. */
export function verdictOf(work: WorkState, isFinished: boolean): Verdict {
  if (isSettled(work.status) || work.status === 'running') return NOTHING;
  if (work.stopped !== undefined) {
    return isActive(work.status) ? { type: 'cancel', reason: work.stopped.reason } : NOTHING;
  }
  if (work.status !== 'waiting' && work.status !== 'ready') return NOTHING;
  const { itemOf } = work;
  if (itemOf !== undefined && itemOf.of.itemTally.failed > 0)
    return { type: 'skip', reason: 'sibling-failed' };
  if (isFinished) return { type: 'skip', reason: 'graph-ended' };
  if (itemOf !== undefined && itemOf.index >= itemsInReach(itemOf.of)) return NOTHING;
  if (work.status === 'waiting') return joinVerdict(work);
  if (work.spec.each !== true || itemOf !== undefined) return { type: 'admit' };
  return work.itemTally.unsettled === 0 ? { type: 'gather' } : NOTHING;
}

/**
 * The rule of a join. A skipped input counts as settled; a work all of whose inputs were skipped is skipped itself,
 * and one that can never have what it needs is told of at once.
 */
function joinVerdict({ spec, tally, inputs, missingRecords }: WorkState): Verdict {
  const { unsettled, completed, failed } = tally;
  const { need, onError } = spec;
  const enough = need !== undefined && inputs.length > 0 && completed >= need && missingRecords === 0;
  if (enough) return READY;
  if (onError === 'fail' && failed > 0) return { type: 'skip', reason: 'input-failed' };
  // Until one of them ran it may be that all are skipped, and then so is the join.
  const isEmpty = inputs.length > 0 && completed === 0 && failed === 0;
  const canBeMet = need === undefined || inputs.length === 0 || completed + unsettled >= need;
  if (!canBeMet && !isEmpty) return { type: 'skip', reason: 'join-unmet' };
  if (unsettled > 0 || missingRecords > 0) return NOTHING;
  return isEmpty ? { type: 'skip', reason: 'inputs-skipped' } : READY;
}

/** Inputs a work is given: those that completed, and failed ones where it wants to be told. In their order. */
export function takenInputs({ inputs, spec }: WorkState): readonly WorkState[] {
  return inputs.filter(({ inputClass }) => {
    return inputClass === 'completed' || (spec.onError === 'collect' && inputClass === 'failed');
  });
}

/** Whether a work runs in a session of its own. */
export function isChild({ operator, itemOf }: WorkState): boolean {
  const { kind } = (itemOf?.of.operator ?? operator).spec;
  return kind === 'agent' || kind === 'graph' || kind === 'swarm';
}

/** Requests in the session of an operator that wait for a person. */
export function openRequests({ requests }: OperatorState): number {
  let open = 0;
  for (const { asked, answered } of requests.values()) if (asked > answered) open += 1;
  return open;
}

/** Order by update, place in it, item, then id by code units: the same in every locale. */
export function compareWorks(a: WorkState, b: WorkState): number {
  for (const at of [0, 1, 2] as const) {
    if (a.order[at] !== b.order[at]) return a.order[at] - b.order[at];
  }
  return a.work < b.work ? -1 : a.work > b.work ? 1 : 0;
}
