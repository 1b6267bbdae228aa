import fc from 'fast-check';
import { expect, test } from 'vitest';
import { verifyChain } from '../../src/ledger/hash-chain.ts';
import { notesOf } from '../../src/testing/ledger-samples.ts';
import { ledgerFolder } from './ledger-folder.ts';
import { type LedgerChild, spawnLedgerChild } from './spawn-ledger-child.ts';

const KILLS = 20;
const SESSIONS = ['s-1', 's-2', 's-3', 's-4'];

test('W6 no kill of the process loses an acknowledged record', { timeout: 240_000 }, async () => {
  await using folder = await ledgerFolder();
  const acknowledged = new Map(SESSIONS.map((session) => [session, 0]));
  for (const acks of fc.sample(fc.integer({ min: 1, max: 120 }), KILLS)) {
    // The file of the killed one is taken over as it lies there, its sessions at once.
    await using child = spawnLedgerChild('append', folder.path, ...SESSIONS);
    await hear(child, acks, acknowledged);
    await child.kill();
    await hear(child, Number.POSITIVE_INFINITY, acknowledged);
    const ledger = await folder.open();
    for (const session of SESSIONS) {
      const records = await ledger.read(session);
      expect(records.length).toBeGreaterThanOrEqual(acknowledged.get(session) ?? 0);
      expect(notesOf(records)).toEqual(records.map(({ seq }) => `${session} ${seq}`));
      verifyChain(records);
    }
    await ledger.close();
  }
});

/** Notes what the child was told to be stored. */
async function hear(child: LedgerChild, acks: number, acknowledged: Map<string, number>): Promise<void> {
  for (let heard = 0; heard < acks; heard += 1) {
    const { value, done } = await child.lines.next();
    if (done === true) return;
    const [session = '', seq] = value.split(' ');
    acknowledged.set(session, Math.max(acknowledged.get(session) ?? 0, Number(seq)));
  }
}
