import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_LIMITS } from 'swarmwright';
import { EFFECT_HOOKS, GATE_HOOKS, OBSERVER_HOOKS } from 'swarmwright/machines';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROJECT, runProgram } from './examples/run-example.ts';

const README = readFileSync(join(PROJECT, 'README.md'), 'utf8');

interface Block {
  readonly language: string;
  readonly text: string;
}

const BLOCKS: readonly Block[] = [...README.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(
  ([, language = '', text = '']) => ({ language, text }),
);
/** Name in the first line -> text. */
const PROGRAMS = new Map(
  blocksIn('ts').map((text) => [/^\/\/ ([\w-]+\.ts)\n/.exec(text)?.[1] ?? `without a name: ${text}`, text]),
);
const COMMANDS = blocksIn('sh').flatMap((text) => text.trim().split('\n'));

function blocksIn(language: string): readonly string[] {
  return BLOCKS.filter((block) => block.language === language).map(({ text }) => text);
}

/** What each program prints. */
const OUTPUT: Readonly<Record<string, RegExp>> = {
  'hello.ts': /^It has 20\.\n$/,
  'agent.ts': /^$/,
  'approve.ts':
    /^add_note \{"line":"The build is green\."\}\nI was told: noted\nI was told: .*No secrets in notes\.\n$/,
  'steer.ts': /^true\ncompleted\nchanged my mind\n$/,
  'graph.ts': /^2 files: a\.ts is fine, b\.ts is fine; lint: no linter here\nflowchart TD\n$/,
  'swarm.ts': /^w1\.1\.0\.1 completed\nw1\.1\.0\.2 completed\nBoth are fine\.\n$/,
  'ask.ts': /^(lead > (tester|linter) completed\n){2}lead completed\n12 pass, no finding\n$/,
  'handoff.ts':
    /^Paid back\.\nthe run may have 3 handoffs, and front > billing > front > billing > front would be one more\n$/,
  'watch.ts':
    /^add_note \{ line: 'The build is green\.' \}\nsuccess \{[\s\S]*Green\.[\s\S]*\}\nI was told: noted\n.*\ntrue\n$/,
  'page.ts': /^http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]+\n$/,
  'see.ts': /^step-limit\ntrue\n$/,
  'fork.ts': /^I was told: the disk is full\n$/,
  'nats.ts': /^paused\ndisabled\n$/,
  'find.ts': /^It is 11\.2\.\n\[\s+'tool_search',(\s+'tool_search exchange_rate',?){2}\s+\]\n$/,
  'mcp.ts': /^It begins: \/\/ mcp\.ts\n$/,
  'output.ts': /^8\n$/,
  'hook.ts':
    /^add_note is rejected\n(completed by fact s-\w+:\d+\n|I was told: .*Notes are short here\.\n){2}$/,
  'clerk-test.ts': /^passed\n$/,
};

let folder = '';

beforeAll(() => {
  // Below the project, so that the programs find it by its name.
  mkdirSync(join(PROJECT, '.cache'), { recursive: true });
  folder = mkdtempSync(join(PROJECT, '.cache/readme-'));
  for (const [name, text] of PROGRAMS) writeFileSync(join(folder, name), text);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('programs of the README', () => {
  it('are the ones that are known here', () => {
    expect([...PROGRAMS.keys()].sort()).toEqual([...Object.keys(OUTPUT), 'deploy.ts'].sort());
    expect(BLOCKS.filter(({ language }) => !['ts', 'sh', 'mermaid'].includes(language))).toEqual([]);
  });

  it('hold to the types', { timeout: 120_000 }, () => {
    const config = { extends: '../../tsconfig.json', include: ['*.ts'] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const tsc = join(PROJECT, 'node_modules/.bin/tsc');
    const { status, stdout } = spawnSync(tsc, ['-p', folder, '--pretty', 'false'], { encoding: 'utf8' });
    expect(stdout).toBe('');
    expect(status).toBe(0);
  });

  it.each(Object.entries(OUTPUT))('%s runs as it stands', async (name, output) => {
    const { code, stdout, stderr } = await runProgram(name, [], { cwd: folder });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(output);
  });

  it('the first one has twenty lines', () => {
    const lines = (PROGRAMS.get('hello.ts') ?? '').trimEnd().split('\n');
    expect(lines).toHaveLength(20);
  });

  it('the one that crashes dies in its tool, and settles by a decision the second time', async () => {
    const first = await runProgram('deploy.ts', [], { cwd: folder });
    expect(first.signal).toBe('SIGKILL');
    const second = await runProgram('deploy.ts', [], { cwd: folder });
    expect(second).toMatchObject({ code: 0, stderr: '' });
    expect(second.stdout).toBe("[ 'deploy' ]\nResult: It is deployed: I looked.\n");
  });
});

/** Runs a line of the README as it would be typed, with what a person fills in. */
async function typed(line: string, filled: Readonly<Record<string, string>> = {}) {
  const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word = '']) => quoted ?? word);
  const args = words.slice(2).map((word) => filled[word] ?? word);
  return runProgram(join(PROJECT, 'src/cli/main.ts'), args, { cwd: folder });
}

