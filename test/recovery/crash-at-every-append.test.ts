import { describe, expect, it } from 'vitest';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import type { IndeterminateDecision } from '../../src/tools/reconcile-call.ts';
import { violationsOf } from '../invariants/session.ts';
import { ofType } from '../support/run-events.ts';
import { SCENARIOS, type Scenario } from './fixtures/scenarios.ts';
import { createWorld, type Process, SESSION, startProcess, type World } from './fixtures/world.ts';

const DECISIONS: readonly Exclude<IndeterminateDecision, 'block'>[] = [
  'retry',
  'abandon',
  { settle: 'settled by hand' },
];

interface Crash {
  /** Appends that pass unharmed. */
  readonly skip: number;
  readonly when: 'before' | 'after';
}

/** Runs the scenario until it is over or the process dies. */
async function runUntil(world: World, crash: Crash | undefined): Promise<Process> {
  const process = startProcess(
    world,
    crash === undefined ? [] : [{ at: 'append', ...crash, action: { type: 'halt' } }],
  );
  const run = process.runtime.run(process.agent, 'Go.', { sessionId: SESSION });
  process.accompany(run);
  await Promise.race([run.result, process.halted]);
  await process.end();
  return process;
}

async function countAppends(scenario: Scenario): Promise<number> {
  const world = createWorld(scenario, memoryLedger());
  const { faults } = await runUntil(world, undefined);
  return faults.passed.filter((passed) => passed.startsWith('append')).length;
}

describe.each(SCENARIOS.map((scenario) => [scenario.title, scenario] as const))('%s', (_, scenario) => {
  it('survives the end of its process at every append', async () => {
    const appends = await countAppends(scenario);
    for (let skip = 0; skip < appends; skip += 1) {
      for (const when of ['before', 'after'] as const) {
        const world = createWorld(scenario, memoryLedger());
        await runUntil(world, { skip, when });
        await finish(world, DECISIONS[skip % DECISIONS.length] ?? 'retry', `${when} append ${skip}`);
      }
    }
  });
});

async function finish(world: World, decision: IndeterminateDecision, at: string): Promise<void> {
  const before = await world.facts();
  const entered = world.entries.length;
  const process = startProcess(world);
  const [report] = await process.runtime.recover(SESSION);
  expect(await world.facts(), at).toEqual(before);
  expect(world.entries, at).toHaveLength(entered);
  if (report === undefined) {
    await process.end();
    const last = before.at(-1);
    expect(last === undefined || last.type === 'turn.closed', at).toBe(true);
    return;
  }
  if (report.indeterminate.length > 0) await staysBlocked(world, process, at);
  const run = process.runtime.resume(process.agent, SESSION, { indeterminate: () => decision });
  process.accompany(run);
  const result = await run.result;
  await process.end();
  expect(result, `${at}: ${JSON.stringify(result)}`).toMatchObject({
    status: 'completed',
    text: world.scenario.text,
  });
  const records = await world.facts();
  expect(records.slice(0, before.length), at).toEqual(before);
  expect(ofType(records, 'turn.closed'), at).toHaveLength(1);
  expect(violationsOf({ ...world, records }), at).toEqual([]);
  expect(process.misfits, at).toEqual([]);
}

/** Without a decision nothing is sent and nothing runs. */
async function staysBlocked(world: World, { runtime, agent }: Process, at: string): Promise<void> {
  const [requests, entries] = [world.requests.length, world.entries.length];
  const result = await runtime.resume(agent, SESSION).result;
  expect(result, at).toMatchObject({ status: 'paused', reason: 'indeterminate' });
  expect([world.requests.length, world.entries.length], at).toEqual([requests, entries]);
}
