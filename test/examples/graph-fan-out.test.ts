import { expect, it } from 'vitest';
import { runProgram } from './run-example.ts';

it('a graph fans out over folders, collects what failed, and shortens its report', async () => {
  const { code, stdout, stderr } = await runProgram('examples/graph-fan-out.ts');
  expect(stderr).toBe('');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^flowchart TD\n/);
  const lines = stdout.trimEnd().split('\n');
  const at = (line: string) => lines.indexOf(line);
  // All three are at work before any of them is done.
  expect(Math.max(...[0, 1, 2].map((part) => at(`parts[${part}] begins`)))).toBeLessThan(
    Math.min(...[0, 1, 2].map((part) => at(`parts[${part}] completed`))),
  );
  expect(lines).toContain('license failed');
  expect(lines).toContain('short#2 completed');
  expect(lines).not.toContain('short#3 begins');
  expect(lines.at(-2)).toMatch(/^The folder bench is part of the project\. \(\d+\)$/);
  expect(lines.at(-1)).toBe('There is no file COPYING.');
});
