import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRuntime, sqliteLedger } from 'swarmwright';
import { describe, expect, it } from 'vitest';
import { ofType } from '../support/run-events.ts';
import { madeFolder } from './made-folder.ts';
import { type Ended, runProgram } from './run-example.ts';

/** Not written out: this project is what the example reviews by default. */
const LATER = ['TO', 'DO'].join('');
const EXAMPLE = 'examples/repo-review.ts';

/** A folder whose faults are known. */
function knownFolder(): string {
  const longest = Array.from({ length: 90 }, (_, index) => `const line${index} = ${index};`);
  longest[41] = `          const wide = '${'w'.repeat(120)}';`;
  return madeFolder({
    'package.json': '{ "name": "known" }\n',
    'src/parse.ts': `export const parse = () => 1; // ${LATER}: handle empty input\n`,
    'src/longest.ts': `${longest.join('\n')}\n`,
    'src/print.ts': `const ${LATER} = 'no comment';\n//${' FIXME'} wrong width\n#${' HACK'}\n`,
    'test/parse.test.ts': 'parse();\n',
    'logo.png': new Uint8Array([137, 80, 0, 1]),
    'node_modules/dep/index.js': `// ${LATER} of somebody else\n`,
  });
}

function review(ledger: string, ...args: readonly string[]): Promise<Ended> {
  return runProgram(EXAMPLE, ['--ledger', ledger, ...args]);
}

function sessionIn({ stdout }: Ended): string {
  return /session (s-\w+)/.exec(stdout)?.[1] ?? '';
}

