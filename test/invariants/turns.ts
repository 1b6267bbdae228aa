import type { LedgerRecord, TurnStatus } from '../../src/ledger/records.ts';
import { foldSession } from '../../src/ledger/turn-facts.ts';
import { replayedTurn } from '../recovery/fixtures/replayed.ts';

/** I4: a turn is closed once, is the last that is open, or nothing; nothing of it stands after its end. */
export function turns(records: readonly LedgerRecord[]): readonly string[] {
  const broken: string[] = [];
  const state = new Map<string, 'open' | 'closed'>();
  for (const { type, turn, seq } of records) {
    if (turn === undefined) continue;
    const say = (what: string) => broken.push(`I4 ${type} at ${seq}: ${what}`);
    if (type === 'turn.opened') {
      if (state.has(turn)) say('opened twice');
      if ([...state.values()].includes('open')) say('another turn is open');
      state.set(turn, 'open');
    } else if (state.get(turn) !== 'open') {
      say(state.has(turn) ? 'after the end of its turn' : 'before its turn');
    }
    if (type === 'turn.closed') state.set(turn, 'closed');
  }
  return broken;
}

/** I4: what became of a run is told once, and is what became of its last turn. */
export function ends(records: readonly LedgerRecord[]): readonly string[] {
  const broken: string[] = [];
  const told = new Set<string>();
  let last: LedgerRecord | undefined;
  for (const one of records) {
    if (one.type === 'turn.closed') last = one;
    if (one.type !== 'run.settled' || one.data.status === 'paused') continue;
    const { run, by = run, status } = one.data;
    // Whoever took it up is told too.
    const answer = `${run} ${by}`;
    if (told.has(answer)) broken.push(`I4 at ${one.seq}: the end of ${run} is told twice`);
    told.add(answer);
    const turn = last?.type === 'turn.closed' ? last.data.status : undefined;
    if (turn !== undefined && !AS_TOLD[turn].includes(status)) {
      broken.push(`I4 at ${one.seq}: ${run} is told as ${status}, and its turn ended ${turn}`);
    }
  }
  return broken;
}

/** What a run may be told as, by how its last turn ended. */
const AS_TOLD: Readonly<Record<TurnStatus, readonly string[]>> = {
  completed: ['completed', 'failed'],
  failed: ['failed'],
  cancelled: ['cancelled'],
  interrupted: ['failed', 'cancelled'],
  yielded: ['completed', 'failed', 'cancelled'],
  'handed-off': ['completed', 'failed', 'cancelled'],
};

/** I4: the ledger lists exactly the sessions whose last turn is open. */
export function listing(
  sessions: ReadonlyMap<string, readonly LedgerRecord[]>,
  listed: readonly string[],
): readonly string[] {
  const broken: string[] = [];
  for (const [session, records] of sessions) {
    const isOpen = foldSession(records).openTurn !== undefined;
    if (isOpen !== listed.includes(session)) {
      broken.push(`I4 ${session} is ${isOpen ? 'open and not listed' : 'listed as open and is not'}`);
    }
  }
  return broken;
}

/** I14: whatever prefix a crash leaves can be folded, and machines led through it accept every event. */
export function prefixes(records: readonly LedgerRecord[]): readonly string[] {
  const broken: string[] = [];
  for (let end = 1; end <= records.length; end += 1) {
    const { turn } = records[end - 1] as LedgerRecord;
    try {
      const { turns: all, openTurn } = foldSession(records.slice(0, end));
      if (openTurn !== undefined && openTurn !== all.at(-1))
        broken.push(`I14 at ${end}: an older turn is open`);
      // Between the facts of one batch nothing can crash, but a fold must not know of batches.
      if (turn === undefined || !isBoundary(records, end)) continue;
      const { misfits } = replayedTurn(records.slice(0, end), turn);
      broken.push(...misfits.map((misfit) => `I14 at ${end}: ${misfit}`));
    } catch (error) {
      broken.push(`I14 at ${end}: ${String(error)}`);
    }
  }
  return broken;
}

/** Facts that end a batch of their own, at which a process is most likely to be cut off. */
const BOUNDARIES: ReadonlySet<string> = new Set([
  'attempt.started',
  'step.closed',
  'tool.dispatched',
  'tool.settled',
  'turn.closed',
]);

function isBoundary(records: readonly LedgerRecord[], end: number): boolean {
  const next = records[end];
  return (
    next === undefined || (BOUNDARIES.has(records[end - 1]?.type ?? '') && next.type !== 'child.finished')
  );
}
