import { expect, it } from 'vitest';
import { runProgram } from './run-example.ts';

it('an agent reads real files through a model behind HTTP', async () => {
  const { code, stdout, stderr } = await runProgram('examples/one-agent.ts');
  expect(stderr).toBe('');
  expect(code).toBe(0);
  expect(stdout).toMatch(/list_files: success\nstep 2\n/);
  expect(stdout).toContain('read_example {"name":"approval.ts"}');
  // The answer holds what stands in the files, which the script of the model does not.
  expect(stdout).toContain('There are 4: approval.ts, long-turn.ts, one-agent.ts, repo-review.ts.');
  expect(stdout).toContain('its author says: "A tool that waits for a person:');
  expect(stdout).toMatch(/^3 steps, 2 tool calls, \d+ tokens$/m);
});
