import { expect, it } from 'vitest';
import { createToolbox } from '../../examples/many-tools/toolbox.ts';
import { runProgram } from './run-example.ts';

it('an agent with 200 tools finds and uses three, and no request holds more than it found', async () => {
  const { code, stdout, stderr } = await runProgram('examples/many-tools.ts');
  expect(stderr).toBe('');
  expect(code).toBe(0);
  expect(createToolbox()).toHaveLength(200);
  expect(stdout).toMatch(/^200 tools\nstep 1: 1 tools, /);
  const used = [...stdout.matchAll(/^ {2}(\w+__\w+) \{/gm)].map(([, name]) => name);
  expect(used).toEqual(['order__find', 'ticket__create', 'refund__create']);
  for (const [, tools] of stdout.matchAll(/^step \d: (\d+) tools/gm)) expect(Number(tools)).toBeLessThan(8);
  expect(stdout).toMatch(/^used 3 of \d found, recall 100 %$/m);
  expect(stdout.trimEnd()).toMatch(
    /\nThe espresso machine for Ann is refunded \(refund 1\), and ticket 1 tells of it\.$/,
  );
});
