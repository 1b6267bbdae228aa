import { reply } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { fixture, jsonLines, openWorkplace, SLOW, sessionIn } from './cli-process.ts';

const RUN = ['run', fixture('worker'), '--input', 'go'];

describe('swarmwright fork', SLOW, () => {
  it('IN-14 goes on from a point of a session in a new one, and runs no tool again', async () => {
    await using place = await openWorkplace([
      reply().call('note', { text: 'kept' }),
      reply().text('First.'),
      reply().text('Second.'),
    ]);
    const session = sessionIn((await place.run(RUN)).stdout);
    const { stdout: facts } = await place.run(['sessions', 'show', session, '--json']);
    const settled = jsonLines(facts).find(({ type }) => type === 'tool.settled');
    const { code, stdout } = await place.run([
      'fork',
      fixture('worker'),
      session,
      '--at',
      String(settled?.['seq']),
      '--result',
      'lost',
    ]);
    expect(code).toBe(0);
    expect(stdout).toContain('Second.');
    expect(sessionIn(stdout)).not.toBe(session);
    const { stdout: told } = await place.run(['sessions', 'show', sessionIn(stdout)]);
    expect(told).toContain(`forked from ${session} at ${settled?.['seq']}`);
    expect(place.server.requests).toHaveLength(3);
    expect(place.server.requests.at(-1)?.lastText).toBe('lost');
  });

  it.each([
    ['a point that is none', ['--at', '0'], 2, 'A whole number of at least 1 is needed'],
    ['no point', [], 2, '--at'],
    ['two edits', ['--at', '1', '--input', 'a', '--result', 'b'], 2, 'cannot be used with'],
  ])('refuses %s', async (_, words, code, complaint) => {
    await using place = await openWorkplace([]);
    const end = await place.run(['fork', fixture('worker'), 's-any', ...words]);
    expect(end.code).toBe(code);
    expect(end.stderr).toContain(complaint);
  });

  it('tells of a point that the session does not have', async () => {
    await using place = await openWorkplace([reply().text('First.')]);
    const session = sessionIn((await place.run(RUN)).stdout);
    const { code, stdout, stderr } = await place.run(['fork', fixture('worker'), session, '--at', '500']);
    expect(code).toBe(1);
    expect(stdout + stderr).toContain('there is no 500');
  });
});
