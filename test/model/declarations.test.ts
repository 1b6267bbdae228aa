import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
let out = '';

beforeAll(async () => {
  out = mkdtempSync(join(tmpdir(), 'declarations-'));
  const args = [
    '-p',
    'tsconfig.build.json',
    '--outDir',
    out,
    '--emitDeclarationOnly',
    '--declarationMap',
    'false',
  ];
  // The exit code tells of type errors anywhere; what is looked at here is what was written.
  await new Promise((done) => {
    execFile(join(root, 'node_modules/.bin/tsc'), [...args, '--sourceMap', 'false'], { cwd: root }, done);
  });
}, 120_000);
afterAll(() => rmSync(out, { recursive: true, force: true }));

/** Names of the packages and files a declaration takes types from. */
function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(/(?:from\s+|import\(|import\s+|<reference types=)["']([^"']+)["']/g)].map(
    ([, name = '']) => name,
  );
}

/** `file` and every declaration it leads to, with the packages named on the way. */
function packagesBehind(file: string, seen = new Set<string>()): string[] {
  if (seen.has(file) || !existsSync(file)) return [];
  seen.add(file);
  return importsOf(file).flatMap((name) =>
    name.startsWith('.')
      ? packagesBehind(join(dirname(file), name.replace(/\.[jt]s$/, '.d.ts')), seen)
      : [name],
  );
}

describe('MA-07 the declarations of the models', () => {
  it('name no type of the AI SDK, in no file', () => {
    const folder = join(out, 'src/model');
    const files = readdirSync(folder).filter((file) => file.endsWith('.d.ts'));
    expect(files).toContain('open-ai-compatible.d.ts');
    expect(files).toContain('from-ai-sdk.d.ts');
    for (const file of files) {
      const foreign = importsOf(join(folder, file)).filter(
        (name) => name === 'ai' || /^(?:ai|@ai-sdk)\//.test(name),
      );
      expect([file, ...foreign]).toEqual([file]);
      expect(readFileSync(join(folder, file), 'utf8')).not.toMatch(/LanguageModelV\d|SharedV\d/);
    }
  });

  it.each(['open-ai-compatible', 'from-ai-sdk', 'adapter'])('%s leads to zod only', (stem) => {
    const packages = packagesBehind(join(out, 'src/model', `${stem}.d.ts`));
    expect(new Set(packages.filter((name) => !name.startsWith('node:')))).toEqual(new Set(['zod']));
  });
});
