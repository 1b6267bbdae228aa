import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isSwarmError } from '../../src/errors.ts';
import { verifyChain } from '../../src/ledger/hash-chain.ts';
import type { LedgerRecord } from '../../src/ledger/records.ts';
import { assertSuitableSqlite } from '../../src/ledger/sqlite-file.ts';
import { sqliteLedger } from '../../src/ledger/sqlite-ledger.ts';
import { commit, expectError, note, notesOf, rootSession } from '../../src/testing/ledger-samples.ts';
import { type LedgerFolder, ledgerFolder } from './ledger-folder.ts';

const MARK = 'a text that is easy to find';

describe('a ledger without a path', () => {
  test.each([['agents.db'], [{ file: 'agents.db' }], [undefined], [{ path: '' }]])(
    'is refused: %j',
    async (given) => {
      const refused = { code: 'invalid-definition', message: expect.stringContaining('path') };
      await expect(sqliteLedger(given as never)).rejects.toMatchObject(refused);
    },
  );
});

describe('a file that is not a ledger of this version', () => {
  test.each<[string, string, (path: string) => void]>([
    ['a text', 'ledger-foreign', (path) => writeFileSync(path, 'notes of somebody\n'.repeat(20))],
    ['a short text', 'ledger-foreign', (path) => writeFileSync(path, 'x')],
    ['a database of another application', 'ledger-foreign', (path) => makeDatabase(path, 7, 1)],
    ['a database of no application', 'ledger-foreign', (path) => makeDatabase(path, 0, 1)],
    ['a ledger of a newer version', 'ledger-newer-schema', (path) => makeDatabase(path, 0x73776d31, 2)],
  ])('%s is refused and left as it is', async (_, code, make) => {
    await using folder = await ledgerFolder();
    make(folder.path);
    const before = contents(folder);
    await expect(folder.open()).rejects.toMatchObject({
      code,
      message: expect.stringContaining(folder.path),
    });
    expect(contents(folder)).toEqual(before);
  });

  test('a ledger whose newer version is in its log only is refused', async () => {
    await using folder = await ledgerFolder();
    await (await folder.open()).close();
    const other = new DatabaseSync(folder.path);
    other.exec('PRAGMA user_version = 2');
    await expectError(folder.open(), 'ledger-newer-schema');
    other.close();
  });

  test('a folder is not opened', async () => {
    await using folder = await ledgerFolder();
    await expectError(sqliteLedger({ path: dirname(folder.path) }), 'ledger-unavailable');
  });
});

describe('a new file', () => {
  test('is made with the folders above it, for its user only', async () => {
    await using folder = await ledgerFolder();
    const path = `${folder.path}.d/deep/agents.db`;
    const ledger = await sqliteLedger({ path });
    await commit(await ledger.acquire(rootSession('s-1')), note('a'));
    for (const name of readdirSync(dirname(path))) {
      expect(name.startsWith('agents.db')).toBe(true);
      if (!name.includes('-owner')) expect(statSync(`${dirname(path)}/${name}`).mode & 0o077).toBe(0);
    }
    await ledger.close();
    expect(readdirSync(dirname(path))).toEqual(['agents.db']);
  });

  test('may be there already, empty', async () => {
    await using folder = await ledgerFolder();
    writeFileSync(folder.path, '');
    await commit(await (await folder.open()).acquire(rootSession('s-1')), note('a'));
  });

  test('is made once by all who open it at the same time', async () => {
    await using folder = await ledgerFolder();
    const ledgers = await Promise.all(Array.from({ length: 8 }, () => folder.open()));
    await commit(await (ledgers[0] ?? expect.unreachable()).acquire(rootSession('s-1')), note('a'));
    for (const ledger of ledgers) expect(notesOf(await ledger.read('s-1'))).toEqual(['a']);
  });
});

