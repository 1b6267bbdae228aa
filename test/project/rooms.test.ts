import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { parseSync } from 'vite';
import { describe, expect, it } from 'vitest';

/** The rooms of ARCHITECTURE.md from the top, each as the paths it owns: a folder ends with a slash. */
const rooms: readonly (readonly string[])[] = readFileSync('ARCHITECTURE.md', 'utf8')
  .split('\n')
  .filter((line) => /^\| `(machines|src)\//.test(line))
  .map((line) => [...(line.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, path]) => path ?? ''));

const files = globSync(['machines/**/*.ts', 'src/**/*.ts']).map((file) => file.replaceAll('\\', '/'));

function roomOf(file: string): number {
  return rooms.findIndex((paths) =>
    paths.some((path) => file === path || (path.endsWith('/') && file.startsWith(path))),
  );
}

/** What a file names in imports of any kind: static, type only, re-exported, dynamic, in a type. */
function importsOf(source: string): readonly string[] {
  const { program, errors } = parseSync('file.ts', source);
  expect(errors).toEqual([]);
  const found: string[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    if ('source' in node && typeof node.source === 'object' && node.source !== null) {
      if ('value' in node.source && typeof node.source.value === 'string') found.push(node.source.value);
    }
    for (const child of Object.values(node)) visit(child);
  };
  visit(program);
  return found;
}

/** Imports of `file` that reach a room below its own, or outside of every room. */
function strays(file: string, source: string): readonly string[] {
  const own = roomOf(file);
  return importsOf(source)
    .filter((specifier) => specifier.startsWith('.'))
    .filter((specifier) => {
      const target = roomOf(normalize(join(dirname(file), specifier)).replaceAll('\\', '/'));
      return target === -1 || target > own;
    });
}

describe('rooms', () => {
  it('are listed from the machines to the command line', () => {
    expect(rooms.at(0)).toEqual(['machines/']);
    expect(rooms.at(-1)).toEqual(['src/cli/']);
    expect(rooms).toHaveLength(17);
  });

  it('own every source file', () => {
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((file) => roomOf(file) === -1)).toEqual([]);
  });

  it('are one folder deep', () => {
    expect(files.filter((file) => /^(machines\/|src\/[^/]+\/).*\//.test(file))).toEqual([]);
  });

  it.each(files)('%s imports only rooms above its own', (file) => {
    expect(strays(file, readFileSync(file, 'utf8'))).toEqual([]);
  });

  it.each([
    ['a static import', "import { a } from '../turn/a.ts';"],
    ['a type import', "import type { A } from '../turn/a.ts';"],
    ['an export from', "export { a } from '../turn/a.ts';"],
    ['an export of all', "export * from '../turn/a.ts';"],
    ['a dynamic import', "const a = await import('../turn/a.ts');"],
    ['an import inside a type', "type A = import('../turn/a.ts').A;"],
  ])('sees %s of a lower room', (_, source) => {
    expect(strays('src/tools/b.ts', source)).toEqual(['../turn/a.ts']);
  });

  it('sees an import from outside of every room', () => {
    expect(strays('src/tools/b.ts', "import '../../test/support/a.ts';")).toEqual([
      '../../test/support/a.ts',
    ]);
  });
});

describe('machines', () => {
  const machines = files.filter((file) => file.startsWith('machines/'));

  it.each(machines)('%s imports xstate and its neighbours only', (file) => {
    const outside = importsOf(readFileSync(file, 'utf8')).filter(
      (specifier) => !/^(xstate(\/.+)?|\.\/[a-z-]+\.ts)$/.test(specifier),
    );
    expect(outside).toEqual([]);
  });
});
