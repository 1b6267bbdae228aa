import type { RecordOf } from '../ledger/records.ts';
import { type Attempt, isOutcome, type WorkState } from './work-state.ts';

/** A fact about one work. */
export type WorkFact =
  | RecordOf<'graph.readied'>
  | RecordOf<'graph.claimed'>
  | RecordOf<'node.started'>
  | RecordOf<'node.finished'>
  | RecordOf<'node.skipped'>;

/**
 * Writes a fact down at its work. Gives back what it contradicts: each fact of a work may stand once, and one that ran
 * was not skipped. What contradicts is found whichever of the two comes first.
 */
export function noteFact(work: WorkState, fact: WorkFact): readonly string[] {
  const faults: string[] = [];
  switch (fact.type) {
    case 'graph.readied':
      if (work.readied !== undefined) faults.push(`${work.work} was readied twice`);
      work.readied ??= fact.data;
      break;
    case 'graph.claimed':
      if (work.claimed !== undefined) faults.push(`${work.work} was claimed twice`);
      work.claimed ??= fact.data;
      break;
    case 'node.skipped':
      if (work.skipped !== undefined) faults.push(`${work.work} was skipped twice`);
      work.skipped ??= fact.data.reason;
      break;
    case 'node.started':
      noteStart(work, fact, faults);
      break;
    case 'node.finished':
      noteEnd(work, fact, faults);
      break;
  }
  if (work.skipped !== undefined && work.attempts.size > 0) faults.push(`${work.work} ran and was skipped`);
  return faults;
}

function attemptOf(work: WorkState, number: number): Attempt {
  const known = work.attempts.get(number) ?? {};
  work.attempts.set(number, known);
  work.lastAttempt = Math.max(work.lastAttempt, number);
  return known;
}

function noteStart(work: WorkState, { data, at }: RecordOf<'node.started'>, faults: string[]): void {
  const attempt = attemptOf(work, data.attempt);
  if (attempt.started !== undefined) faults.push(`attempt ${data.attempt} of ${work.work} started twice`);
  attempt.started ??= data;
  attempt.startedAt ??= at;
}

/** What was unknown of an attempt may become known; anything else is said of it once. */
function noteEnd(work: WorkState, { data }: RecordOf<'node.finished'>, faults: string[]): void {
  const attempt = attemptOf(work, data.attempt);
  if (data.status === 'indeterminate') {
    attempt.finished ??= data;
    return;
  }
  const known = attempt.finished;
  if (known === undefined || known.status === 'indeterminate') attempt.finished = data;
  else faults.push(`attempt ${data.attempt} of ${work.work} ended twice`);
  if (!isOutcome(data)) return;
  if (work.outcome !== undefined) faults.push(`${work.work} has two outcomes`);
  work.outcome ??= data;
}
