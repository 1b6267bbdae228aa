import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { madeFolder } from './made-folder.ts';
import { cleanEnvironment, PROJECT } from './run-example.ts';

/** `script` of util-linux gives a program a real terminal. */
const hasScript =
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') === true;

/** Runs the example in a terminal; each answer is typed once its question is seen. */
async function inTerminal(
  args: readonly string[],
  answers: readonly (readonly [question: string, keys: string])[],
) {
  const words = [process.execPath, '--conditions=swarmwright-source', 'examples/repo-review.ts', ...args];
  const terminal = spawn('script', ['-qec', words.join(' '), '/dev/null'], {
    cwd: PROJECT,
    env: { ...cleanEnvironment(), TERM: 'xterm' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const left = [...answers];
  let seen = '';
  let unread = '';
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    seen += text;
    unread += text;
    const [next] = left;
    if (next === undefined || !unread.includes(next[0])) return;
    left.shift();
    unread = '';
    terminal.stdin.write(next[1]);
  });
  const [code] = await once(terminal, 'close');
  return { code, seen };
}

describe.skipIf(!hasScript && process.env['CI'] !== 'true')('the main job in a terminal', () => {
  it('asks the person there, and goes on with the answer', async () => {
    const place = madeFolder({ 'work/a.md': 'text\n' });
    const out = join(place, 'report.md');
    const args = [join(place, 'work'), '--out', out, '--ledger', join(place, 'l.db')];
    const { code, seen } = await inTerminal(args, [['leave it open: ', 'y\r']]);
    expect(code).toBe(0);
    expect(seen).toContain('write_report wants to run with:');
    expect(seen).toContain('written to report.md');
    expect(readFileSync(out, 'utf8')).toContain('# Review of work');
  });

  it('tells the model why not', async () => {
    const place = madeFolder({ 'work/a.md': 'text\n' });
    const out = join(place, 'report.md');
    const args = [join(place, 'work'), '--out', out, '--ledger', join(place, 'l.db')];
    const { code, seen } = await inTerminal(args, [
      ['leave it open: ', 'n\r'],
      ['reads it: ', 'too short\r'],
    ]);
    expect(code).toBe(0);
    expect(seen).toMatch(/_The report: .*too short/);
    expect(existsSync(out)).toBe(false);
  });

  it.each([
    ['Enter', '\r'],
    ['Ctrl-C', '\u0003'],
    ['Ctrl-D', '\u0004'],
  ])('leaves the request open on %s, and says how to go on', async (_, key) => {
    const place = madeFolder({ 'work/a.md': 'text\n' });
    const out = join(place, 'report.md');
    const args = [join(place, 'work'), '--out', out, '--ledger', join(place, 'l.db')];
    const { code, seen } = await inTerminal(args, [['leave it open: ', key]]);
    expect(code).toBe(3);
    expect(seen).toContain('Paused. Decide in any terminal, then go on:');
    expect(seen).toMatch(/-- approve (s-\w+)\.2\.2\.0\.ask --ledger [\s\S]* --resume \1\b/);
    expect(existsSync(out)).toBe(false);
  });
});
