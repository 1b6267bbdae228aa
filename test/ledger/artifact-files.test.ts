import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type ArtifactFiles, createArtifactFiles } from '../../src/ledger/artifact-files.ts';
import type { ArtifactRef } from '../../src/ledger/content.ts';
import { expectError } from '../../src/testing/ledger-samples.ts';
import { ledgerFolder } from './ledger-folder.ts';

const BYTES = new TextEncoder().encode('bytes of an artifact');

interface Stored extends AsyncDisposable {
  readonly root: string;
  readonly files: ArtifactFiles;
  readonly ref: ArtifactRef;
  /** Where the bytes lie. */
  readonly file: string;
}

describe('an artifact in a file', () => {
  test('is named by its hash, two folders deep, for its user only', async () => {
    await using stored = await store();
    const { sha256 } = stored.ref;
    const folders = [sha256.slice(0, 2), sha256.slice(2, 4)];
    expect(readdirSync(stored.root, { recursive: true }).sort()).toEqual([
      folders[0],
      join(...folders),
      join(...folders, sha256),
    ]);
    expect(readFileSync(stored.file)).toEqual(Buffer.from(BYTES));
    for (const path of [stored.file, dirname(stored.file), stored.root]) {
      expect(statSync(path).mode & 0o077).toBe(0);
    }
  });

  test('is stored once, and not touched again', async () => {
    await using stored = await store();
    const before = statSync(stored.file);
    await stored.files.put(BYTES, 'text/html');
    expect(statSync(stored.file)).toMatchObject({ ino: before.ino, mtimeMs: before.mtimeMs });
  });

  test('that was changed is corrupt', async () => {
    await using stored = await store();
    writeFileSync(stored.file, Buffer.from(BYTES).fill('x', 0, 1));
    await expectError(stored.files.get(stored.ref), 'artifact-corrupt');
  });

  test('that was cut short or grew is corrupt', async () => {
    await using stored = await store();
    for (const text of ['', 'bytes', `${'bytes of an artifact'} and more`]) {
      writeFileSync(stored.file, text);
      await expectError(stored.files.get(stored.ref), 'artifact-corrupt');
    }
  });

  test('that is damaged is made good by storing it again', async () => {
    await using stored = await store();
    writeFileSync(stored.file, 'damaged');
    await stored.files.put(BYTES, 'text/plain');
    expect(await stored.files.get(stored.ref)).toEqual(BYTES);
  });

  test('is not followed out of its folder by a link', async () => {
    await using stored = await store();
    const outside = join(dirname(stored.root), 'outside');
    writeFileSync(outside, BYTES);
    rmSync(stored.file);
    symlinkSync(outside, stored.file);
    await expectError(stored.files.get(stored.ref), 'artifact-corrupt');
    await stored.files.put(BYTES, 'text/plain');
    expect(lstatSync(stored.file).isFile()).toBe(true);
    expect(lstatSync(outside).nlink).toBe(1);
  });

  test('is neither written nor read through a folder that is a link', async () => {
    await using stored = await store();
    const outside = join(dirname(stored.root), 'outside');
    mkdirSync(outside);
    rmSync(dirname(stored.file), { recursive: true });
    symlinkSync(outside, dirname(stored.file));
    await expectError(stored.files.put(BYTES, 'text/plain'), 'artifact-corrupt');
    expect(readdirSync(outside)).toEqual([]);
    writeFileSync(join(outside, stored.ref.sha256), BYTES);
    await expectError(stored.files.get(stored.ref), 'artifact-corrupt');
  });

  test('that cannot be written leaves nothing half made', async () => {
    await using folder = await ledgerFolder();
    const root = `${folder.path}-artifacts`;
    // A file where a folder should be.
    writeFileSync(root, '');
    await expectError(createArtifactFiles(root, 1_000).put(BYTES, 'text/plain'), 'ledger-unavailable');
    expect(readdirSync(dirname(root))).toEqual(['ledger.db-artifacts']);
  });

  test('is the same for all who store it at once', async () => {
    await using stored = await store();
    const bytes = new Uint8Array(100_000).fill(7);
    const refs = await Promise.all(Array.from({ length: 8 }, () => stored.files.put(bytes, 'x')));
    expect(new Set(refs.map(({ sha256 }) => sha256)).size).toBe(1);
    const [ref] = refs;
    expect(await stored.files.get(ref ?? expect.unreachable())).toEqual(bytes);
    const left = readdirSync(stored.root, { recursive: true }).filter((name) => String(name).includes('/.'));
    expect(left).toEqual([]);
  });
});

async function store(): Promise<Stored> {
  const folder = await ledgerFolder();
  const root = `${folder.path}-artifacts`;
  const files = createArtifactFiles(root, 1_000_000);
  const ref = await files.put(BYTES, 'text/plain');
  const file = join(root, ref.sha256.slice(0, 2), ref.sha256.slice(2, 4), ref.sha256);
  return { root, files, ref, file, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}
