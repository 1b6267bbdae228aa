import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { readCommandLine } from '../../examples/repo-review/command-line.ts';

it('reviews the project, asks before it writes, and keeps the ledger here, unless told otherwise', () => {
  expect(readCommandLine([], '/')).toEqual({
    type: 'go',
    wishes: { folder: '/', mustAsk: true, ledger: resolve('swarmwright.db') },
  });
});

it('takes every option', () => {
  const args = ['.', '--out', 'r.md', '--yes', '--ledger', 'l.db', '--resume', 's-1'];
  expect(readCommandLine(args, '/')).toEqual({
    type: 'go',
    wishes: {
      folder: resolve('.'),
      out: resolve('r.md'),
      mustAsk: false,
      ledger: resolve('l.db'),
      resume: 's-1',
    },
  });
});

it.each([
  [['/no/such/folder'], '/no/such/folder is no folder'],
  [['package.json'], 'package.json is no folder'],
  [['a', 'b'], 'one folder at a time, not 2'],
  [['--no-such-option'], '--no-such-option'],
  [['--out'], '--out'],
  [['--out', '/no/such/folder/x.md'], 'there is no folder /no/such/folder'],
])('refuses %j', (args, complaint) => {
  expect(readCommandLine(args, '/')).toMatchObject({
    type: 'refused',
    message: expect.stringContaining(complaint),
  });
});
