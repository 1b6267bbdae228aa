import { reply } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { fixture, jsonLines, openWorkplace, SLOW, sessionIn } from './cli-process.ts';

const RUN = ['run', fixture('worker'), '--input', 'Please go'];

describe('sessions', SLOW, () => {
  it('are listed with agent and state', async () => {
    await using place = await openWorkplace([reply().text('One.'), reply().call('remove', { path: 'a' })]);
    const first = sessionIn((await place.run(RUN)).stdout);
    const second = sessionIn((await place.run([...RUN, '--on-approval', 'pause'])).stdout);
    const { code, stdout } = await place.run(['sessions', 'ls']);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      new RegExp(`^${first} +worker +idle +\\S+ \\S+\n${second} +worker +open +\\S+ \\S+\n$`),
    );
    const listed = jsonLines((await place.run(['sessions', 'ls', '--json'])).stdout);
    expect(listed).toMatchObject([{ sessionId: first, agent: 'worker' }, { sessionId: second }]);
  });

  it('are shown as what was said and done', async () => {
    await using place = await openWorkplace([
      reply()
        .text('First I look.')
        .call('note', { text: 'kept\u001b[2J' })
        .call('remove', { path: 'a' })
        .usage(40, 7),
      reply().text('All done.').usage(60, 3),
    ]);
    const run = place.start(RUN);
    const session = sessionIn((await run.line(/began in session/)) ?? '');
    await run.line(/waits for approval/);
    await place.run(['deny', `${session}.1.1.1.ask`, '--reason', 'keep it']);
    await run.ended;
    const { code, stdout } = await place.run(['sessions', 'show', session]);
    expect(code).toBe(0);
    const times = stdout.replace(/\d+(\.\d)? m?s\b/g, 'SOME ms').replace(/\d{4}-\S+Z/, 'THEN');
    expect(times.replace(/\d+ records/, 'SOME records')).toBe(`${session}  worker  THEN
  1 turn, SOME records

turn 1  completed  2 steps  2 calls  100 in, 10 out  SOME ms
  user:
    Please go
  worker:
    First I look.
  note {"text":"kept\\u001b[2J"}
    success in SOME ms
    kept
  remove {"path":"a"}
    denied by command line: keep it
    refused
    remove was denied and did not run: keep it
  worker:
    All done.
`);
  });

  it('are given whole as JSON', async () => {
    await using place = await openWorkplace([reply().text('One.')]);
    const session = sessionIn((await place.run(RUN)).stdout);
    const records = jsonLines((await place.run(['sessions', 'show', session, '--json'])).stdout);
    expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index + 1));
    expect(records.map(({ type }) => type)).toContain('assistant.message');
  });

  it('go on with run --session', async () => {
    await using place = await openWorkplace([reply().text('One.'), reply().text('Two.')]);
    const session = sessionIn((await place.run(RUN)).stdout);
    await place.run(['run', fixture('worker'), '--input', 'And now?', '--session', session]);
    expect(place.server.requests.at(-1)?.messages.map(({ text }) => text)).toEqual([
      'Please go',
      'One.',
      'And now?',
    ]);
  });

  it('that are unknown fail with 1', async () => {
    await using place = await openWorkplace([reply().text('One.')]);
    await place.run(RUN);
    expect(await place.run(['sessions', 'show', 's-none'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('unknown-session'),
    });
  });

  it('lie where --ledger says, else SWARMWRIGHT_LEDGER, else in the folder', async () => {
    await using place = await openWorkplace([
      reply().text('One.'),
      reply().text('Two.'),
      reply().text('Three.'),
    ]);
    const env = { SWARMWRIGHT_LEDGER: 'by-variable.db' };
    const byOption = sessionIn((await place.run([...RUN, '--ledger', 'by-option.db'], { env })).stdout);
    const byVariable = sessionIn((await place.run(RUN, { env })).stdout);
    const byDefault = sessionIn((await place.run(RUN)).stdout);
    const list = async (ledger: string) => (await place.run(['sessions', 'ls', '--ledger', ledger])).stdout;
    expect(await list('by-option.db')).toContain(byOption);
    expect(await list('by-variable.db')).toContain(byVariable);
    expect(await list('swarmwright.db')).toContain(byDefault);
  });

  it('are not made by looking for them', async () => {
    await using place = await openWorkplace([]);
    for (const words of [['sessions', 'ls'], ['approvals', 'ls'], ['recover']]) {
      const { code, stderr } = await place.run(words);
      expect(code).toBe(1);
      expect(stderr).toContain(`there is no ledger at ${place.folder}/swarmwright.db`);
    }
  });
});
