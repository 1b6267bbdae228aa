import type { NewRecord } from '../ledger/records.ts';
import type { Admission } from './admission.ts';
import { unenteredFact } from './work-result.ts';
import { takenInputs, type WorkState } from './work-state.ts';

/** What has to be a fact before anything can be claimed. */
export function preparingFacts(
  { ready, skip, cancel }: Admission,
  isRunning: (work: WorkState) => boolean,
): readonly NewRecord[] {
  return [
    ...ready.map((work): NewRecord => {
      const inputs = takenInputs(work).map((input) => input.work);
      const { operator } = work.operator.spec;
      return { type: 'graph.readied', data: { work: work.work, operator, inputs } };
    }),
    ...skip.map(({ work, reason }): NewRecord => {
      const node = work.operator.spec.operator;
      return { type: 'node.skipped', data: { work: work.work, node, reason } };
    }),
    ...cancel
      // One that is under way here says itself how it ended: each outcome has one author.
      .filter(({ work }) => !isRunning(work))
      .map(({ work, reason }) => unenteredFact(work, 'cancelled', { kind: 'cancelled', message: reason })),
  ];
}
