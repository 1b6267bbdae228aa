import { SwarmError } from '../errors.ts';
import type { ToolOutput, UserPart } from './content.ts';
import type { LedgerRecord, RecordOf, RecordType } from './records.ts';

/** What is to be different in a fork. */
export type ForkEdit =
  /** The turn under way at the point begins with this input instead; nothing it did is kept. */
  | { readonly type: 'input'; readonly input: readonly UserPart[] }
  /** The last call that was executed returned this instead; nothing after it is kept. */
  | { readonly type: 'result'; readonly output: ToolOutput };

/** What a fork takes over of a session. */
export interface ForkPoint {
  /** Facts of the origin, in order, with the edit in place. The last turn in them is open. */
  readonly kept: readonly LedgerRecord[];
  /** The newest of them as the origin has it: what the fork is linked to. */
  readonly last: LedgerRecord;
  /** The turn that goes on. */
  readonly turn: string;
}

/** How a turn ends, as a fork of it goes on instead, and what only its end did. */
const LEFT_OUT: ReadonlySet<RecordType> = new Set([
  'turn.closed',
  'tools.measured',
  'tools.cleared',
  'steering.undelivered',
  'budget.exceeded',
]);

/**
 * The facts up to `atSeq`, rounded to where a turn can go on: a session has no such point inside of a step.
 *
 * - A step whose answer is not complete at the point is left out, whole: it is taken again.
 * - Calls of the last answer that is kept come with every fact the origin has of them, also later ones: what has an
 *   outcome is never entered again, and what was entered without one is as unknown in the fork as it is there.
 * - The end of the turn is left out, and what only its end did: calls that were refused because of it.
 * - A point before the first turn is the beginning of that turn.
 *
 * @throws SwarmError 'invalid-fork' where there is nothing to go on from, or nothing that the edit fits
 */
export function forkPoint(records: readonly LedgerRecord[], atSeq: number, edit?: ForkEdit): ForkPoint {
  const head = records.at(-1)?.seq ?? 0;
  if (!Number.isInteger(atSeq) || atSeq < 1 || atSeq > head) {
    throw invalid(`the session has the facts 1 to ${head}, there is no ${atSeq}`);
  }
  const opened = turnAt(records, atSeq);
  const turn = opened.turn ?? '';
  const until = Math.max(atSeq, opened.seq);
  const end = beforeOpenStep(records, turn, until);
  const changed = changedBy(edit, opened, records, end);
  const cut = changed === undefined ? end : endAfter(changed, records, end);
  const step = lastStep(records, turn, cut);
  const kept = records.filter(
    (record) => (record.seq < cut && !isLeftOut(record, turn)) || isOfStep(record, turn, step),
  );
  const going = withoutOpenChildren(
    kept.filter((record) => !(isOfStep(record, turn, step) && isEndOfTurn(record))),
  );
  const last = going.at(-1) ?? opened;
  return { kept: going.map((record) => (record === changed ? edited(record, edit) : record)), last, turn };
}

/** The turn under way or last over at a point, or the first one. */
function turnAt(records: readonly LedgerRecord[], atSeq: number): RecordOf<'turn.opened'> {
  const turns = records.filter((record) => record.type === 'turn.opened');
  const opened = turns.findLast(({ seq }) => seq <= atSeq) ?? turns[0];
  if (opened === undefined) throw invalid('no turn was opened in the session');
  return opened;
}

/** The fact that an edit is about. */
function changedBy(
  edit: ForkEdit | undefined,
  opened: RecordOf<'turn.opened'>,
  records: readonly LedgerRecord[],
  end: number,
): LedgerRecord | undefined {
  if (edit === undefined) return undefined;
  if (edit.type === 'input') return opened;
  const settled = records.findLast(
    ({ turn, type, seq }) => turn === opened.turn && seq < end && type === 'tool.settled',
  );
  if (settled === undefined) throw invalid('no call was executed before that point of the turn');
  return settled;
}

/** What came of a fact that is changed goes: all steps after it, and after an input everything. */
function endAfter(changed: LedgerRecord, records: readonly LedgerRecord[], end: number): number {
  if (changed.type === 'turn.opened') return changed.seq + 1;
  const next = records.find(
    ({ turn, type, seq }) => turn === changed.turn && seq > changed.seq && type === 'step.opened',
  );
  return Math.min(end, next?.seq ?? end);
}

/** Before the first step without a complete answer, and before one that handed over to another agent. */
function beforeOpenStep(records: readonly LedgerRecord[], turn: string, until: number): number {
  const complete = new Set<string | undefined>();
  for (const record of records) {
    if (record.turn !== turn) continue;
    if (record.type === 'step.closed' && record.seq <= until && record.data.status === 'completed') {
      complete.add(record.step);
    } else if (record.type === 'handoff.taken') complete.delete(record.step);
  }
  const open = records.find(
    (record) =>
      record.turn === turn &&
      record.type === 'step.opened' &&
      record.seq <= until &&
      !complete.has(record.step),
  );
  return open?.seq ?? until + 1;
}

/** The last step before the end, whose calls may not be over. */
function lastStep(records: readonly LedgerRecord[], turn: string, cut: number): string | undefined {
  return records.findLast(
    (record) => record.turn === turn && record.seq < cut && record.type === 'step.opened',
  )?.step;
}

function isOfStep(record: LedgerRecord, turn: string, step: string | undefined): boolean {
  return step !== undefined && record.turn === turn && record.step === step && record.call !== undefined;
}

function isLeftOut(record: LedgerRecord, turn: string): boolean {
  return record.type === 'effect.done' || (record.turn === turn && LEFT_OUT.has(record.type));
}

/** Only of the last step: what a later one was told of stays as it is. */
function isEndOfTurn(record: LedgerRecord): boolean {
  return (
    record.type === 'permission.cancelled' ||
    (record.type === 'tool.refused' && record.data.code === 'turn-ended')
  );
}

/** A child belongs to the call that asked it: one that has no result is asked anew, and is another one. */
function withoutOpenChildren(records: readonly LedgerRecord[]): readonly LedgerRecord[] {
  const asking = new Set(records.filter(({ type }) => type === 'child.intended').map(({ call }) => call));
  for (const { type, call } of records) {
    if (type === 'tool.settled' || type === 'tool.refused') asking.delete(call);
  }
  if (asking.size === 0) return records;
  const goes = (type: RecordType) => type.startsWith('child.') || type === 'tool.dispatched';
  return records.filter(({ type, call }) => call === undefined || !asking.has(call) || !goes(type));
}

function edited(record: LedgerRecord, edit: ForkEdit | undefined): LedgerRecord {
  if (edit?.type === 'input' && record.type === 'turn.opened') {
    return { ...record, data: { ...record.data, input: [...edit.input] } };
  }
  if (edit?.type === 'result' && record.type === 'tool.settled') {
    const { result: _result, resultRef: _ref, ...data } = record.data;
    return { ...record, data: { ...data, status: 'success', output: edit.output } };
  }
  return record;
}

function invalid(message: string): SwarmError {
  return new SwarmError('invalid-fork', message);
}