describe('the main job', { timeout: 60_000 }, () => {
  it('reports what is in the folder, by real tools and through a ledger file', async () => {
    const ledger = join(madeFolder(), 'sessions.db');
    const folder = knownFolder();
    const ended = await review(ledger, folder);
    const { stdout } = ended;
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(stdout.split('\n')[0]).toMatch(/^Model: a scripted stand-in in a process of its own/);
    expect(stdout).toContain(`Folder: ${folder}`);
    expect(stdout).toMatch(/^ {2}list_files: success after \d+ ms$/m);
    expect(stdout).toContain('read_file {"path":"src/longest.ts"}');
    expect(stdout).toContain(
      '5 text files, 96 lines, 1,960 bytes. Left out: 1 binary file, 1 folder of dependencies, builds or version control.',
    );
    expect(stdout).toContain('Left for later in 2 files: 1 FIXME, 1 HACK, 1 TODO.\n   - src/parse.ts:1 ');
    expect(stdout).toContain(
      '2 of 3 source files have no test named after them.\n   - src/longest.ts (90 lines)',
    );
    expect(stdout).toContain(
      'Longest source file: src/longest.ts, 90 lines. Its longest line is 42 (146 characters), its deepest 42 (10 columns).',
    );
    expect(stdout).toContain('No README.');
    expect(stdout).not.toContain('somebody else');
    const session = sessionIn(ended);
    expect(stdout).toContain(`sessions show ${session} --ledger ${ledger}`);
    await using runtime = createRuntime({ ledger: sqliteLedger({ path: ledger }) });
    // One reviewer a part, each in a session of its own, with tools that it had to find.
    const parts = (await runtime.sessions.list({ root: session })).filter(
      ({ agent }) => agent === 'reviewer',
    );
    expect(parts.map(({ parentId }) => parentId)).toEqual([session, session, session]);
    for (const { sessionId } of parts) {
      const calls = ofType(await runtime.sessions.read(sessionId), 'tool.settled');
      expect(calls.map(({ data }) => data.toolName)).toEqual(
        expect.arrayContaining(['list_files', 'tool_search', 'search_files', 'submit_output']),
      );
    }
  });

  it('writes the report without asking where it was told not to ask', async () => {
    const place = madeFolder({ 'work/a.md': 'text\n' });
    const out = join(place, 'report.md');
    const ended = await review(join(place, 'l.db'), join(place, 'work'), '--out', out, '--yes');
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(out, 'utf8')).toMatch(/^# Review of work\n\n1 text file, 1 line, 5 bytes\.\n/);
    expect(ended.stdout).toContain('_The report: written to report.md._');
  });

  it('pauses before it writes, and goes on once somebody approved', async () => {
    const place = madeFolder({ 'work/a.md': 'text\n' });
    const out = join(place, 'report.md');
    const ledger = join(place, 'l.db');
    const args = [join(place, 'work'), '--out', out];
    const paused = await review(ledger, ...args);
    expect(paused).toMatchObject({ code: 3, stderr: '' });
    expect(existsSync(out)).toBe(false);
    const session = sessionIn(paused);
    const request = /-- approve (\S+) --ledger/.exec(paused.stdout)?.[1] ?? '';
    const { approvals, close } = createRuntime({ ledger: sqliteLedger({ path: ledger }) });
    await approvals.decide(request, { decision: 'approve' });
    await close();
    const done = await review(ledger, ...args, '--resume', session);
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(done.stdout).toMatch(/the turn goes on\n {2}write_report: success/);
    // Nothing that was reviewed is reviewed again.
    expect(done.stdout).not.toContain('reviewer');
    expect(readFileSync(out, 'utf8')).toContain('# Review of work');
  });

  it('tells the model of a denial, and still prints the report', async () => {
    const place = madeFolder({ 'work/a.md': 'text\n' });
    const out = join(place, 'report.md');
    const ledger = join(place, 'l.db');
    const paused = await review(ledger, join(place, 'work'), '--out', out);
    const request = /-- approve (\S+) --ledger/.exec(paused.stdout)?.[1] ?? '';
    const { approvals, close } = createRuntime({ ledger: sqliteLedger({ path: ledger }) });
    await approvals.decide(request, { decision: 'deny', reason: 'not today' });
    await close();
    const done = await review(ledger, join(place, 'work'), '--out', out, '--resume', sessionIn(paused));
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(done.stdout).toContain('# Review of work');
    expect(done.stdout).toContain('not today');
    expect(existsSync(out)).toBe(false);
  });

  it('has something to say of an empty folder, and of names that are hostile to a terminal', async () => {
    const place = madeFolder({ 'hostile/\u001b[2J.ts': `// ${LATER} \u001b]0;title\u0007\n` });
    mkdirSync(join(place, 'empty "q"'));
    const empty = await review(join(place, 'l.db'), join(place, 'empty "q"'));
    expect(empty).toMatchObject({ code: 0, stderr: '' });
    expect(empty.stdout).toContain('# Review of empty "q"\n\nNo text files.');
    const hostile = await review(join(place, 'l.db'), join(place, 'hostile'));
    expect(hostile).toMatchObject({ code: 0, stderr: '' });
    expect(hostile.stdout).toContain('Left for later in 1 file: 1 TODO.');
    expect(hostile.stdout).not.toContain('\u001b');
    expect(hostile.stdout).not.toContain('\u0007');
  });

  it('sees a folder of many pages whole', async () => {
    const names = Array.from({ length: 650 }, (_, index) => [`src/f${index}.ts`, `// ${LATER}\n`] as const);
    const place = madeFolder(Object.fromEntries(names));
    const { code, stdout } = await review(join(madeFolder(), 'l.db'), place);
    expect(code).toBe(0);
    expect(stdout).toContain('650 text files, 650 lines');
    expect(stdout).toContain('Left for later in 650 files: 650 TODO.');
    expect(stdout).toContain('and 645 more');
    expect(stdout).toContain('No tests for 650 source files.');
  });

  it('refuses what it does not understand, with its usage', async () => {
    const { code, stdout, stderr } = await runProgram(EXAMPLE, ['--no-such-option']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('--no-such-option');
    expect(stderr).toContain('Usage: npm start');
  });

  it('names what is missing where an endpoint is half given', async () => {
    const env = { OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' };
    const ended = await runProgram(EXAMPLE, ['--ledger', join(madeFolder(), 'l.db')], { env });
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toContain('SWARMWRIGHT_MODEL is not');
  });

  it('leaves a file that is no ledger alone', async () => {
    const place = madeFolder({ 'note.txt': 'mine' });
    const { code, stdout, stderr } = await review(join(place, 'note.txt'), place);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('note.txt');
    expect(readFileSync(join(place, 'note.txt'), 'utf8')).toBe('mine');
  });
});
