import type { Recorded } from '../agent/recorded-job.ts';
import { stopReason } from '../agent/stop-reason.ts';
import type { QueuedWake } from '../agent/work-pool.ts';
import { isSwarmError } from '../errors.ts';
import { cancelledRun, failedRun, type RunName, type TurnWork } from '../graph/turn-work.ts';
import type { Failure, LedgerRecord, PauseReason, RecordOf } from '../ledger/records.ts';
import { namesOfRun, type RunStanding, standingOf } from '../ledger/run-standing.ts';
import { callStatus, foldSession } from '../ledger/turn-facts.ts';
import { NATS_LIMITS } from '../limits.ts';
import type { QueueEntry } from './queue-entry.ts';
import type { QueuedTurn } from './work-queue.ts';

/** What is to become of an entry of the queue. */
export type EntryEnd =
  | { readonly type: 'done'; readonly how: 'worked' | 'repeated' }
  /** Somebody else, or this worker later, brings it to an end. */
  | { readonly type: 'later'; readonly isLeaving?: boolean }
  | { readonly type: 'dead'; readonly reason: string; readonly why: string };

/** What entries are worked on with. */
export interface EntryGround {
  readonly work: TurnWork;
}

type Wake = Extract<QueueEntry, { readonly kind: 'wake' }>;
type Stop = NonNullable<Wake['stop']>;

const LATER: EntryEnd = { type: 'later' };
const REPEATED: EntryEnd = { type: 'done', how: 'repeated' };

/**
 * Brings what an entry asks for to an end or a pause in this process. What there is to do is said by the ledger alone:
 * an entry that is handed out twice is worked on once. `deliveries` counts how often it was handed out.
 * @throws SwarmError of the ledger
 */
export async function workOnEntry(
  ground: EntryGround,
  entry: QueueEntry,
  deliveries: number,
): Promise<EntryEnd> {
  if (!('kind' in entry)) return workOnTurn(ground, entry, deliveries);
  if (entry.stop !== undefined) return stopRun(ground, entry, entry.stop);
  const end = await workOnWake(ground, entry);
  // Whoever has a parent at work looks once more when it pauses; one whose worker dies is handed out for itself.
  const isKnown = entry.child !== undefined && deliveries >= NATS_LIMITS.handoutsOfNews;
  return end === LATER && isKnown ? REPEATED : end;
}

async function workOnTurn(ground: EntryGround, turn: QueuedTurn, deliveries: number): Promise<EntryEnd> {
  const { work } = ground;
  const { run, session, discovery } = turn;
  // Handed out for the first time, its session is what it was when it was made.
  if (turn.isNew === true && deliveries === 1) return begin(work, turn);
  // Of a session without a record nobody but the queue knows how often it was tried, and it counts those too who found
  // it taken.
  const tried = Math.floor((deliveries - 1) / NATS_LIMITS.handoutsPerClaim);
  const standing = await standingIn(work, session, run, tried);
  if (standing.type === 'settled') return REPEATED;
  // Whoever has it may end it any time; one that is paused may stay so for good, which is told.
  if (standing.type === 'waits') return standing.isPaused ? endOf(await work.run(turn)) : LATER;
  if (standing.claims >= NATS_LIMITS.claimsWithoutProgress) return poisoned(ground, turn, standing);
  if (standing.type === 'new') return begin(work, { ...turn, isNew: false });
  // Whoever it waits for wakes it; only what came while it paused is for nobody else to see.
  if (standing.type === 'paused' && !(await hasNews(work, session, standing.told.data.pause)))
    return REPEATED;
  const taken = await work.takeUp({ session, cause: `run ${run}` }, discovery);
  // What has begun is gone on with under the tools it was opened with, by whoever knows its agent at all.
  return isUnknown(taken) ? abandoned(work, turn, unknownAgent(turn.target)) : goOn(work, session, taken);
}