describe('a damaged file', () => {
  test('is found out by who reads or wants to write, and is left as it is', async () => {
    await using folder = await ledgerFolder();
    await fill(folder, [note('a'), note(MARK), note('c')]);
    const bytes = readFileSync(folder.path);
    const at = bytes.indexOf(MARK) + 3;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(folder.path, bytes);
    const ledger = await folder.open();
    const fault = {
      code: 'ledger-corrupt',
      message: expect.stringMatching(/session s-1, record 2: found contents/),
    };
    await expect(ledger.read('s-1')).rejects.toMatchObject(fault);
    await expect(ledger.acquire(rootSession('s-1'))).rejects.toMatchObject(fault);
    const tail = ledger.tail(0, new AbortController().signal)[Symbol.asyncIterator]();
    await expect(tail.next()).rejects.toMatchObject(fault);
    expect(notesOf(await ledger.read('s-1', 3))).toEqual(['c']);
    await ledger.close();
    expect(readFileSync(folder.path).equals(bytes)).toBe(true);
  });

  test('does not keep other sessions from going on', async () => {
    await using folder = await ledgerFolder();
    await fill(folder, [note(MARK)]);
    const bytes = readFileSync(folder.path);
    bytes.write('A', bytes.indexOf(MARK));
    writeFileSync(folder.path, bytes);
    const ledger = await folder.open();
    await expectError(ledger.acquire(rootSession('s-1')), 'ledger-corrupt');
    await commit(await ledger.acquire(rootSession('s-2')), note('b'));
  });

  test('with a record cut out of its middle is found out', async () => {
    await using folder = await ledgerFolder();
    await fill(folder, [note('a'), note('b'), note('c')]);
    edit(folder, 'UPDATE events SET prior = 1 WHERE seq = 3');
    await expectError((await folder.open()).read('s-1'), 'ledger-corrupt');
  });

  test('with its last record taken away is found out', async () => {
    await using folder = await ledgerFolder();
    await fill(folder, [note('a'), note('b')]);
    edit(folder, 'DELETE FROM events WHERE seq = 2');
    await expectError((await folder.open()).read('s-1'), 'ledger-corrupt');
  });

  test('never gives a record that was not written, whatever byte is flipped', {
    timeout: 120_000,
  }, async () => {
    await using folder = await ledgerFolder();
    const records = await fill(
      folder,
      Array.from({ length: 40 }, (_, index) => note(`${index} ${'x'.repeat(300)}`)),
    );
    const good = readFileSync(folder.path);
    const outcomes = { refused: 0, whole: 0, unknown: 0 };
    const place = fc.record({ at: fc.nat(good.length - 1), bit: fc.nat(7) });
    await fc.assert(
      fc.asyncProperty(place, async ({ at, bit }) => {
        await using copy = await ledgerFolder();
        const bytes = Buffer.from(good);
        bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
        writeFileSync(copy.path, bytes);
        outcomes[await readingOf(copy, records)] += 1;
      }),
      { numRuns: 200 },
    );
    expect(outcomes.refused).toBeGreaterThan(20);
  });
});

describe('a log cut short', () => {
  test('leaves the records before the cut, and the session goes on there', { timeout: 120_000 }, async () => {
    await using folder = await ledgerFolder();
    const ledger = await folder.open();
    const writer = await ledger.acquire(rootSession('s-1'));
    for (let index = 0; index < 30; index += 1) await commit(writer, note(String(index)));
    const records = await ledger.read('s-1');
    const size = statSync(`${folder.path}-wal`).size;
    expect(size).toBeGreaterThan(0);
    await fc.assert(
      fc.asyncProperty(fc.nat(size), async (length) => {
        await using copy = await ledgerFolder();
        // By another process: closing a copy here would drop the locks of the ledger that is open.
        execFileSync('cp', [folder.path, copy.path]);
        execFileSync('cp', [`${folder.path}-wal`, `${copy.path}-wal`]);
        truncateSync(`${copy.path}-wal`, length);
        const cut = await copy.open();
        const left = await cut.read('s-1');
        expect(left).toEqual(records.slice(0, left.length));
        const next = await cut.acquire(rootSession('s-1'));
        await commit(next, note('next'));
        verifyChain(await cut.read('s-1'));
      }),
      { numRuns: 15 },
    );
  });
});

describe('the SQLite of this Node', () => {
  test.each(['3.51.3', '3.51.10', '3.52.0', '4.0.0'])('%s is suitable', (version) => {
    expect(() => assertSuitableSqlite(version)).not.toThrow();
  });

  test.each(['3.51.2', '3.46.1', '2.99.99', '3.7.0', 'unknown'])('%s is not', (version) => {
    expect(() => assertSuitableSqlite(version)).toThrow(
      expect.objectContaining({ code: 'sqlite-unsuitable', message: expect.stringContaining(version) }),
    );
  });
});

function makeDatabase(path: string, applicationId: number, version: number): void {
  const database = new DatabaseSync(path);
  database.exec(`CREATE TABLE events (x); PRAGMA application_id = ${applicationId}`);
  database.exec(`PRAGMA user_version = ${version}; PRAGMA journal_mode = WAL`);
  database.close();
}

/** All files of the folder with their bytes. */
function contents({ path }: LedgerFolder): Record<string, string> {
  const names = readdirSync(dirname(path));
  return Object.fromEntries(names.map((name) => [name, readFileSync(`${dirname(path)}/${name}`, 'base64')]));
}

async function fill(
  folder: LedgerFolder,
  batch: Parameters<typeof commit>[1][],
): Promise<readonly LedgerRecord[]> {
  const ledger = await folder.open();
  await commit(await ledger.acquire(rootSession('s-1')), ...batch);
  const records = await ledger.read('s-1');
  await ledger.close();
  return records;
}

function edit({ path }: LedgerFolder, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

async function readingOf(
  copy: LedgerFolder,
  records: readonly LedgerRecord[],
): Promise<'refused' | 'whole' | 'unknown'> {
  try {
    const ledger = await copy.open();
    const read = await ledger.read('s-1');
    // A name that no longer matches is a session nobody knows; a record that is given is always the one written.
    if (read.length === 0) return 'unknown';
    expect(read).toEqual(records);
    return 'whole';
  } catch (error) {
    if (!isSwarmError(error)) throw error;
    expect(error.code).toMatch(/^ledger-/);
    return 'refused';
  }
}
