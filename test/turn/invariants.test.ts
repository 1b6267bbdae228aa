import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { createRuntime, type RunResult } from '../../src/index.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import type { LedgerRecord } from '../../src/ledger/records.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';
import { violationsOf } from '../invariants/session.ts';
import { decideAsPlanned, type Plan, type PlannedPlay, plans, playPlan } from '../support/random-turns.ts';
import { ofType } from '../support/run-events.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const SESSION = 'random';

interface Lived {
  readonly results: readonly RunResult<unknown>[];
  readonly records: readonly LedgerRecord[];
  readonly play: PlannedPlay;
  readonly misfits: readonly string[];
}

async function live(plan: Plan): Promise<Lived> {
  const ledger = memoryLedger();
  const play = playPlan(plan, ledger, SESSION);
  const counted = faultyLedger(ledger, [
    { at: 'append', every: true, action: { type: 'call', run: () => play.happen() } },
  ]);
  const { runtime, misfits } = watchedRuntime({ ledger: counted });
  const agent = defineAgent({ name: 'worker', instructions: 'Work.', ...play.agent });
  const decisions = plan.decisions[Symbol.iterator]();
  const results: RunResult<unknown>[] = [];
  for (let at = 0; at < plan.runs; at += 1) {
    const run = runtime.run(agent, `Input ${at}.`, {
      sessionId: SESSION,
      budget: { toolCalls: plan.toolCalls },
    });
    play.attend(run);
    results.push(await decideAsPlanned(runtime, run, decisions));
  }
  const records = await ledger.read(SESSION);
  await runtime.close();
  return { results, records, play, misfits };
}

describe('any turn', () => {
  it('keeps I1, I4 to I8 and I11, and moves its machines by the rules', async () => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const { records, play, misfits } = await live(plan);
        const { requests, entries } = play;
        expect(violationsOf({ records, requests, entries })).toEqual([]);
        expect(misfits).toEqual([]);
      }),
      { numRuns: 150 },
    );
  }, 120_000);

  it('ends once, as its result says', async () => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const { results, records } = await live(plan);
        const ran = results.filter(({ steps, status }) => steps > 0 || status === 'failed');
        const closed = ofType(records, 'turn.closed').map(({ data }) => data);
        expect(ofType(records, 'turn.opened')).toHaveLength(closed.length);
        const told = results.map(({ status }) => status).filter((status) => status !== 'cancelled');
        expect(closed.map(({ status }) => status).filter((status) => status !== 'cancelled')).toEqual(told);
        expect(closed.length).toBeGreaterThanOrEqual(ran.length);
      }),
      { numRuns: 60 },
    );
  }, 120_000);

  it('answers every text once, and says delivered exactly of those that were injected', async () => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const { records, play } = await live(plan);
        const outcomes = await play.steered();
        const injected = ofType(records, 'steering.injected').flatMap(({ data }) => data.ids);
        const undelivered = ofType(records, 'steering.undelivered').flatMap(({ data }) => data.ids);
        expect(outcomes.filter(({ delivered }) => delivered)).toHaveLength(injected.length);
        expect(ofType(records, 'steering.accepted')).toHaveLength(injected.length + undelivered.length);
      }),
      { numRuns: 60 },
    );
  }, 120_000);
});

const crashes = fc.record({
  plan: plans,
  /** Appends that pass before the process ends. */
  skip: fc.nat({ max: 15 }),
  when: fc.constantFrom('before' as const, 'after' as const),
  decisions: fc.array(fc.constantFrom('retry' as const, 'abandon' as const, { settle: 'settled by hand' }), {
    maxLength: 4,
  }),
});

describe('any turn whose process ends anywhere', () => {
  it('is taken up with all invariants kept, and no tool runs twice without a decision', async () => {
    await fc.assert(
      fc.asyncProperty(crashes, async ({ plan, skip, when, decisions }) => {
        const ledger = memoryLedger();
        const play = playPlan({ ...plan, actions: [] }, ledger, SESSION);
        const agent = defineAgent({ name: 'worker', instructions: 'Work.', ...play.agent });
        const halting = faultyLedger(ledger, [{ at: 'append', skip, when, action: { type: 'halt' } }]);
        // Never closed: its process is gone.
        const dead = createRuntime({ ledger: halting });
        const died = new Promise((resolve) => halting.faults.onHalt(() => resolve('died')));
        const first = dead.run(agent, 'Input.', { sessionId: SESSION });
        const decided = plan.decisions[Symbol.iterator]();
        const deciding = decideAsPlanned(dead, first, decided);
        if ((await Promise.race([died, deciding])) !== 'died') return;

        const { runtime, misfits } = watchedRuntime({ ledger });
        const left = [...decisions];
        const [open] = await runtime.recover(SESSION);
        if (open !== undefined) {
          for (const { requestId } of open.parked) {
            await runtime.approvals.decide(requestId, { decision: 'approve' });
          }
          const run = runtime.resume(agent, SESSION, { indeterminate: () => left.shift() ?? 'abandon' });
          const result = await decideAsPlanned(runtime, run, decided);
          expect(['completed', 'failed']).toContain(result.status);
        }
        const records = await ledger.read(SESSION);
        const { requests, entries } = play;
        expect(violationsOf({ records, requests, entries })).toEqual([]);
        expect(misfits).toEqual([]);
        expect(await runtime.recover(SESSION)).toEqual([]);
        await runtime.close();
      }),
      { numRuns: 150 },
    );
  }, 120_000);
});