describe('commands of the README', () => {
  const isOurs = (line: string) => line.startsWith('npx swarmwright ');

  it('lead from a run that pauses to one that is done', { timeout: 120_000 }, async () => {
    const filled: Record<string, string> = {};
    const ends: (readonly [command: string, code: number | null])[] = [];
    for (const line of COMMANDS.filter(isOurs)) {
      const { code, stdout, stderr } = await typed(line, filled);
      expect(stderr).toBe('');
      filled['SESSION'] ??= /session (s-\w+)/.exec(stdout)?.[1] ?? 'none';
      filled['ID'] ??= /swarmwright approve (\S+)/.exec(stdout)?.[1] ?? 'none';
      ends.push([line.split(' ').slice(2, 4).join(' '), code]);
    }
    expect(ends).toEqual([
      ['run agent.ts', 3],
      ['approvals ls', 0],
      ['approve ID', 0],
      ['resume agent.ts', 0],
      ['sessions ls', 0],
      ['sessions show', 0],
    ]);
    const notes = readFileSync(join(folder, 'notes.txt'), 'utf8');
    expect(notes.endsWith('The build is green.\n')).toBe(true);
  });

  it('name every command there is', async () => {
    const { stdout } = await typed('npx swarmwright --help');
    const known = [...stdout.matchAll(/^ {2}([a-z]+)(?: \[| <| {2})/gm)].map(([, name]) => name);
    const table = README.slice(README.indexOf('| command |'), README.indexOf('`swarmwright help COMMAND`'));
    const named = [...table.matchAll(/`([a-z]+)`/g)].map(([, name]) => name);
    expect(known.length).toBeGreaterThan(5);
    expect([...named, 'help'].sort()).toEqual(known.sort());
  });

  it('are otherwise those of npm, and there', () => {
    const manifest = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8'));
    const { name, version, scripts } = manifest;
    expect(COMMANDS.filter((line) => !isOurs(line))).toEqual([
      'npm ci && npm start',
      'npm ci && npm test',
      'npm pack',
      'npm pkg set type=module',
      `npm install ../${name}/${name}-${version}.tgz zod`,
    ]);
    const used = [...README.matchAll(/npm run (?:-s )?([\w:-]+)|npm (start|test)\b/g)].map(
      ([, script, short]) => script ?? short ?? '',
    );
    expect(used.filter((script) => scripts[script] === undefined)).toEqual([]);
  });
});

describe('facts of the README', () => {
  it('names hooks that are there', () => {
    const known = new Set<string>([...OBSERVER_HOOKS, ...GATE_HOOKS, ...Object.keys(EFFECT_HOOKS)]);
    const named = [...README.matchAll(/\b(?:on|before|after)[A-Z]\w+/g)].map(([hook]) => hook);
    const others = new Set(['onApproval', 'onError', 'onFault']);
    expect(named.filter((hook) => !known.has(hook) && !others.has(hook))).toEqual([]);
  });

  it('names what each entry point exports', async () => {
    const rows = [...README.matchAll(/^\| `(swarmwright[\w/]*)` \| (.*) \|$/gm)];
    expect(rows.length).toBeGreaterThan(3);
    for (const [, entry = '', what = ''] of rows) {
      const exported = Object.keys(await import(entry));
      const named = [...what.matchAll(/`(\w+)`/g)].map(([, name]) => name);
      expect(named.filter((name) => name !== undefined && !exported.includes(name))).toEqual([]);
    }
  });

  it('tells the defaults of bounds', () => {
    const { steps, attempts, approvals } = DEFAULT_LIMITS;
    const hours = approvals.expiryMs / 3_600_000;
    expect(README.replace(/\s+/g, ' ')).toContain(
      `such as ${steps} steps a turn, ${attempts.max} attempts a step and ${hours} h for an approval`,
    );
  });

  it('links to files that are there', () => {
    const links = [...README.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path = '']) => path);
    expect(links.length).toBeGreaterThan(5);
    expect(links.filter((path) => !existsSync(join(PROJECT, path)))).toEqual([]);
  });

  it('asks for the Node that the package asks for', () => {
    const { engines } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8'));
    expect(engines.node).toBe('>=22.23.3 <23 || >=24.21');
    expect(README).toContain('Needs Node 22.23.3 or a later 22, or 24.21 and later');
  });
});
