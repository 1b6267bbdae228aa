import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { type SqliteLedgerOptions, sqliteLedger } from '../../src/ledger/sqlite-ledger.ts';

/** A folder for one test with a ledger file in it. */
export interface LedgerFolder extends AsyncDisposable {
  readonly path: string;
  /** Opens the ledger; one that is still open is closed at the end. */
  readonly open: (options?: Omit<SqliteLedgerOptions, 'path'>) => Promise<Ledger>;
}

export async function ledgerFolder(): Promise<LedgerFolder> {
  const folder = await mkdtemp(join(tmpdir(), 'swarmwright-ledger-'));
  const path = join(folder, 'ledger.db');
  const opened: Ledger[] = [];
  return {
    path,
    open: async (options = {}) => {
      const ledger = await sqliteLedger({ ...options, path });
      opened.push(ledger);
      return ledger;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(opened.map((ledger) => ledger.close()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}
