import { expect, it } from 'vitest';
import { runProgram } from './run-example.ts';

it('CX-04 MA-08 a turn reads twice what its model can hold, and loses nothing', async () => {
  const { code, stdout, stderr } = await runProgram('examples/long-turn.ts');
  expect(stderr).toBe('');
  expect(code).toBe(0);
  expect(stdout.match(/^folded \d+ messages/gm)).toHaveLength(2);
  // 24 chapters of 2 + 7 * (24 + n) words, most of which the model saw before the last fold only.
  const words = Array.from({ length: 24 }, (_, index) => 2 + 7 * (25 + index)).reduce((sum, n) => sum + n);
  expect(stdout).toContain(`All 24 chapters together have ${words} words.`);
  const [, largest, window] = /^largest request: (\d+) of (\d+) tokens$/m.exec(stdout) ?? [];
  expect(Number(largest)).toBeLessThan(Number(window));
});
