import { execFileSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readTextFile } from '../../examples/repo-review/text-files.ts';
import { madeFolder } from './made-folder.ts';

const never = new AbortController().signal;

function folderWithTraps(): string {
  const outside = madeFolder({ 'secret.txt': 'outside' });
  const folder = madeFolder({
    'a.ts': 'inside',
    'sub/b.ts': 'below',
    'image.png': new Uint8Array([137, 80, 78, 71, 0, 1]),
    'large.txt': 'x'.repeat(1024 * 1024 + 1),
    '.git/config': 'token',
    'node_modules/x/index.js': 'foreign',
    '.env': 'KEY=1',
    '.env.example': 'KEY=',
    'deploy.pem': 'key',
  });
  symlinkSync(join(outside, 'secret.txt'), join(folder, 'link-out.txt'));
  symlinkSync(outside, join(folder, 'folder-out'));
  symlinkSync('a.ts', join(folder, 'link-in.ts'));
  symlinkSync('.env', join(folder, 'innocent.txt'));
  symlinkSync('/dev/zero', join(folder, 'endless'));
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  return folder;
}

it('reads text files of the folder, by links too where they lead inside', async () => {
  const folder = folderWithTraps();
  const read = async (path: string) => {
    const file = await readTextFile(folder, path, never);
    return file.type === 'text' ? file.text : file.why;
  };
  expect(await read('a.ts')).toBe('inside');
  expect(await read('./sub/../sub/b.ts')).toBe('below');
  expect(await read('link-in.ts')).toBe('inside');
  expect(await read('.env.example')).toBe('KEY=');
});

it.each([
  ['../secret.txt', 'outside'],
  ['../no-such-file', 'outside'],
  ['/etc/passwd', 'outside'],
  ['sub/../../x', 'outside'],
  ['link-out.txt', 'outside'],
  ['folder-out/secret.txt', 'outside'],
  ['endless', 'outside'],
  ['a.ts\0.png', 'outside'],
  ['.git/config', 'skipped'],
  ['node_modules/x/index.js', 'skipped'],
  ['.env', 'secret'],
  ['innocent.txt', 'secret'],
  ['deploy.pem', 'secret'],
  ['image.png', 'binary'],
  ['large.txt', 'too-large'],
  ['sub', 'no-file'],
  ['', 'no-file'],
  ['pipe', 'no-file'],
  ['no-such-file', 'missing'],
])('does not read %j: %s', async (path, why) => {
  expect(await readTextFile(folderWithTraps(), path, never)).toEqual({ type: 'refused', why });
});

it('rejects with the reason of its signal', async () => {
  const folder = madeFolder({ 'a.ts': 'a' });
  await expect(readTextFile(folder, 'a.ts', AbortSignal.abort('stopped'))).rejects.toBe('stopped');
});
