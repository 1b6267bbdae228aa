import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { violationsOf } from '../invariants/session.ts';
import { ofType } from '../support/run-events.ts';
import { playRandomRun } from './fixtures/play-random-run.ts';
import { anyRun } from './fixtures/random-run.ts';
import { liveEnds, replayedTurn } from './fixtures/replayed.ts';

/** Raise it to look for rare runs; a failing one is told with its seed. */
const RUNS = Number(process.env['SWARMWRIGHT_RANDOM_RUNS'] ?? 150);

describe('random runs over random processes', () => {
  it('XC-01 machines replay from the ledger to the states in which they ended live', async () => {
    await fc.assert(
      fc.asyncProperty(anyRun, async (plan) => {
        const { world, transitions, misfits, isAbandoned } = await playRandomRun(plan);
        const records = await world.facts();
        expect(misfits).toEqual([]);
        const turn = ofType(records, 'turn.opened')[0]?.turn ?? '';
        for (let end = 1; end < records.length; end += 1) {
          expect(replayedTurn(records.slice(0, end), turn).misfits, `up to ${end}`).toEqual([]);
        }
        const replayed = replayedTurn(records, turn);
        expect(replayed.misfits).toEqual([]);
        expect(replayed.unfinished).toEqual([]);
        // What was given up from outside had no machine any more.
        const live = [...liveEnds(transitions)].filter(([, to]) => !(isAbandoned && to === 'indeterminate'));
        expect(Object.fromEntries(replayed.states)).toMatchObject(Object.fromEntries(live));
      }),
      { numRuns: RUNS },
    );
  });

  it('keep every invariant, close their turn once and run nothing twice', async () => {
    await fc.assert(
      fc.asyncProperty(anyRun, async (plan) => {
        const { world, results, isAbandoned } = await playRandomRun(plan);
        const records = await world.facts();
        const [closed, ...more] = ofType(records, 'turn.closed');
        expect(more).toEqual([]);
        // Who waited for the run hears what the ledger says, unless it died or somebody else gave the turn up.
        const last = results.at(-1);
        if (last !== undefined && !isAbandoned) expect(last.status).toBe(closed?.data.status);
        expect(violationsOf({ ...world, records })).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });
});
