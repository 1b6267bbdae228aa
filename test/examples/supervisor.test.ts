import { expect, it } from 'vitest';
import { runProgram } from './run-example.ts';

it('a lead asks two agents at the same time and merges what they found', async () => {
  const { code, stdout, stderr } = await runProgram('examples/supervisor.ts');
  expect(stderr).toBe('');
  expect(code).toBe(0);
  const lines = stdout.trimEnd().split('\n');
  const at = (line: string) => lines.indexOf(line);
  expect(lines[0]).toBe('lead: began');
  // Both are at work before either is done.
  const began = Math.max(at('lead > surveyor: began'), at('lead > reader: began'));
  const ended = Math.min(at('lead > surveyor: completed'), at('lead > reader: completed'));
  expect(began).toBeGreaterThan(0);
  expect(ended).toBeGreaterThan(began);
  expect(lines).toContain('lead > surveyor: list_folder success');
  expect(stdout).toMatch(/^src holds \d+ entries; test holds \d+ entries; README.md has \d+ lines$/m);
  expect(lines.slice(-3).toSorted()).toEqual([
    'lead: 240 tokens in, 30 out',
    'reader: 240 tokens in, 30 out',
    'surveyor: 240 tokens in, 30 out',
  ]);
});
