import { describe, test } from 'vitest';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { ledgerContract } from '../../src/testing/ledger-contract.ts';

describe('the memory ledger', () => {
  for (const { title, needs, run } of ledgerContract) {
    test.skipIf(needs === 'reopen')(title, () => run({ open: async () => memoryLedger() }));
  }
});
