import { createGate, reply } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { fixture, openWorkplace, SLOW, sessionIn, type Workplace } from './cli-process.ts';

const SEVERAL = fixture('several');

/** A run of the second agent that is killed while its model is asked. */
async function killedRun(place: Workplace, file = SEVERAL): Promise<string> {
  const run = place.start(['run', file, '--export', 'second', '--input', 'go']);
  const session = sessionIn((await run.line(/began in session/)) ?? '');
  await place.server.arrived(0);
  run.kill('SIGKILL');
  await run.ended;
  return session;
}

const script = () => [reply().text('Half').wait(createGate()), reply().text('Done.')];

describe('resume of a file with several exports', SLOW, () => {
  it('takes the one whose session it is', async () => {
    await using place = await openWorkplace(script());
    const session = await killedRun(place);
    const { code, stdout } = await place.run(['resume', SEVERAL, session]);
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Done\.$/m) });
    expect(stdout).toMatch(/^second: attempt 1 has no answer: its process ended$/m);
    expect(stdout).not.toContain('network');
    const shown = await place.run(['sessions', 'show', session]);
    expect(shown.stdout).toMatch(/^ {2}attempt 1 has no answer: its process ended$/m);
  });

  it('takes that one before the default export', async () => {
    await using place = await openWorkplace([reply().text('Half').wait(createGate()), reply().text('Done.')]);
    const run = place.start(['run', fixture('preferred'), '--export', 'first', '--input', 'go']);
    const session = sessionIn((await run.line(/began in session/)) ?? '');
    await place.server.arrived(0);
    run.kill('SIGKILL');
    await run.ended;
    const { code, stdout } = await place.run(['resume', fixture('preferred'), session]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^first: turn completed$/m);
  });

  it('refuses another one, by its name and as the only one', async () => {
    await using place = await openWorkplace(script());
    const session = await killedRun(place);
    const named = await place.run(['resume', SEVERAL, session, '--export', 'first']);
    expect(named).toMatchObject({
      code: 2,
      stdout: '',
      stderr: `error: the session ${session} is one of second, and --export first is first\n`,
    });
    const other = await place.run(['resume', fixture('worker'), session]);
    expect(other).toMatchObject({ code: 2, stdout: '' });
    expect(other.stderr).toContain(`is one of second, and ${fixture('worker')} exports none of that name`);
    expect(place.server.requests).toHaveLength(1);
  });

  it('asks for a name where the ledger does not know the session', async () => {
    await using place = await openWorkplace([reply().text('Done.')]);
    await place.run(['run', SEVERAL, '--export', 'first', '--input', 'go']);
    const end = await place.run(['resume', SEVERAL, 's-none']);
    expect(end).toMatchObject({ code: 2, stderr: expect.stringContaining('name one with --export NAME') });
  });
});

describe('fork of a file with several exports', SLOW, () => {
  it('takes the one whose session it is, and refuses another', async () => {
    await using place = await openWorkplace([reply().text('First.'), reply().text('Second.')]);
    const session = sessionIn(
      (await place.run(['run', SEVERAL, '--export', 'second', '--input', 'go'])).stdout,
    );
    const words = ['fork', SEVERAL, session, '--at', '2'];
    const refused = await place.run([...words, '--export', 'first']);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('is one of second') });
    const { code, stdout } = await place.run(words);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^second: turn completed$/m);
  });
});
