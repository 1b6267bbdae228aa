import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

/** One file that breaks one rule, in a place where the rule has to bite. */
interface Plant {
  readonly rule: string;
  readonly file: string;
  readonly source: string;
}

const lines = (count: number): string => Array.from({ length: count }, (_, i) => `  log(${i});`).join('\n');
const longFunction = `export function run(log: (n: number) => void): void {\n${lines(61)}\n}\n`;

const plants: readonly Plant[] = [
  {
    rule: 'lint/style/noRestrictedImports',
    file: 'src/tools/sdk.ts',
    source: "import { tool } from 'ai';\n\nexport const made = tool;\n",
  },
  {
    rule: 'lint/style/noRestrictedImports',
    file: 'src/events/bus.ts',
    source: "import { connect } from '@nats-io/transport-node';\n\nexport const open = connect;\n",
  },
  {
    rule: 'lint/style/noRestrictedImports',
    file: 'src/model/bus.ts',
    source: "import { connect } from '@nats-io/transport-node';\n\nexport const open = connect;\n",
  },
  {
    rule: 'lint/style/noRestrictedImports',
    file: 'src/runtime.ts',
    source:
      "import { createInspector } from '@statelyai/inspect';\n\nexport const inspect = createInspector;\n",
  },
  {
    rule: 'lint/style/noRestrictedImports',
    file: 'src/agent/mcp.ts',
    source: "import { Client } from '@modelcontextprotocol/client';\n\nexport const make = Client;\n",
  },
  {
    rule: 'lint/style/noRestrictedImports',
    file: 'src/agent/entry.ts',
    source: "import { start } from '../index.ts';\n\nexport const run = start;\n",
  },
  {
    rule: 'lint/style/noRestrictedImports',
    file: 'machines/clock.ts',
    source: "import { performance } from 'node:perf_hooks';\n\nexport const now = () => performance.now();\n",
  },
  {
    rule: 'lint/style/noRestrictedImports',
    file: 'machines/outside.ts',
    source: "import { start } from '../src/clock.ts';\n\nexport const run = start;\n",
  },
  {
    rule: 'lint/style/noExcessiveLinesPerFile',
    file: 'test/tools/long.test.ts',
    source: `${Array.from({ length: 401 }, (_, i) => `export const n${i} = ${i};`).join('\n')}\n`,
  },
  { rule: 'lint/complexity/noExcessiveLinesPerFunction', file: 'src/tools/long.ts', source: longFunction },
  {
    rule: 'lint/complexity/useMaxParams',
    file: 'src/tools/params.ts',
    source:
      'export const sum = (a: number, b: number, c: number, d: number, e: number) => a + b + c + d + e;\n',
  },
  {
    rule: 'lint/performance/noReExportAll',
    file: 'src/tools/all.ts',
    source: "export * from './params.ts';\n",
  },
  {
    rule: 'lint/performance/noReExportAll',
    file: 'src/nats/index.ts',
    source: "export * from './params.ts';\n",
  },
  {
    rule: 'lint/performance/noBarrelFile',
    file: 'src/tools/barrel.ts',
    source: "export { sum } from './params.ts';\n",
  },
  {
    rule: 'lint/style/useErrorCause',
    file: 'src/tools/cause.ts',
    source:
      'export function parse(text: string): unknown {\n  try {\n    return JSON.parse(text);\n  } catch (error) {\n    throw new Error(String(error));\n  }\n}\n',
  },
  {
    rule: 'lint/suspicious/noImportCycles',
    file: 'src/tools/cycle-a.ts',
    source: "import { b } from './cycle-b.ts';\n\nexport const a = (): unknown => b;\n",
  },
  {
    rule: 'lint/suspicious/noImportCycles',
    file: 'src/tools/cycle-b.ts',
    source: "import { a } from './cycle-a.ts';\n\nexport const b = (): unknown => a;\n",
  },
  {
    rule: 'lint/nursery/noFloatingPromises',
    file: 'src/tools/floating.ts',
    source:
      'async function save(): Promise<void> {\n  await Promise.resolve();\n}\n\nexport function run(): void {\n  save();\n}\n',
  },
  {
    rule: 'lint/nursery/useExhaustiveSwitchCases',
    file: 'src/tools/exhaustive.ts',
    source:
      "export type Kind = 'a' | 'b';\nexport function name(kind: Kind): string {\n  switch (kind) {\n    case 'a':\n      return 'first';\n  }\n  return 'other';\n}\n",
  },
  {
    rule: 'lint/correctness/noUndeclaredDependencies',
    file: 'src/tools/undeclared.ts',
    source: "import { thing } from 'left-pad';\n\nexport const made = thing;\n",
  },
  {
    rule: 'lint/correctness/noUndeclaredDependencies',
    file: 'src/tools/dev.ts',
    source: "import { check } from 'fast-check';\n\nexport const made = check;\n",
  },
  {
    rule: 'lint/suspicious/noConsole',
    file: 'src/tools/print.ts',
    source: "export const print = (): void => console.log('hello');\n",
  },
  {
    rule: 'lint/style/noDefaultExport',
    file: 'src/tools/default.ts',
    source: 'export default 1;\n',
  },
  {
    rule: 'lint/style/useFilenamingConvention',
    file: 'src/tools/camelCase.ts',
    source: 'export const one = 1;\n',
  },
  {
    rule: 'plugin',
    file: 'src/tools/generic-error.ts',
    source: "export const fail = () => new Error('no code');\n",
  },
  {
    rule: 'plugin',
    file: 'src/mcp/shell.ts',
    source:
      "import { spawn } from 'node:child_process';\n\nexport const run = (line: string) => spawn(line, { shell: true });\n",
  },
  {
    rule: 'plugin',
    file: 'src/cli/line.ts',
    source:
      "import { execSync } from 'node:child_process';\n\nexport const run = (line: string) => execSync(line);\n",
  },
  {
    rule: 'plugin',
    file: 'test/tools/mock.test.ts',
    source: "import { vi } from 'vitest';\n\nvi.mock('../src/clock.ts');\n",
  },
];

