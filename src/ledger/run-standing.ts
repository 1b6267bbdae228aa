import type { LedgerRecord, RecordOf } from './records.ts';
import { foldSession, type TurnFacts } from './turn-facts.ts';

/** What the ledger knows of a run that was given to workers. */
export type RunStanding =
  /** Nobody has begun it; `claims` counts who took the session up and got no further. */
  | { readonly type: 'new'; readonly claims: number }
  /** Its last turn is open, or was closed and nobody has told what became of the run. */
  | { readonly type: 'open'; readonly claims: number }
  /** It was told that it is paused, and nobody has taken it up since. */
  | { readonly type: 'paused'; readonly told: RecordOf<'run.settled'>; readonly claims: number }
  /** It was told what became of it: whoever is handed it once more has nothing to do. */
  | { readonly type: 'settled'; readonly told: RecordOf<'run.settled'> }
  /** Another turn of the session is open; `isPaused` where nobody has it. */
  | { readonly type: 'waits'; readonly isPaused: boolean };

/** Facts that are no progress: they are written whenever somebody begins anew where the one before was. */
const NO_PROGRESS: ReadonlySet<string> = new Set([
  'turn.resumed',
  'step.opened',
  'request.prepared',
  'attempt.started',
  'attempt.failed',
  'attempt.retry-scheduled',
  'tool.indeterminate',
]);

/** Where a run stands. `epoch` is that of the last claim on the session, with a record or without. */
export function standingOf(records: readonly LedgerRecord[], run: string, epoch: number): RunStanding {
  const told = lastTold(records, run);
  if (told !== undefined && told.data.status !== 'paused') return { type: 'settled', told };
  const { turns, openTurn } = foldSession(records);
  const own = turns.findLast((turn) => turn.opened.data.run === run);
  if (own === undefined && openTurn !== undefined) return { type: 'waits', isPaused: openTurn.paused };
  if (own === undefined) return { type: 'new', claims: epoch - (records.at(-1)?.epoch ?? 0) };
  const last = records.findLast(({ type, turn }) => turn === own.turnId && !NO_PROGRESS.has(type));
  const claims = epoch - (last?.epoch ?? epoch);
  if (told === undefined || isTakenUp(records, own, told.seq)) return { type: 'open', claims };
  return { type: 'paused', told, claims };
}

function isTakenUp(records: readonly LedgerRecord[], { opened }: TurnFacts, after: number): boolean {
  return opened.seq > after || records.some(({ type, seq }) => type === 'turn.resumed' && seq > after);
}

/**
 * Ids by which a run is known that is at work as `run` in `turn`: also that of whoever it was opened for, and of all who
 * took it up since, in the turns it had.
 */
export function namesOfRun(
  records: readonly LedgerRecord[],
  { run, turn }: { readonly run: string; readonly turn?: string | undefined },
): ReadonlySet<string> {
  const groups: { readonly turn?: string | undefined; readonly names: string[] }[] = [];
  for (const record of records) {
    const { type, data } = record;
    if (type === 'turn.opened') groups.push({ turn: record.turn, names: [data.run] });
    else if (type === 'turn.resumed')
      groups.findLast((one) => one.turn === record.turn)?.names.push(data.run);
    else if (type === 'run.settled' && data.by !== undefined) groups.push({ names: [data.run, data.by] });
  }
  const names = new Set([run]);
  for (const group of groups.toReversed()) {
    const isOwn = group.turn !== undefined && group.turn === turn;
    if (isOwn || group.names.some((name) => names.has(name))) for (const name of group.names) names.add(name);
  }
  return names;
}

/** What was told of a run last. */
function lastTold(records: readonly LedgerRecord[], run: string): RecordOf<'run.settled'> | undefined {
  const told = records.findLast((record) => record.type === 'run.settled' && record.data.run === run);
  return told?.type === 'run.settled' ? told : undefined;
}

/**
 * What was told last of the run that a session has, or had. Others may have been refused there meanwhile, as one that
 * came while its turn was open: what they were told says nothing of it. Of a session without a turn it is whatever was
 * told: it was over before it began.
 */
export function toldOfSession(records: readonly LedgerRecord[]): RecordOf<'run.settled'> | undefined {
  const run = foldSession(records).turns.at(-1)?.opened.data.run;
  if (run !== undefined) return lastTold(records, run);
  const told = records.findLast((record) => record.type === 'run.settled');
  return told?.type === 'run.settled' ? told : undefined;
}
