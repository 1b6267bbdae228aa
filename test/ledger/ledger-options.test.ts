import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { InboxItem, Ledger } from '../../src/ledger/ledger.ts';
import { type MemoryLedgerOptions, memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { resolveLimits } from '../../src/limits.ts';
import {
  commit,
  expectError,
  expectRejected,
  note,
  rootSession,
  turnOpened,
} from '../../src/testing/ledger-samples.ts';
import { ledgerFolder } from './ledger-folder.ts';

const NEVER = new AbortController().signal;

const KINDS = [
  ['memory', async (options: MemoryLedgerOptions) => memoryLedger(options)],
  [
    'SQLite',
    async (options: MemoryLedgerOptions) => {
      const folder = await ledgerFolder();
      onTestFinished(() => folder[Symbol.asyncDispose]());
      return folder.open(options);
    },
  ],
] as const;

describe.each(KINDS)('the %s ledger', (kind, open) => {
  test('says what an acknowledged append survives', async () => {
    expect((await open({})).durability).toBe(kind === 'memory' ? 'memory' : 'full');
  });

  test('takes the time from its clock', async () => {
    const ledger = await open({ clock: { ...systemClock, now: () => 1_234.5 } });
    const { records } = await commit(await ledger.acquire(rootSession('s-1')), note('a'));
    expect(records[0]?.at).toBe(1_234.5);
    expect((await ledger.sessions())[0]).toMatchObject({ openedAt: 1_234.5, updatedAt: 1_234.5 });
  });

  test('opens no turn in a session that is full, and lets an open one end', async () => {
    const ledger = await open({ limits: resolveLimits({ ledger: { maxSessionRecords: 2 } }) });
    const writer = await ledger.acquire(rootSession('s-1'));
    await commit(writer, turnOpened('t'), note('a'));
    await expectRejected(ledger, writer, 'limit', turnOpened('u'));
    await commit(writer, { ...note('b'), turn: 't' });
  });

  test('bounds the messages that wait for an owner', async () => {
    const ledger = await open({ limits: resolveLimits({ mailbox: 1 }) });
    await commit(await ledger.acquire(rootSession('s-1')), note('a'));
    const first = ledger.post(message('m-1'), NEVER);
    await expectError(ledger.post(message('m-2'), NEVER), 'mailbox-full');
    await ledger.reply(message('m-1'), { type: 'accepted', body: 1 });
    expect(await first).toEqual({ type: 'accepted', body: 1 });
    await answered(ledger, message('m-2'));
  });

  test('bounds the size of an artifact', async () => {
    const ledger = await open({ limits: resolveLimits({ ledger: { maxArtifactBytes: 3 } }) });
    await ledger.putArtifact(new Uint8Array(3), 'text/plain');
    await expectError(ledger.putArtifact(new Uint8Array(4), 'text/plain'), 'artifact-too-large');
  });

  test('bounds the appends a writer has on the way', async () => {
    const writer = await (await open({})).acquire(rootSession('s-1'));
    const sent = Array.from({ length: 100 }, (_, index) => writer.append(index, [note(String(index))]));
    const results = await Promise.all(sent);
    expect(results.filter(({ type }) => type === 'committed')).toHaveLength(64);
    expect(results.at(-1)).toMatchObject({ type: 'rejected', reason: 'limit' });
    await commit(writer, note('next'));
  });
});

async function answered(ledger: Ledger, item: InboxItem): Promise<void> {
  const sent = ledger.post(item, NEVER);
  for await (const waiting of ledger.inbox(item.session, NEVER)) {
    await ledger.reply(waiting, { type: 'accepted', body: 2 });
    break;
  }
  expect(await sent).toEqual({ type: 'accepted', body: 2 });
}

function message(id: string): InboxItem {
  return { id, session: 's-1', kind: 'steer', body: null };
}
