import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { admit } from '../../src/graph/admission.ts';
import { viewSchedule } from '../../src/graph/schedule-view.ts';
import type { WorkSpec, WorkState } from '../../src/graph/work-state.ts';
import type { LedgerRecord } from '../../src/ledger/records.ts';
import { FactLog, operator, scheduleOf } from './fact-log.ts';

/** Numbers that decide what a history does next. */
type Dice = () => number;

function diceOf(rolls: readonly number[]): Dice {
  let at = 0;
  return () => rolls[at++ % rolls.length] ?? 0;
}

function grow(log: FactLog, round: number, roll: Dice): void {
  const name = `n${round}`;
  const known = [...log.schedule.works.keys()];
  const inputs = [...new Set(known.filter(() => roll() % 4 === 0))];
  const more: Partial<WorkSpec> =
    roll() % 5 === 0
      ? { each: true, maxConcurrency: 1 }
      : inputs.length > 1 && roll() % 3 === 0
        ? { need: 1 + (roll() % inputs.length) }
        : {};
  const replaced = roll() % 9 === 0 ? known[roll() % Math.max(1, known.length)] : undefined;
  const onError = roll() % 2 === 0 ? 'collect' : 'fail';
  const spec: WorkSpec = { work: name, operator: name, inputs, onError, ...more };
  const routes = [...log.schedule.operators.values()]
    .filter(({ works }) => works[0]?.itemOf === undefined && roll() % 6 === 0)
    .map(({ spec: { operator: route } }) => route);
  log.update({
    update: `u${round}`,
    operators: [operator(name), operator(`r${round}`, { routes })],
    works: [replaced === undefined ? spec : { ...spec, replaces: replaced }],
    stops: roll() % 11 === 0 ? [{ target: roll() % 5 === 0 ? '*' : (known[0] ?? 'x'), reason: 'stop' }] : [],
  });
}

function advance(log: FactLog, work: WorkState, roll: Dice): void {
  if (work.status === 'claimed') {
    if (roll() % 6 === 0) log.finish(work.work, 'cancelled', { attempt: 0 });
    else log.start(work.work);
  } else if (work.status === 'running') {
    const attempt = work.lastAttempt;
    if (roll() % 8 === 0) log.finish(work.work, 'indeterminate', { attempt });
    else if (roll() % 6 === 0) log.finish(work.work, 'failed', { attempt, retryAt: 1 });
    else log.finish(work.work, roll() % 4 === 0 ? 'failed' : 'completed', { attempt });
  } else log.start(work.work, work.lastAttempt + 1);
}

/** A history as a runtime could write it, and records of operators between. */
function playHistory(rolls: readonly number[], rounds: number): FactLog {
  const log = new FactLog();
  const roll = diceOf(rolls);
  for (let round = 0; round < rounds; round += 1) {
    if (roll() % 3 === 0) grow(log, round, roll);
    const {
      ready,
      admit: admitted,
      skip,
      gather,
      cancel,
    } = admit(log.schedule, { activations: 2, children: 9 });
    for (const work of ready) {
      if (roll() % 7 === 0) log.skip(work.work);
      else log.ready(work.work, work.spec.each === true ? roll() % 4 : undefined);
    }
    for (const { work, reason } of skip) log.skip(work.work, reason);
    for (const work of gather) log.finish(work.work, work.itemTally.failed > 0 ? 'failed' : 'completed');
    for (const { work } of cancel) log.finish(work.work, 'cancelled', { attempt: work.lastAttempt + 1 });
    for (const work of admitted) log.claim(work.work, `s-${work.operator.spec.operator}`);
    for (const work of [...log.schedule.works.values()]) {
      if (['claimed', 'running', 'retrying', 'indeterminate'].includes(work.status) && roll() % 2 === 0) {
        const { session } = work.operator;
        if (session !== undefined) say(log, session, roll);
        if (work.stopped === undefined || work.status === 'running') advance(log, work, roll);
      }
    }
  }
  return log;
}

function say(log: FactLog, session: string, roll: Dice): void {
  const message = { content: [], attempt: 1, provider: 'p', model: 'm' };
  if (roll() % 3 === 0) log.write('assistant.message', { ...message, partial: true }, session);
  else log.write('assistant.message', message, session);
  if (roll() % 4 === 0) log.write('permission.expired', { request: `${session}.ask` }, session);
}

const rolls = fc.array(fc.nat(1_000), { minLength: 20, maxLength: 200 });
const rounds = fc.integer({ min: 1, max: 25 });

describe('the state of a schedule', () => {
  it('GS-19 is the same for shuffled, repeated and late facts', () => {
    fc.assert(
      fc.property(rolls, rounds, fc.infiniteStream(fc.nat()), (given, count, noise) => {
        const { facts, schedule } = playHistory(given, count);
        const key = new Map<LedgerRecord, number>();
        for (const fact of facts) key.set(fact, noise.next().value ?? 0);
        const again = facts.filter(() => (noise.next().value ?? 0) % 3 === 0);
        const shuffled = [...facts, ...again].sort((a, b) => (key.get(a) ?? 0) - (key.get(b) ?? 0));
        expect(viewSchedule(scheduleOf(shuffled))).toEqual(viewSchedule(schedule));
        expect(schedule.faults).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it('GS-19 offers the same to do, in the same order, whichever way facts came', () => {
    fc.assert(
      fc.property(rolls, rounds, (given, count) => {
        const { facts, schedule } = playHistory(given, count);
        const offered = (of: typeof schedule) =>
          of.actionable().map(([work, verdict]) => [work.work, verdict.type] as const);
        expect(offered(scheduleOf(facts.toReversed()))).toEqual(offered(schedule));
      }),
      { numRuns: 200 },
    );
  });

  it('GS-19 takes no partial message for a record', () => {
    const log = new FactLog();
    log.scheduleAll(['a']);
    log.ready('a');
    log.claim('a', 's-a');
    const message = { content: [], attempt: 1, provider: 'p', model: 'm' };
    log.write('assistant.message', { ...message, partial: true }, 's-a');
    log.write('assistant.message', message, 's-a');
    expect(log.schedule.recentRecords.map(({ id }) => id)).toEqual(['s-a:2']);
  });

  it('GS-09 claims each work once, and binds it to the same session over every history', () => {
    fc.assert(
      fc.property(rolls, rounds, (given, count) => {
        const { facts } = playHistory(given, count);
        const claimed = facts.flatMap((fact) => (fact.type === 'graph.claimed' ? [fact.data.work] : []));
        expect(new Set(claimed).size).toBe(claimed.length);
      }),
      { numRuns: 100 },
    );
  });
});
