import { describe, test } from 'vitest';
import { ledgerContract } from '../../src/testing/ledger-contract.ts';
import { ledgerFolder } from './ledger-folder.ts';

describe('the SQLite ledger', () => {
  for (const { title, run } of ledgerContract) {
    test(title, async () => {
      await using folder = await ledgerFolder();
      await run({ open: folder.open, reopen: folder.open });
    });
  }
});
