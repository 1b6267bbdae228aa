import { readFileSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { isSwarmError } from '../../src/errors.ts';
import type { Ledger, LedgerWriter } from '../../src/ledger/ledger.ts';
import { resolveLimits } from '../../src/limits.ts';
import { commit, expectError, note, notesOf, rootSession } from '../../src/testing/ledger-samples.ts';
import { type LedgerFolder, ledgerFolder } from './ledger-folder.ts';

const IMPATIENT = resolveLimits({ timeouts: { commitMs: 800 } });

describe('W11 an append without an answer in time', () => {
  test('is indeterminate, and its writer is dead', async () => {
    await using folder = await ledgerFolder();
    const { ledger, writer } = await openSession(folder);
    using _ = writeLock(folder);
    const result = await writer.append(1, [note('b')]);
    expect(result).toMatchObject({ type: 'indeterminate', cause: { code: 'ledger-unavailable' } });
    expect(writer.lost.aborted).toBe(true);
    expect(writer.lost.reason).toMatchObject({ code: 'ledger-indeterminate' });
    expect(await writer.append(1, [note('c')])).toMatchObject({ type: 'rejected', reason: 'fenced' });
    expect((await ledger.sessions())[0]?.owned).toBe(false);
  });

  test('takes those sent behind it with it', async () => {
    await using folder = await ledgerFolder();
    const { writer } = await openSession(folder);
    using _ = writeLock(folder);
    const sent = [writer.append(1, [note('b')]), writer.append(2, [note('c')])];
    expect((await Promise.all(sent)).map(({ type }) => type)).toEqual(['indeterminate', 'indeterminate']);
  });

  test('leaves what is stored to the next owner to find out', async () => {
    await using folder = await ledgerFolder();
    const { ledger, writer } = await openSession(folder);
    const lock = writeLock(folder);
    await writer.append(1, [note('b')]);
    lock[Symbol.dispose]();
    // Not released: a dead writer holds nothing.
    const next = await acquirePatiently(ledger, 's-1');
    expect(next.epoch).toBeGreaterThan(writer.epoch);
    expect(next.head.seq).toBe((await ledger.read('s-1')).length);
    await commit(next, note('c'));
    await writer.release();
    expect(next.lost.aborted).toBe(false);
    expect(notesOf(await ledger.read('s-1')).at(-1)).toBe('c');
  });

  test('leaves the sessions of others alone', async () => {
    await using folder = await ledgerFolder();
    const { ledger, writer } = await openSession(folder);
    const other = await ledger.acquire(rootSession('s-2'));
    const lock = writeLock(folder);
    await writer.append(1, [note('b')]);
    lock[Symbol.dispose]();
    await commit(other, note('a'));
  });
});

describe('W11 a write that fails', () => {
  test('is indeterminate for an append, and the next owner gets a fresh thread', async () => {
    await using folder = await ledgerFolder();
    const { ledger, writer } = await openSession(folder);
    edit(folder, 'ALTER TABLE events RENAME TO elsewhere');
    const result = await writer.append(1, [note('b')]);
    expect(result).toMatchObject({
      type: 'indeterminate',
      cause: { message: expect.stringContaining('events') },
    });
    expect(writer.lost.aborted).toBe(true);
    edit(folder, 'ALTER TABLE elsewhere RENAME TO events');
    const next = await acquirePatiently(ledger, 's-1');
    await commit(next, note('c'));
    expect(notesOf(await ledger.read('s-1'))).toEqual(['a', 'c']);
  });

  test('is an error for whoever wanted to own a session, and leaves it free', async () => {
    await using folder = await ledgerFolder();
    const { ledger } = await openSession(folder);
    {
      using _ = writeLock(folder);
      await expectError(ledger.acquire(rootSession('s-2')), 'ledger-unavailable');
    }
    await commit(await acquirePatiently(ledger, 's-2'), note('a'));
  });

  test('fails all of its group, and no later one', async () => {
    await using folder = await ledgerFolder();
    const { ledger } = await openSession(folder);
    const writers = await Promise.all(['s-2', 's-3'].map((session) => ledger.acquire(rootSession(session))));
    edit(folder, 'ALTER TABLE heads RENAME TO elsewhere');
    const results = await Promise.all(writers.map((writer) => writer.append(0, [note('a')])));
    expect(results.map(({ type }) => type)).toEqual(['indeterminate', 'indeterminate']);
    edit(folder, 'ALTER TABLE elsewhere RENAME TO heads');
    await commit(await acquirePatiently(ledger, 's-2'), note('b'));
  });
});

describe('a writer of an older epoch', () => {
  test('is fenced by the file, and told so', async () => {
    await using folder = await ledgerFolder();
    const { writer } = await openSession(folder);
    edit(folder, 'UPDATE heads SET epoch = epoch + 1');
    expect(await writer.append(1, [note('b')])).toMatchObject({ type: 'rejected', reason: 'fenced' });
    expect(writer.lost.reason).toMatchObject({ code: 'session-owned-elsewhere' });
  });

  test('does not give up what a newer one holds', async () => {
    await using folder = await ledgerFolder();
    const { writer } = await openSession(folder);
    edit(folder, 'UPDATE heads SET epoch = epoch + 1');
    await writer.release();
    const other = await folder.open();
    await expectError(other.acquire(rootSession('s-1')), 'session-owned-elsewhere');
  });
});

describe('commits', () => {
  test('of many sessions go together', async () => {
    await using folder = await ledgerFolder();
    const ledger = await folder.open();
    const writers = await Promise.all(
      Array.from({ length: 200 }, (_, index) => ledger.acquire(rootSession(`s-${index}`))),
    );
    const before = commitsIn(folder);
    await Promise.all(writers.map((writer) => commit(writer, note('a'))));
    // 32 at once, the rest while those are being committed.
    expect(commitsIn(folder) - before).toBeLessThanOrEqual(3);
  });

  test('are split where a group would grow too large', async () => {
    await using folder = await ledgerFolder();
    const ledger = await folder.open();
    const writers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => ledger.acquire(rootSession(`s-${index}`))),
    );
    const text = 'x'.repeat(400 * 1024);
    await Promise.all(writers.map((writer) => commit(writer, note(text))));
    for (const { identity } of writers) expect(notesOf(await ledger.read(identity.session))).toEqual([text]);
  });

  test('keep the log beside the file from growing', { timeout: 60_000 }, async () => {
    await using folder = await ledgerFolder();
    const { writer } = await openSession(folder, {});
    const text = 'x'.repeat(900 * 1024);
    for (let index = 0; index < 50; index += 1) await commit(writer, note(text));
    expect(statSync(`${folder.path}-wal`).size).toBeLessThan(24 * 1024 * 1024);
  });
});