async function begin(work: TurnWork, turn: QueuedTurn): Promise<EntryEnd> {
  const unfit = unfitness(work, turn);
  return unfit === undefined ? goOn(work, turn.session, await work.run(turn)) : bury(work, turn, unfit);
}

function isUnknown(taken: Recorded): boolean {
  return taken.type === 'open' && taken.kind === 'unknown-agent';
}

/**
 * What a turn pauses for may come while it is about to pause, and then nobody is woken: whoever paused it looks once
 * more. Each time there is less to come.
 */
async function goOn(work: TurnWork, session: string, first: Recorded): Promise<EntryEnd> {
  let taken = first;
  while (taken.type === 'told' && taken.result.status === 'paused') {
    if (!(await hasNews(work, session, taken.result.reason))) break;
    taken = await work.takeUp({ session, cause: 'news' });
  }
  return endOf(taken);
}

async function hasNews(work: TurnWork, session: string, reason: PauseReason = 'approval'): Promise<boolean> {
  if (reason === 'children' && (await work.hasChildNews(session))) return true;
  if (reason !== 'approval' && reason !== 'children') return false;
  const { openTurn } = foldSession(await (await work.ledger).read(session));
  return [...(openTurn?.calls.values() ?? [])].some((call) => callStatus(call) === 'decided');
}

function unknownAgent(name: string): Failure {
  return { kind: 'unknown-agent', message: `no definition named ${name} is registered here` };
}

/** Why the definition here is not the one the run was given with. */
function unfitness(work: TurnWork, { target, definition }: QueuedTurn): Failure | undefined {
  const known = work.definition(target);
  if (known === undefined) return unknownAgent(target);
  if (definition === undefined || definition === known) return undefined;
  const hashes = `${known.slice(0, 12)} here, ${definition.slice(0, 12)} where the run was given`;
  const advice = 'workers and whoever gives runs load the same version of it';
  return {
    kind: 'definition-mismatch',
    message: `${target} is another one on this worker (${hashes}): ${advice}`,
  };
}

/** Whoever gave the run is told first: a dead letter is read by people. */
async function bury(work: TurnWork, turn: RunName, { kind, message }: Failure): Promise<EntryEnd> {
  const told = await work.tell(turn, failedRun({ kind, message }));
  return told.type === 'told' ? { type: 'dead', reason: kind, why: message } : LATER;
}

async function poisoned(
  { work }: EntryGround,
  turn: RunName,
  { type, claims }: Extract<RunStanding, { readonly claims: number }>,
): Promise<EntryEnd> {
  const why = { kind: 'poison', message: `taken up ${claims} times and got no further` };
  return type === 'new' ? bury(work, turn, why) : abandoned(work, turn, why);
}

/** Gives up a run that has begun: an open turn would be in the way of every later run of its session. */
async function abandoned(work: TurnWork, turn: RunName, why: Failure): Promise<EntryEnd> {
  await work.abandon(turn.session, `${why.kind}: ${why.message}`).catch((error: unknown) => {
    if (!isSwarmError(error, 'nothing-to-resume')) throw error;
  });
  return bury(work, turn, why);
}

async function workOnWake(ground: EntryGround, wake: Wake): Promise<EntryEnd> {
  const { work } = ground;
  const { session, by } = wake;
  const records = await (await work.ledger).read(session);
  const [first] = records;
  const run = foldSession(records).turns.at(-1)?.opened.data.run ?? toldRun(records);
  if (first === undefined && wake.parent === undefined) return REPEATED;
  // Others saw to it already.
  if (wake.child !== undefined && !(await work.hasChildNews(session))) return REPEATED;
  if (run !== undefined) {
    const standing = await standingIn(work, session, run, 0);
    // Who waits for an answer gets one; nobody else asks about what has settled.
    if (standing.type === 'settled' && by === undefined) {
      await work.passOn(session);
      return REPEATED;
    }
    const claims = standing.type === 'open' || standing.type === 'paused' ? standing.claims : 0;
    if (claims >= NATS_LIMITS.claimsWithoutProgress) {
      const end = await poisoned(
        ground,
        { run, session, target: first?.agent ?? '' },
        { type: 'open', claims },
      );
      await work.passOn(session);
      return end;
    }
  }
  const taken = await work.takeUp(orEnded(records, wake));
  if (isUnknown(taken)) {
    return { type: 'dead', reason: 'unknown-agent', why: `no definition of ${session} is registered here` };
  }
  const unfit = taken.type === 'told' && taken.result.status === 'failed' ? taken.result.error : undefined;
  if (unfit !== undefined && UNFIT.has(unfit.kind)) {
    return { type: 'dead', reason: unfit.kind, why: unfit.message };
  }
  return goOn(work, session, taken);
}

