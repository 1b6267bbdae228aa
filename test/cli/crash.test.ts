import { reply } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { fixture, jsonLines, openWorkplace, SLOW, sessionIn, type Workplace } from './cli-process.ts';

const RUN = ['run', fixture('worker'), '--input', 'go'];

/** A run that is killed while a tool of it is at work. */
async function crashInTool(place: Workplace): Promise<string> {
  const run = place.start(RUN);
  const session = sessionIn((await run.line(/began in session/)) ?? '');
  await place.gates.gate('a').reached;
  await run.line(/note success/);
  run.kill('SIGKILL');
  await run.ended;
  return session;
}

const holding = () => [
  reply().call('hold', { gate: 'a' }).call('note', { text: 'kept' }),
  reply().text('All done.'),
];

function lastResults(place: Workplace): readonly string[] {
  const messages = place.server.requests.at(-1)?.messages ?? [];
  return messages.filter(({ role }) => role === 'tool').map(({ text }) => text);
}

describe('a killed run', SLOW, () => {
  it('is told of by recover, which runs nothing', async () => {
    await using place = await openWorkplace(holding());
    const session = await crashInTool(place);
    const { code, stdout } = await place.run(['recover']);
    expect(code).toBe(0);
    expect(stdout).toContain(
      `${session}  worker  cut off  1 step\n  hold: began, and may or may not have had`,
    );
    const resume = `  swarmwright resume FILE ${session} --indeterminate`;
    expect(stdout.split('\n').slice(2)).toEqual([`${resume} retry`, `${resume} abandon`, '']);
    const [report] = jsonLines((await place.run(['recover', session, '--json'])).stdout);
    expect(report).toMatchObject({ sessionId: session, indeterminate: [{ toolName: 'hold' }] });
    expect(place.server.requests).toHaveLength(1);
    expect((await place.run(['sessions', 'ls'])).stdout).toMatch(new RegExp(`^${session} +worker +open `));
  });

  it('pauses again on resume, and names the call whose outcome is unknown', async () => {
    await using place = await openWorkplace(holding());
    const session = await crashInTool(place);
    const { code, stdout } = await place.run(['resume', fixture('worker'), session]);
    expect(code).toBe(3);
    expect(stdout).toMatch(/^paused: indeterminate/m);
    expect(stdout).toContain('  hold: it is unknown whether it had its effect\n');
    const resume = `swarmwright resume ${fixture('worker')} ${session} --indeterminate`;
    expect(stdout.split('\n').slice(-3)).toEqual([`then: ${resume} retry`, `or: ${resume} abandon`, '']);
  });

  it('goes on with resume --indeterminate retry, and runs the call once more', async () => {
    await using place = await openWorkplace(holding());
    const session = await crashInTool(place);
    place.gates.gate('a').open();
    const words = ['resume', fixture('worker'), session, '--indeterminate', 'retry'];
    const { code, stdout } = await place.run(words);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^All done\.$/m);
    expect(lastResults(place)).toEqual(['passed a', 'kept']);
  });

  it('goes on with resume --indeterminate abandon, and tells the model', async () => {
    await using place = await openWorkplace(holding());
    const session = await crashInTool(place);
    const words = ['resume', fixture('worker'), session, '--indeterminate', 'abandon', '--json'];
    const { code, stdout } = await place.run(words);
    expect(code).toBe(0);
    const lines = jsonLines(stdout);
    expect(lines[0]).toMatchObject({ type: 'turn.resumed', session });
    expect(lines.at(-1)).toMatchObject({ type: 'result', status: 'completed', steps: 2, toolCalls: 2 });
    expect(lastResults(place)).toEqual([expect.stringContaining('unknown'), 'kept']);
  });

  it('is given up by abandon, after which the session takes an input again', async () => {
    await using place = await openWorkplace(holding());
    const session = await crashInTool(place);
    const again = [...RUN, '--session', session];
    const refused = await place.run(again);
    expect(refused.code).toBe(1);
    expect(refused.stdout).toContain(`the turn is open; go on with: swarmwright resume`);
    expect(await place.run(['abandon', session])).toMatchObject({
      code: 0,
      stdout: `abandoned: ${session}\n`,
    });
    const { code, stdout } = await place.run(again);
    expect(code).toBe(0);
    expect(stdout).toContain(`turn 2 began in session ${session}`);
    expect((await place.run(['recover'])).stdout).toBe('no turn is open\n');
  });
});
