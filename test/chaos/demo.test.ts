import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { endOf, PROJECT, runProgram, startProgram } from '../examples/run-example.ts';
import { isNatsMissing } from '../support/nats-server.ts';

const DEMO = join(PROJECT, 'scripts/chaos-demo.ts');

/** A folder for what a program leaves, which is to be nothing. */
function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'swm-demo-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Processes that were started with this folder for their files. */
function processesWith(folder: string): readonly string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`TMPDIR=${folder}`);
    } catch {
      return false;
    }
  });
}

describe('the demo of chaos', () => {
  it.skipIf(isNatsMissing())('loses nothing and does nothing twice', async () => {
    const TMPDIR = freshFolder();
    const { code, stdout } = await runProgram(DEMO, ['--seconds', '4', '--seed', '5'], { env: { TMPDIR } });
    expect(stdout).toMatch(/^The page: http:\/\/127\.0\.0\.1:\d+\/#token=/m);
    expect(stdout).not.toContain('FAIL');
    const [, given = '', ended] =
      /submitted (\d+) {2}settled (\d+) {2}lost 0 {2}doubled 0 {2}kills \d+\s*$/.exec(stdout) ?? [];
    expect(Number(given)).toBeGreaterThan(0);
    expect(ended).toBe(given);
    expect(code).toBe(0);
    expect([readdirSync(TMPDIR), processesWith(TMPDIR)]).toEqual([[], []]);
  });

  it.skipIf(isNatsMissing() || process.platform !== 'linux')(
    'leaves nothing behind when it is stopped',
    async () => {
      const TMPDIR = freshFolder();
      const demo = startProgram(DEMO, ['--seconds', '300', '--no-page'], { env: { TMPDIR } });
      const ended = endOf(demo);
      if (demo.stdout === null) throw new Error('it has no output');
      for await (const line of createInterface({ input: demo.stdout })) if (line.includes('submitted')) break;
      demo.kill('SIGINT');
      expect(await ended).toMatchObject({ code: 130 });
      expect([readdirSync(TMPDIR), processesWith(TMPDIR)]).toEqual([[], []]);
    },
  );

  it('says what is missing where there is no nats-server', async () => {
    const cwd = freshFolder();
    const { code, stdout } = await runProgram(DEMO, [], { cwd, env: { PATH: '', NATS_SERVER_BIN: '' } });
    expect([code, stdout]).toEqual([2, expect.stringContaining('This needs nats-server 2.12 or later')]);
  });

  it('tells its options instead of a guess', async () => {
    const { code, stdout } = await runProgram(DEMO, ['--seconds', 'soon']);
    expect([code, stdout]).toEqual([2, expect.stringContaining('--seconds N')]);
  });
});
