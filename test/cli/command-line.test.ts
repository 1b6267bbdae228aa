import { reply } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { fixture, openWorkplace, SLOW } from './cli-process.ts';

const COMMANDS = [
  'run',
  'resume',
  'approve',
  'deny',
  'approvals ls',
  'steer',
  'cancel',
  'pause',
  'abandon',
  'recover',
  'sessions ls',
  'sessions show',
  'tools eval',
  'completion',
];

describe('help', SLOW, () => {
  it.each(COMMANDS)('of %s has examples that begin with the command', async (name) => {
    await using place = await openWorkplace([]);
    const { code, stdout } = await place.run([...name.split(' '), '--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^Usage: swarmwright ${name} `));
    expect(stdout).toMatch(new RegExp(`^Examples:\n  \\$ .*swarmwright ${name}\\b`, 'm'));
  });

  it('names the commands, the ledger and the variable', async () => {
    await using place = await openWorkplace([]);
    const { code, stdout } = await place.run(['--help']);
    expect(code).toBe(0);
    for (const name of COMMANDS) expect(stdout).toContain(` ${name.split(' ')[0]} `);
    expect(stdout).toContain('--ledger PLACE, else SWARMWRIGHT_LEDGER, else ./swarmwright.db');
  });

  it('names the version of the package', async () => {
    await using place = await openWorkplace([]);
    expect(await place.run(['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
  });
});

describe('a wrong command line ends with 2 and says', SLOW, () => {
  it.each([
    [['rum'], /unknown command 'rum'/],
    [['run'], /missing required argument 'file'/],
    [['run', 'a.ts', '--inptu', 'x'], /unknown option '--inptu'/],
    [['run', 'a.ts', '--on-approval', 'maybe'], /Allowed choices are wait, pause/],
    [['run', 'a.ts', '--budget', 'stesp=1'], /stesp is no budget/],
    [['run', 'a.ts', '--budget', 'steps=-1'], /steps needs a number/],
    [['run', 'a.ts', '--session', 'a b'], /A session id matches/],
    [['run', 'a.ts', '--json', '--quiet'], /cannot be used with option/],
    [['approve', 'x', '--edit', '{'], /JSON/],
    [['approve', 'x', '--edit', '[1]'], /a JSON object is needed/],
    [['completion', 'cmd'], /Allowed choices are bash, zsh, fish/],
    [['run', 'missing.ts', '--input', 'x'], /there is no file .*missing\.ts/],
    [['run', '.', '--input', 'x'], /^error: there is no file \S+\n$/],
    [['run', fixture('none'), '--input', 'x'], /does not export an agent/],
    [
      ['run', fixture('several'), '--input', 'x'],
      /several agents \(first, second\); name one with --export NAME/,
    ],
    [
      ['run', fixture('several'), '--export', 'third', '--input', 'x'],
      /exports no third .* it exports: first, second/,
    ],
    [['run', fixture('worker')], /the input is empty/],
  ])('%j', async (words, message) => {
    await using place = await openWorkplace([]);
    const { code, stdout, stderr } = await place.run(words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });
});

describe('run', SLOW, () => {
  it('takes the default export before others', async () => {
    await using place = await openWorkplace([reply().text('Done.')]);
    const { stdout } = await place.run(['run', fixture('preferred'), '--input', 'x']);
    expect(stdout).toMatch(/^second: turn 1 began/);
  });

  it('takes the export that is named', async () => {
    await using place = await openWorkplace([reply().text('Done.')]);
    const { stdout } = await place.run(['run', fixture('preferred'), '--export', 'first', '--input', 'x']);
    expect(stdout).toMatch(/^first: turn 1 began/);
  });

  it('reads its input from standard input', async () => {
    await using place = await openWorkplace([reply().text('Done.')]);
    await place.run(['run', fixture('worker')], { input: 'from a pipe' });
    expect(place.server.requests[0]?.lastText).toBe('from a pipe');
  });

  it('tells of a module that throws, and ends with 1', async () => {
    await using place = await openWorkplace([]);
    const { code, stderr } = await place.run(['run', fixture('throws'), '--input', 'x']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/throws\.ts cannot be loaded: .*this module {2}never loads/);
    expect(stderr).not.toContain('\u001b');
  });
});
