import fc from 'fast-check';
import { expect, it } from 'vitest';
import { viewSchedule } from '../../src/graph/schedule-view.ts';
import { failure, reply } from '../../src/testing/reply.ts';
import { scheduleOf } from '../graph/fact-log.ts';
import { adds, factsOf, item, runtimeOf, team, yields } from './team.ts';

interface Plan {
  /** For each work: places of the earlier works it is given, whether it fails, and how long it takes, in turns of the loop. */
  readonly works: readonly {
    readonly inputs: readonly number[];
    readonly fails: boolean;
    readonly ticks: number;
  }[];
  readonly fanOut: number;
  readonly activations: number;
  readonly mode: 'swarm' | 'graph';
}

const plans: fc.Arbitrary<Plan> = fc.record({
  works: fc
    .array(
      fc.record({ inputs: fc.array(fc.nat(9), { maxLength: 3 }), fails: fc.boolean(), ticks: fc.nat(4) }),
      { minLength: 1, maxLength: 9 },
    )
    .map((works) =>
      works.map((work, at) => ({ ...work, inputs: [...new Set(work.inputs)].filter((input) => input < at) })),
    ),
  fanOut: fc.integer({ min: 1, max: 4 }),
  activations: fc.integer({ min: 1, max: 4 }),
  mode: fc.constantFrom('swarm' as const, 'graph' as const),
});

const idOf = (at: number) => `w1.1.0.${at + 1}`;

async function play({ works, fanOut, activations, mode }: Plan) {
  const { swarm } = team({
    mode,
    lead: ({ messages, lastText }) => {
      if (messages.length === 1)
        return adds(...works.map(({ inputs }, at) => item(`${at}`, { input_ids: inputs.map(idOf) })));
      // The last work ended between the news and the yield.
      if (lastText.includes('nothing-pending')) return reply().text('Done.');
      return /"counts":\{(?!.*?"(?:queued|running)").*?\}/.test(lastText) ? reply().text('Done.') : yields();
    },
    worker: (task) => {
      const { fails, ticks } = works[Number(task)] ?? { fails: false, ticks: 0 };
      if (fails) return failure({ kind: 'invalid-request' });
      const answer = reply().wait(async () => {
        for (let tick = 0; tick < ticks; tick += 1) await new Promise(setImmediate);
      });
      return answer.text(`R${task}`);
    },
    limits: { fanOut, activations },
  });
  const { runtime, ledger, misfits } = runtimeOf(swarm);
  const run = runtime.run(swarm, 'Go.');
  const result = await run.result;
  return { result, ledger, misfits, session: run.sessionId };
}

it('GS-08 GS-09 GS-11 any schedule settles, each work once and after what it is given', {
  timeout: 60_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const { result, ledger, misfits } = await play(plan);
      expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
      expect(misfits).toEqual([]);
      const started = await factsOf(ledger, 'node.started');
      const finished = await factsOf(ledger, 'node.finished');
      expect(started.map(({ data }) => data.work).sort()).toEqual(plan.works.map((_, at) => idOf(at)).sort());
      for (const [at, { inputs, fails }] of plan.works.entries()) {
        const end = finished.filter(({ data }) => data.work === idOf(at));
        expect(end.map(({ data }) => data.status)).toEqual([fails ? 'failed' : 'completed']);
        const begin = started.find(({ data }) => data.work === idOf(at))?.seq ?? 0;
        for (const input of inputs) {
          const before = finished.find(({ data }) => data.work === idOf(input));
          expect(before?.seq).toBeLessThan(begin);
        }
      }
    }),
    { numRuns: 40 },
  );
});

it('GS-19 the facts of a run give the same schedule in any order', { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(plans, fc.infiniteStream(fc.nat()), async (plan, order) => {
      const { ledger, session } = await play(plan);
      const facts = (await ledger.read(session)).map((fact) => ({ ...fact, session: 's-graph' }));
      const shuffled = facts
        .map((fact) => [order.next().value ?? 0, fact] as const)
        .sort(([a], [b]) => a - b)
        .map(([, fact]) => fact);
      const again = [...shuffled, ...shuffled.slice(0, 5)];
      expect(viewSchedule(scheduleOf(again))).toEqual(viewSchedule(scheduleOf(facts)));
    }),
    { numRuns: 15 },
  );
});
