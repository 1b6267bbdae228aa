import { expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import type { EntryEnd } from '../../src/nats/work-on-entry.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { entryOf, memoryPool } from '../support/memory-pool.ts';
import { ofType } from '../support/run-events.ts';

const never = new AbortController().signal;

const turnOf = (run: string) => entryOf({ run, session: 's-1', target: 'worker', input: 'Go.' });

/**
 * A worker to whom a second run of a session is handed while the last append of the first one is on its way, which stands
 * alone as it was refused together with the end of the turn.
 */
async function secondBehindLastAppend(isRefused: boolean) {
  const gate = createGate();
  const model = scriptedModel({ script: [reply().text('one'), reply().wait(gate).text('two')] });
  const pool = await memoryPool([defineAgent({ name: 'worker', instructions: 'Work.', model })]);
  const second = Promise.withResolvers<EntryEnd>();
  const refused = {
    at: 'append',
    record: 'run.settled',
    action: { type: 'reject', reason: 'limit' },
  } as const;
  const handed = { type: 'call', run: () => void second.resolve(worker.hand(turnOf('r-2'))) } as const;
  const faulty = faultyLedger(pool.store, [
    refused,
    { ...refused, skip: 1, action: handed },
    ...(isRefused ? [{ ...refused, skip: 1 }] : []),
  ]);
  const worker = pool.worker({ acquire: faulty.acquire });
  const first = await worker.hand(turnOf('r-1'));
  return { store: pool.store, gate, first, second: second.promise };
}

it('a run that comes while the last append of another is on its way is run', async () => {
  const { store, gate, second } = await secondBehindLastAppend(false);
  gate.open();
  expect(await second).toEqual({ type: 'done', how: 'worked' });
  const told = ofType(await store.read('s-1'), 'run.settled').map(({ data }) => data.run);
  expect(told).toEqual(['r-1', 'r-2']);
  expect(await store.summary('s-1')).toMatchObject({ owned: false });
});

it('a session that is kept as its last append was refused listens to words again', async () => {
  const { store, gate, first, second } = await secondBehindLastAppend(true);
  expect(first.type).toBe('later');
  await gate.reached;
  const word = { id: 'word-1', session: 's-1', kind: 'cancel', body: { reason: 'enough', run: 'r-2' } };
  expect(await store.post(word, never)).toMatchObject({ type: 'accepted' });
  expect(await second).toEqual({ type: 'done', how: 'worked' });
});
