import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { runProgram } from './run-example.ts';

it('an agent reads real files through a model behind HTTP', async () => {
  const { code, stdout, stderr } = await runProgram('examples/one-agent.ts');
  expect(stderr).toBe('');
  expect(code).toBe(0);
  expect(stdout).toMatch(/list_files: success\nstep 2\n/);
  expect(stdout).toContain('read_example {"name":"approval.ts"}');
  // The answer holds what stands in the files, which the script of the model does not.
  const names = readdirSync('examples').filter((name) => name.endsWith('.ts'));
  expect(stdout).toContain(`There are ${names.length}: ${names.sort().join(', ')}.`);
  expect(stdout).toContain('its author says: "A tool that waits for a person:');
  expect(stdout).toMatch(/^3 steps, 2 tool calls, \d+ tokens$/m);
});
