import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startProgram } from '../support/child-process.ts';
import { ledgerPath } from '../support/ledgers.ts';

const PROGRAM = 'programs/working-graph.ts';

/** Kills a run while `hold` is at work, and gives what the next processes need. */
async function killedAt(hold: string) {
  const path = await ledgerPath();
  const log = join(path, '..', 'entries.log');
  const args = [path, log, 'kept'];
  const first = startProgram(PROGRAM, [...args, 'run', hold]);
  await first.said(`entered ${hold}`);
  await first.kill();
  const entries = () => readFileSync(log, 'utf8').trim().split('\n');
  const next = (how: 'resume' | 'retry') => startProgram(PROGRAM, [...args, how]).said('result');
  return { entries, next };
}

describe('kill -9 of a process with a graph', { timeout: 60_000 }, () => {
  it('leaves a function that may have acted to whoever decides, and runs nothing settled again', async () => {
    const { entries, next } = await killedAt('pay[1]');
    expect(entries()).toEqual(['pay[0]', 'pay[1]']);
    expect(await next('resume')).toBe('paused');
    expect(entries()).toEqual(['pay[0]', 'pay[1]']);
    expect(await next('retry')).toBe('completed said a!,said b!,said c! 3');
    expect(entries()).toEqual(['pay[0]', 'pay[1]', 'pay[1]', 'pay[2]', 'look', 'all']);
  });

  it('runs a function again that may be, and the join behind it once', async () => {
    const { entries, next } = await killedAt('look');
    expect(await next('resume')).toBe('completed said a!,said b!,said c! 3');
    expect(entries()).toEqual(['pay[0]', 'pay[1]', 'pay[2]', 'look', 'look', 'all']);
  });
});
