import { expect, it } from 'vitest';
import { runProgram } from './run-example.ts';

it('a supervisor schedules works over HTTP, is woken once, and answers with what they found', async () => {
  const { code, stdout, stderr } = await runProgram('examples/swarm.ts');
  expect(stderr).toBe('');
  expect(code).toBe(0);
  expect(stdout.match(/^lead > surveyor: completed$/gm)).toHaveLength(3);
  expect(stdout.match(/^lead: was woken$/gm)).toHaveLength(1);
  // Measured by the tools, which the script of the model does not know.
  expect(stdout).toMatch(/^machines: \d+ files, \d+ lines\nsrc\/graph: \d+ files, \d+ lines\nsrc\/turn: /m);
  expect(stdout).toMatch(/^editor: 150 tokens in, 20 out$/m);
});
