import assert from 'node:assert/strict';
import { onLedger, overReopen } from './ledger-case.ts';
import type { LedgerCase } from './ledger-contract.ts';

/** Where readers of the whole ledger left off. */
export const cursorCases: readonly LedgerCase[] = [
  onLedger('a cursor of a name that was never used is undefined', async (ledger) => {
    assert.equal(await ledger.cursor('bus'), undefined);
  }),
  onLedger('a cursor is where it was moved to, each name its own', async (ledger) => {
    await ledger.moveCursor('bus', 7);
    await ledger.moveCursor('log', 0);
    assert.deepEqual([await ledger.cursor('bus'), await ledger.cursor('log')], [7, 0]);
  }),
  onLedger('a cursor never goes back', async (ledger) => {
    await ledger.moveCursor('bus', 7);
    await ledger.moveCursor('bus', 3);
    assert.equal(await ledger.cursor('bus'), 7);
  }),
  onLedger('a cursor cannot be moved once the ledger is closed', async (ledger) => {
    await ledger.close();
    await assert.rejects(ledger.moveCursor('bus', 1), { code: 'ledger-closed' });
    await assert.rejects(ledger.cursor('bus'), { code: 'ledger-closed' });
  }),
  overReopen(
    'a cursor outlives its process',
    async ({ ledger }) => {
      await ledger.moveCursor('bus', 12);
    },
    async (ledger) => {
      assert.equal(await ledger.cursor('bus'), 12);
    },
  ),
];
