import type { Ledger, LedgerWriter } from '../ledger/ledger.ts';
import type { LedgerCase, LedgerFactory } from './ledger-contract.ts';
import { rootSession } from './ledger-samples.ts';

/** What most cases begin with. */
export interface Opened {
  readonly ledger: Ledger;
  /** Writer of the session `s-1`. */
  readonly writer: LedgerWriter;
}

/** A case over a fresh ledger. */
export function onLedger(title: string, check: (ledger: Ledger) => Promise<void>): LedgerCase {
  return {
    title,
    async run(make) {
      const ledger = await make.open();
      try {
        await check(ledger);
      } finally {
        await ledger.close();
      }
    },
  };
}

/** A case over a fresh ledger with one session. */
export function onSession(title: string, check: (opened: Opened) => Promise<void>): LedgerCase {
  return onLedger(title, async (ledger) => {
    await check({ ledger, writer: await ledger.acquire(rootSession('s-1')) });
  });
}

/** A case in two parts: what the first did to a session is there for the second, after closing and reopening. */
export function overReopen(
  title: string,
  before: (opened: Opened) => Promise<void>,
  after: (ledger: Ledger) => Promise<void>,
): LedgerCase {
  const run = async ({ open, reopen }: LedgerFactory) => {
    if (reopen === undefined) return;
    const first = await open();
    try {
      await before({ ledger: first, writer: await first.acquire(rootSession('s-1')) });
    } finally {
      await first.close();
    }
    const second = await reopen();
    try {
      await after(second);
    } finally {
      await second.close();
    }
  };
  return { title, needs: 'reopen', run };
}