async function openSession(
  folder: LedgerFolder,
  options: Parameters<LedgerFolder['open']>[0] = { limits: IMPATIENT },
): Promise<{ readonly ledger: Ledger; readonly writer: LedgerWriter }> {
  const ledger = await folder.open(options);
  const writer = await acquirePatiently(ledger, 's-1');
  await commit(writer, note('a'));
  return { ledger, writer };
}

/** The first write starts the thread, which may take longer than the impatient ones wait. */
async function acquirePatiently(ledger: Ledger, session: string): Promise<LedgerWriter> {
  for (;;) {
    try {
      return await ledger.acquire(rootSession(session));
    } catch (cause) {
      if (!isSwarmError(cause, 'ledger-unavailable')) throw cause;
    }
  }
}

/** Keeps all others from writing to the file. */
function writeLock({ path }: LedgerFolder): Disposable {
  const database = new DatabaseSync(path);
  database.exec('BEGIN IMMEDIATE');
  return { [Symbol.dispose]: () => database.isOpen && database.close() };
}

function edit({ path }: LedgerFolder, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(`PRAGMA busy_timeout = 5000; ${sql}`);
  database.close();
}

/** Commits in the log beside the file: frames that say how large the file is after them. */
function commitsIn({ path }: LedgerFolder): number {
  const log = readFileSync(`${path}-wal`);
  const [header, frameHeader, page] = [32, 24, log.readUInt32BE(8)];
  const salt = log.subarray(16, 24);
  let commits = 0;
  for (let at = header; at + frameHeader + page <= log.length; at += frameHeader + page) {
    const isOfThisRound = log.subarray(at + 8, at + 16).equals(salt);
    if (isOfThisRound && log.readUInt32BE(at + 4) > 0) commits += 1;
  }
  return commits;
}
