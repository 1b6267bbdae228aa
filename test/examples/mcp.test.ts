import { expect, it } from 'vitest';
import { runProgram } from './run-example.ts';

it('an agent works with the files of an MCP server, and asks before it writes', async () => {
  const { code, stdout, stderr } = await runProgram('examples/mcp.ts');
  expect(stderr).toBe('');
  expect(code).toBe(0);
  expect(stdout).toBe(
    [
      'the server offers files__read_text_file, files__write_file, files__list_directory',
      'files__list_directory: success',
      'files__read_text_file: success',
      'files__write_file asks, and may',
      'files__write_file: success',
      '',
      '1 line stood there twice.',
      '',
      '# Shopping',
      '',
      '- bread',
      '- pears',
      '',
      '',
    ].join('\n'),
  );
});
