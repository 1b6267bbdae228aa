import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { violationsOf } from '../invariants/session.ts';
import { memoryPool } from '../support/memory-pool.ts';
import { ofType } from '../support/run-events.ts';
import { createToolSpy } from '../support/tool-spy.ts';

/** A run that waits for a person, asked to be taken up and cancelled at once, with what is in the queue of it. */
async function cancelledResume() {
  const model = scriptedModel({ script: [reply().call('del', { id: 'a' }), reply().text('late')] });
  const tools = [createToolSpy().tool('del', undefined, { needsApproval: true })];
  const pool = await memoryPool([defineAgent({ name: 'payer', instructions: 'Pay.', model, tools })]);
  const giver = pool.runtimeOf();
  const given = giver.run('payer', 'Go.', { sessionId: 's-1' });
  const worker = pool.worker();
  await turnOfLoop();
  for (const entry of pool.entries.splice(0)) await worker.hand(entry);
  const resumed = giver.resume('payer', 's-1');
  await turnOfLoop();
  resumed.cancel('enough');
  await turnOfLoop();
  return { pool, worker, given, resumed, entries: pool.entries.splice(0) };
}

test.each([
  ['the wake', false],
  ['the stop', true],
])(
  'a run is ended that is cancelled while it is to be taken up, where %s is handed out first',
  async (_, isStopFirst) => {
    const { pool, worker, given, resumed, entries } = await cancelledResume();
    expect(entries).toHaveLength(2);
    for (const entry of isStopFirst ? entries.toReversed() : entries) await worker.hand(entry);
    expect(await resumed.result).toMatchObject({ status: 'cancelled', reason: 'enough' });
    expect(await given.result).toMatchObject({ status: 'cancelled', reason: 'enough' });
    const records = await pool.store.read('s-1');
    expect(ofType(records, 'turn.closed')[0]?.data).toMatchObject({ status: 'cancelled' });
    expect(violationsOf({ records })).toEqual([]);
  },
);

test('NB-13 a worker that finds ended what it was about to take up has not worked on it', async () => {
  const gate = createGate();
  const model = scriptedModel({ script: [reply().wait(gate).text('Paid.')] });
  const pool = await memoryPool([defineAgent({ name: 'payer', instructions: 'Pay.', model })]);
  const run = pool.runtimeOf().run('payer', 'Go.', { sessionId: 's-1' });
  await turnOfLoop();
  const [entry] = pool.entries;
  if (entry === undefined) throw new Error('nothing was queued');
  const heir = pool.worker().hand(entry);
  await gate.reached;
  const zombie = pool.worker({
    async acquire(identity) {
      gate.open();
      await heir;
      return pool.store.acquire(identity);
    },
  });
  expect(await zombie.hand(entry)).toEqual({ type: 'done', how: 'repeated' });
  expect(await heir).toEqual({ type: 'done', how: 'worked' });
  expect(await run.result).toMatchObject({ status: 'completed', text: 'Paid.' });
  expect(ofType(await pool.store.read('s-1'), 'run.settled')).toHaveLength(1);
});
