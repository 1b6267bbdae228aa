import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { sqliteLedger } from '../../src/ledger/sqlite-ledger.ts';

export type LedgerKind = 'memory' | 'sqlite';

/** For `describe.each`: what holds with one ledger holds with the other. */
export const LEDGER_KINDS = [['memory'], ['sqlite']] as const satisfies readonly [LedgerKind][];

/** A fresh ledger; its files go with the test. */
export async function openLedger(kind: LedgerKind, clock?: Clock): Promise<Ledger> {
  const options = clock === undefined ? {} : { clock };
  return kind === 'memory' ? memoryLedger(options) : sqliteLedger({ ...options, path: await ledgerPath() });
}

/** Where a SQLite ledger may lie; the directory goes with the test. */
export async function ledgerPath(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'swarmwright-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return join(directory, 'ledger.db');
}
