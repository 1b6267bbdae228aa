import { describe, expect, it } from 'vitest';
import { fixture, openWorkplace, SLOW } from './cli-process.ts';

describe('the command line', SLOW, () => {
  it('runs a swarm, with a line for each of its operators', async () => {
    await using place = await openWorkplace([]);
    const { code, stdout, stderr } = await place.run([
      'run',
      fixture('team'),
      '--export',
      'team',
      '--input',
      'go',
    ]);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout.match(/^lead\/worker: turn completed$/gm)).toHaveLength(2);
    expect(stdout).toMatch(/^lead: turn yielded$/m);
    expect(stdout).toMatch(/^Both are done\.$/m);
  });

  it('runs a graph on an input in JSON', async () => {
    await using place = await openWorkplace([]);
    const input = '["a.ts", "b.ts"]';
    const ended = await place.run(['run', fixture('team'), '--export', 'each', '--input', input, '--quiet']);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toContain('Did: a.ts');
    expect(ended.stdout).toContain('Did: b.ts');
  });
});
