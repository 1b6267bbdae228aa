import { setImmediate as turnOfLoop } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/agent/define-agent.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { QueueEntry } from '../../src/nats/queue-entry.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import type { Script } from '../../src/testing/script.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { entryOf, type HandedWorker, memoryPool } from '../support/memory-pool.ts';
import { ofType } from '../support/run-events.ts';

const PAY = reply().call('pay', {});

/** A lead that asks a payer once, and both go on paying for as long as they may; the tool may ask a person. */
function payingPool(payer: Script, asksAfter = Number.POSITIVE_INFINITY) {
  let paid = 0;
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    inputSchema: z.object({}),
    needsApproval: () => paid === asksAfter,
    execute() {
      paid += 1;
      return `paid ${paid}`;
    },
  });
  const below = defineAgent({
    name: 'payer',
    instructions: 'Pay.',
    model: scriptedModel({ script: payer }),
    tools: [pay],
  });
  const isFirst = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
    messages.every(({ role }) => role !== 'tool');
  const script: Script = (request) => (isFirst(request) ? reply().call('ask_payer', { task: 'Pay.' }) : PAY);
  const model = scriptedModel({ script });
  return memoryPool([
    defineAgent({ name: 'lead', instructions: 'Pay.', model, tools: [pay], agents: [below] }),
    below,
  ]);
}

async function stepsIn(ledger: Ledger): Promise<readonly number[]> {
  const sessions = await ledger.sessions();
  return Promise.all(
    sessions.map(async ({ sessionId }) => ofType(await ledger.read(sessionId), 'step.opened').length),
  );
}

function take(entries: QueueEntry[]): QueueEntry {
  const entry = entries.shift();
  if (entry === undefined) throw new Error('nothing waits');
  return entry;
}

const noise = (session: string, parent?: string): QueueEntry =>
  entryOf({ kind: 'wake', session, parent, cause: 'noise' });