/** Files that come near a rule and keep it. */
const allowed: readonly Omit<Plant, 'rule'>[] = [
  {
    file: 'src/mcp/program.ts',
    source:
      "import { spawn } from 'node:child_process';\n\nexport const run = (program: string) => spawn(program, [], { shell: false });\n",
  },
  { file: 'src/model/sdk.ts', source: "import { tool } from 'ai';\n\nexport const made = tool;\n" },
  { file: 'src/index.ts', source: "export { sum } from './tools/params.ts';\n" },
  { file: 'machines/turn.ts', source: longFunction },
  {
    file: 'machines/step.ts',
    source:
      "import { setup } from 'xstate';\nimport { run } from './turn.ts';\n\nexport const made = [setup, run];\n",
  },
  { file: 'test/tools/long-function.test.ts', source: longFunction },
  {
    file: 'test/tools/law.test.ts',
    source: "import { check } from 'fast-check';\n\nexport const made = check;\n",
  },
  { file: 'bench/long-function.ts', source: longFunction },
  {
    file: 'src/cli/print.ts',
    source: "export const print = (): void => console.log('hello');\n",
  },
];

const report = z.object({
  diagnostics: z.array(z.object({ category: z.string(), location: z.object({ path: z.string() }) })),
});

/** Rules found in each planted file, by path below the planted root. */
async function lint(root: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const biome = join(process.cwd(), 'node_modules/.bin/biome');
  const args = ['lint', '--reporter=json', '--max-diagnostics=none', '.'];
  const run = promisify(execFile)(biome, args, { cwd: root, maxBuffer: 64 * 1024 * 1024 });
  // Biome exits with 1 when it finds something, and then execFile rejects with what was printed.
  const { stdout } = await run.catch((failure: { readonly stdout: string }) => failure);
  const found = new Map<string, string[]>();
  for (const { category, location } of report.parse(JSON.parse(stdout)).diagnostics) {
    found.set(location.path, [...(found.get(location.path) ?? []), category]);
  }
  return found;
}

async function plantAll(root: string): Promise<void> {
  const config = JSON.parse(await readFile('biome.json', 'utf8'));
  await writeFile(join(root, 'biome.json'), JSON.stringify({ ...config, vcs: { enabled: false } }));
  await cp('package.json', join(root, 'package.json'));
  await cp('scripts/lint', join(root, 'scripts/lint'), { recursive: true });
  for (const { file, source } of [...plants, ...allowed]) {
    await mkdir(join(root, dirname(file)), { recursive: true });
    await writeFile(join(root, file), source);
  }
}

describe('lint configuration', () => {
  let root = '';
  let found: ReadonlyMap<string, readonly string[]> = new Map();

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'swarmwright-lint-'));
    await plantAll(root);
    found = await lint(root);
  });

  afterAll(() => rm(root, { recursive: true, force: true }));

  it.each(plants)('finds $rule in $file', ({ rule, file }) => {
    expect(found.get(file)).toContain(rule);
  });

  it.each(allowed)('finds nothing in $file', ({ file }) => {
    expect(found.get(file) ?? []).toEqual([]);
  });
});
