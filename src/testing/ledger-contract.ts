import type { Ledger } from '../ledger/ledger.ts';
import { appendCases } from './ledger-contract-append.ts';
import { artifactCases } from './ledger-contract-artifacts.ts';
import { closeCases } from './ledger-contract-close.ts';
import { cursorCases } from './ledger-contract-cursors.ts';
import { inboxCases } from './ledger-contract-inbox.ts';
import { readCases } from './ledger-contract-read.ts';
import { ruleCases } from './ledger-contract-rules.ts';
import { tailCases } from './ledger-contract-tail.ts';
import { writerCases } from './ledger-contract-writer.ts';

/** Makes ledgers to be tested. */
export interface LedgerFactory {
  /** A ledger with nothing in it, with default limits. */
  open(): Promise<Ledger>;
  /**
   * A new ledger over the storage of the last one opened, which was closed or is gone. Leave it out where the
   * storage ends with the ledger.
   */
  reopen?(): Promise<Ledger>;
}

/** One rule that every ledger keeps. */
export interface LedgerCase {
  readonly title: string;
  /** What the factory must offer, else `run` shows nothing: skip the case then. */
  readonly needs?: 'reopen';
  /** Rejects with what is wrong. Closes each ledger it opens. */
  run(make: LedgerFactory): Promise<void>;
}

/**
 * What every implementation of `Ledger` has to do, as cases for any test runner.
 *
 * @example
 * for (const { title, needs, run } of ledgerContract) {
 *   test.skipIf(needs !== undefined && !(needs in make))(title, () => run(make));
 * }
 */
export const ledgerContract: readonly LedgerCase[] = [
  ...appendCases,
  ...ruleCases,
  ...writerCases,
  ...readCases,
  ...tailCases,
  ...cursorCases,
  ...artifactCases,
  ...inboxCases,
  ...closeCases,
];