/** Whoever asked for a run to be taken up may have had it ended before that: then it is taken up to be ended. */
function orEnded(records: readonly LedgerRecord[], wake: Wake): QueuedWake {
  const opened = lastOpened(records);
  if (wake.by === undefined || opened === undefined) return wake;
  const asked = standingOf(records, wake.by, 0);
  if (asked.type !== 'settled' || asked.told.seq < opened.seq) return wake;
  const { status, reason = '' } = asked.told.data;
  if (status !== 'cancelled') return wake;
  return { ...wake, stop: { run: opened.data.run, target: opened.agent, reason } };
}

function lastOpened(records: readonly LedgerRecord[]): RecordOf<'turn.opened'> | undefined {
  const opened = records.findLast((record) => record.type === 'turn.opened');
  return opened?.type === 'turn.opened' ? opened : undefined;
}

/** Failures of a child that was given to a worker which cannot run it. */
const UNFIT: ReadonlySet<string> = new Set(['definition-mismatch', 'unknown-agent']);

/** The run of a session that was told to be over before it began. */
function toldRun(records: readonly LedgerRecord[]): string | undefined {
  const told = records.findLast((record) => record.type === 'run.settled');
  return told?.type === 'run.settled' ? told.data.run : undefined;
}

/** A run that has not begun is told to be cancelled, and so never begins; one that is at work is told to stop. */
async function stopRun({ work }: EntryGround, wake: Wake, stop: Stop): Promise<EntryEnd> {
  const { session } = wake;
  const { target, reason } = stop;
  const run = await givenAs(work, session, stop.run);
  const standing = await standingIn(work, session, run, 0);
  if (standing.type === 'settled') return REPEATED;
  const isBegun = standing.type === 'open' || standing.type === 'paused';
  if (!isBegun) return endOf(await work.tell({ run, session, target }, cancelledRun(reason)));
  const taken = await work.takeUp(run === stop.run ? wake : { ...wake, by: stop.run });
  if (taken.type !== 'open' || taken.kind !== 'session-owned-elsewhere') return endOf(taken);
  // Who has it may die before it stops: the entry stays until the end is told.
  const word = { session, kind: 'cancel', body: { reason: stopReason(reason), run } } as const;
  await work.say(word).catch(() => undefined);
  return LATER;
}

/** The id under which a run was given that another one has taken up. */
async function givenAs(work: TurnWork, session: string, run: string): Promise<string> {
  const records = await (await work.ledger).read(session);
  const opened = lastOpened(records);
  if (opened === undefined) return run;
  const given = opened.data.run;
  return namesOfRun(records, { run: given, turn: opened.turn }).has(run) ? given : run;
}

async function standingIn(
  work: TurnWork,
  session: string,
  run: string,
  claims: number,
): Promise<RunStanding> {
  const ledger = await work.ledger;
  const head = await ledger.head(session);
  const records = head === undefined ? [] : await ledger.read(session);
  return standingOf(records, run, head?.epoch ?? claims);
}

function endOf(recorded: Recorded): EntryEnd {
  if (recorded.type === 'none') return REPEATED;
  if (recorded.type === 'told') return { type: 'done', how: 'worked' };
  return recorded.kind === 'runtime-closed' ? { type: 'later', isLeaving: true } : LATER;
}
