import { expect, it } from 'vitest';
import { runProgram } from './run-example.ts';

it('a second runtime decides on what the first one asked, and the tool runs once with the edited input', async () => {
  const { code, stdout, stderr } = await runProgram('examples/approval.ts');
  expect(stderr).toBe('');
  expect(code).toBe(0);
  const lines = stdout.trimEnd().split('\n');
  expect(lines[0]).toBe('first runtime: paused');
  expect(lines[1]).toBe('second runtime: add_note asks with {"line":"the build is green."}');
  expect(lines[2]).toBe('second runtime: completed: The tool said: noted');
  expect(lines.at(-1)).toBe('notes: The build is green, says the clerk.');
});
