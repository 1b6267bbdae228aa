import { describe, expect, it } from 'vitest';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import type { NewRecord } from '../../src/ledger/records.ts';
import { createSessionLog } from '../../src/ledger/session-log.ts';

const identity = { session: 's-1', root: 's-1', agent: 'main' };
const closed = (reason: string): NewRecord => ({ type: 'session.closed', data: { reason } });

async function openLog() {
  const ledger = memoryLedger();
  return { ledger, log: createSessionLog(await ledger.acquire(identity)) };
}

describe('the log of a session', () => {
  it('merges batches of the same tick and answers each with its own records', async () => {
    const { log } = await openLog();
    const [first, second] = await Promise.all([
      log.commit([closed('a'), closed('b')]),
      log.commit([closed('c')]),
    ]);
    expect(first.map((record) => record.seq)).toEqual([1, 2]);
    expect(second.map((record) => record.seq)).toEqual([3]);
  });

  it('fails a record that fits no schema alone and lives on', async () => {
    const { ledger, log } = await openLog();
    // What the types forbid and a caller without types can still hand in.
    const unfit = { type: 'session.closed', data: { reason: 1 } } as unknown as NewRecord;
    const outcomes = await Promise.allSettled([
      log.commit([closed('a')]),
      log.commit([unfit]),
      log.commit([closed('b')]),
    ]);
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).toMatchObject({ reason: { code: 'invalid-record' } });
    expect(log.lost.aborted).toBe(false);
    expect(await ledger.read('s-1')).toHaveLength(2);
  });

  it('writes nothing more once the store is gone', async () => {
    const { ledger, log } = await openLog();
    await log.commit([closed('a')]);
    await ledger.close();
    await expect(log.commit([closed('b')])).rejects.toMatchObject({ name: 'SwarmError' });
    expect(log.lost.aborted).toBe(true);
  });
});