describe('the budget of a run on several workers', () => {
  test('counts a child at one moment that ends while its parent is taken up', async () => {
    const gate = createGate();
    const pool = await payingPool((_, index) => (index === 0 ? reply().wait(gate).call('pay', {}) : PAY));
    const run = pool.runtimeOf().run('lead', 'Go.', { sessionId: 's-1', budget: { steps: 9 } });
    const one = pool.worker();
    await turnOfLoop();
    await one.hand(take(pool.entries));
    const asked = take(pool.entries);
    const payer = asked.session;
    const paying = one.hand(asked);
    await gate.reached;
    let reads = 0;
    const two = pool.worker({
      async read(session, fromSeq) {
        if (session === payer) reads += 1;
        if (session === payer && reads === 2) {
          gate.open();
          await paying;
        }
        return pool.store.read(session, fromSeq);
      },
    });
    await two.hand(noise('s-1'));
    expect(await run.result).toMatchObject({ status: 'failed', error: { kind: 'step-limit' } });
    // Half of the eight that were left are the child's; it used all of them.
    expect(await stepsIn(pool.store)).toEqual([5, 4]);
  });

  test('counts what a child used until the moment it is taken up', async () => {
    const gate = createGate();
    const pool = await payingPool((_, index) => (index === 0 ? reply().wait(gate).call('pay', {}) : PAY), 1);
    const giver = pool.runtimeOf();
    giver.run('lead', 'Go.', { sessionId: 's-1', budget: { steps: 9 } });
    const one = pool.worker();
    await turnOfLoop();
    await one.hand(take(pool.entries));
    const asked = take(pool.entries);
    const paying = one.hand(asked);
    await gate.reached;
    const two = pool.worker({
      async acquire(identity) {
        if (identity.session === asked.session && !gate.isOpen) {
          gate.open();
          await paying;
          const [request] = await giver.approvals.pending();
          await giver.approvals.decide(request?.id ?? '', { decision: 'approve' });
        }
        return pool.store.acquire(identity);
      },
    });
    await two.hand(noise(asked.session, 's-1'));
    expect(await stepsIn(pool.store)).toEqual([1, 4]);
  });

  test('gives a parent back at once what a child left that has ended', async () => {
    const pool = await payingPool(() => reply().text('paid'));
    const run = pool.runtimeOf().run('lead', 'Go.', { sessionId: 's-1', budget: { steps: 9 } });
    const one = pool.worker();
    await turnOfLoop();
    while (pool.entries.length > 0) await one.hand(take(pool.entries));
    expect(await run.result).toMatchObject({ status: 'failed', error: { kind: 'step-limit' } });
    expect(await stepsIn(pool.store)).toEqual([8, 1]);
  });

  test('is never exceeded, in whichever order parents and children are taken up, and how often', async () => {
    const budget = fc.record({
      steps: fc.integer({ min: 1, max: 14 }),
      agents: fc.integer({ min: 1, max: 9 }),
    });
    const choices = fc.array(fc.nat(999), { minLength: 40, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(budget, choices, async (bounds, choice) => {
        const store = await playedOut(bounds, cycle(choice));
        const steps = await stepsIn(store);
        expect(steps.reduce((all, one) => all + one, 0)).toBeLessThanOrEqual(bounds.steps);
        const opened = (await store.sessions()).filter((_, at) => (steps[at] ?? 0) > 0);
        expect(opened.length).toBeLessThanOrEqual(bounds.agents);
      }),
      { numRuns: 40 },
    );
  });
});

/** The numbers over and over, each time others. */
function cycle(numbers: readonly number[]): () => number {
  let at = 0;
  return () => {
    at += 1;
    return (numbers[at % numbers.length] ?? 0) + Math.floor(at / numbers.length);
  };
}

/** A run of three levels, all of which ask on and on, on two workers that leave and are handed what waits in any order. */
async function playedOut(
  budget: { readonly steps: number; readonly agents: number },
  next: () => number,
): Promise<Ledger> {
  const model = scriptedModel({
    script({ toolNames }) {
      const asks = toolNames.find((name) => name.startsWith('ask_')) ?? 'pay';
      const input = asks === 'pay' ? {} : { task: 'Pay.' };
      const first = reply().call(asks, input);
      const choice = next() % 4;
      if (choice === 3 && asks !== 'ask_middle') return reply().text('done');
      return choice === 0 ? first.call(asks, input) : first;
    },
  });
  const pay = defineTool({ name: 'pay', description: 'Pays.', inputSchema: z.object({}), execute: () => 1 });
  const common = { instructions: 'Go on.', model };
  const payer = defineAgent({ ...common, name: 'payer', tools: [pay] });
  const middle = defineAgent({ ...common, name: 'middle', agents: [payer] });
  const pool = await memoryPool([defineAgent({ ...common, name: 'lead', agents: [middle] }), middle, payer]);
  const giver = pool.runtimeOf();
  const run = giver.run('lead', 'Go.', { sessionId: 's-1', budget });
  let isOver = false;
  void run.result.then(() => {
    isOver = true;
  });
  const workers = [pool.worker(), pool.worker()];
  const busy = new Set<Promise<unknown>>();
  for (let round = 0; !isOver && round < 3_000; round += 1) {
    if (pool.entries.length === 0) await workers[0]?.work.wakeSleepers();
    handOne(pool.entries, workers[next() % 2], { busy, next });
    if (next() % 7 === 0) await addNoise(pool, next);
    if (next() % 13 === 0) await workers.shift()?.runtime.close();
    if (workers.length < 2) workers.push(pool.worker());
    if (next() % 3 === 0) await Promise.all(busy);
    for (let turns = next() % 5; turns >= 0; turns -= 1) await turnOfLoop();
  }
  expect(isOver).toBe(true);
  await Promise.all(busy);
  return pool.store;
}

function handOne(
  entries: QueueEntry[],
  worker: HandedWorker | undefined,
  { busy, next }: { readonly busy: Set<Promise<unknown>>; readonly next: () => number },
): void {
  const at = next() % Math.max(1, entries.length);
  const entry = entries[at];
  if (entry === undefined || worker === undefined) return;
  // Some are handed out once more.
  if (next() % 4 > 0) entries.splice(at, 1);
  const done = worker.hand(entry).then((end) => {
    if (end.type === 'later') entries.push(entry);
  });
  busy.add(done);
  void done.finally(() => busy.delete(done));
}

async function addNoise(
  { store, entries }: { readonly store: Ledger; readonly entries: QueueEntry[] },
  next: () => number,
): Promise<void> {
  const sessions = await store.sessions();
  const { sessionId, parentId } = sessions[next() % Math.max(1, sessions.length)] ?? {};
  if (sessionId !== undefined) entries.push(noise(sessionId, parentId));
}
