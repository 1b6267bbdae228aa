import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openFolder } from '../../examples/repo-review/folder.ts';
import { pageOf } from '../../examples/repo-review/page.ts';
import { madeFolder } from './made-folder.ts';

const never = new AbortController().signal;

it('lists text files, upper folders first, and counts what it leaves out', async () => {
  const path = madeFolder({
    'z.md': 'one\ntwo\n',
    'a/deep/c.txt': 'one',
    'a/b.txt': '',
    'a/picture.bin': new Uint8Array([1, 0, 2]),
    'node_modules/x.js': 'x',
    'a/node_modules/y.js': 'y',
    '.env': 'KEY=1',
  });
  // A loop, and a way out.
  symlinkSync('..', join(path, 'a/up'));
  symlinkSync('/etc/passwd', join(path, 'passwd'));
  const folder = await openFolder(path);
  expect(await folder.survey(never)).toEqual({
    files: [
      { path: 'z.md', lines: 2, bytes: 8 },
      { path: 'a/b.txt', lines: 0, bytes: 0 },
      { path: 'a/deep/c.txt', lines: 1, bytes: 3 },
    ],
    leftOut: { folder: 2, link: 2, unreadable: 0, binary: 1, secret: 1 },
    isComplete: true,
  });
});

it('says that a folder with too many files was not seen whole', async () => {
  const names = Array.from({ length: 5_010 }, (_, index) => [`f${index}.txt`, 'x'] as const);
  const folder = await openFolder(madeFolder(Object.fromEntries(names)));
  const { files, isComplete } = await folder.survey(never);
  expect(files).toHaveLength(5_000);
  expect(isComplete).toBe(false);
});

it('surveys again after one that was stopped', async () => {
  const folder = await openFolder(madeFolder({ 'a.txt': 'a' }));
  await expect(folder.survey(AbortSignal.abort('stopped'))).rejects.toBe('stopped');
  expect((await folder.survey(never)).files).toHaveLength(1);
});

it('opens no file as a folder', async () => {
  const path = madeFolder({ 'a.txt': 'a' });
  await expect(openFolder(join(path, 'a.txt'))).rejects.toThrow('is no folder');
});

it('pages of a list hold all of it, none above its bounds, and end', () => {
  const all = Array.from({ length: 50 }, (_, index) => 'x'.repeat(index));
  const seen: string[] = [];
  let from: number | undefined = 0;
  while (from !== undefined) {
    const { items, next }: { items: readonly string[]; next?: number } = pageOf(all, from, {
      items: 7,
      bytes: 100,
    });
    expect(items.length).toBeLessThanOrEqual(7);
    if (items.length > 1) expect(JSON.stringify(items).length).toBeLessThan(100 + items.length + 2);
    seen.push(...items);
    from = next;
  }
  expect(seen).toEqual(all);
});
