import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openWorkplace, SLOW } from './cli-process.ts';

describe('swarmwright machines', SLOW, () => {
  it('lists the machines', async () => {
    await using place = await openWorkplace([]);
    const { code, stdout } = await place.run(['machines']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^turn +\d+ states {2}One accepted input to one terminal outcome\.$/m);
    expect(stdout).toMatch(/^tool-call /m);
  });

  it.each(['json', 'svg'])('prints the %s that is in docs/machines', async (format) => {
    await using place = await openWorkplace([]);
    const { stdout } = await place.run(['machines', 'turn', '--format', format]);
    expect(stdout).toBe(readFileSync(`docs/machines/turn.${format}`, 'utf8'));
  });

  it('prints mermaid where no format is said', async () => {
    await using place = await openWorkplace([]);
    const { stdout } = await place.run(['machines', 'step']);
    expect(readFileSync('docs/machines/step.md', 'utf8')).toContain(stdout);
  });

  it('names the machines there are where it is given another name', async () => {
    await using place = await openWorkplace([]);
    const { code, stderr } = await place.run(['machines', 'trun']);
    expect(code).toBe(2);
    expect(stderr).toContain('there is no machine trun; there are: agent, turn');
  });
});
