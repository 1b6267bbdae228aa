import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { memoryPool } from '../support/memory-pool.ts';
import { ofType } from '../support/run-events.ts';

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
