import { createGate, reply } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { fixture, jsonLines, openWorkplace, SLOW, sessionIn, type Workplace } from './cli-process.ts';

const RUN = ['run', fixture('worker'), '--input', 'go'];

function resultsIn(place: Workplace): readonly string[] {
  const messages = place.server.requests.at(-1)?.messages ?? [];
  return messages.filter(({ role }) => role === 'tool').map(({ text }) => text);
}

/** A run that waits for a decision, and its session. */
async function startWaiting(place: Workplace, args: readonly string[] = RUN) {
  const run = place.start(args);
  const session = sessionIn((await run.line(/began in session/)) ?? '');
  await run.line(/waits for approval/);
  return { run, session, request: `${session}.1.1.0.ask` };
}

const removing = () => [reply().call('remove', { path: 'a.txt' }), reply().text('Done.')];

describe('a decision from another process', SLOW, () => {
  it('lets the call run that a run waits for', async () => {
    await using place = await openWorkplace(removing());
    const { run, request } = await startWaiting(place);
    expect(await place.run(['approve', request])).toMatchObject({
      code: 0,
      stdout: 'approved: remove {"path":"a.txt"}\n',
    });
    expect(await run.ended).toMatchObject({ code: 0 });
    expect(resultsIn(place)).toEqual(['removed a.txt']);
  });

  it('gives the model the reason of a denial', async () => {
    await using place = await openWorkplace(removing());
    const { run, request } = await startWaiting(place);
    expect((await place.run(['deny', request, '--reason', 'not on a Friday'])).code).toBe(0);
    expect(await run.ended).toMatchObject({ code: 0 });
    expect(resultsIn(place)).toEqual([expect.stringContaining('not on a Friday')]);
  });

  it('runs an edited input that the process which waits has checked', async () => {
    await using place = await openWorkplace(removing());
    const { run, request } = await startWaiting(place);
    const wrong = await place.run(['approve', request, '--edit', '{"path": 5}']);
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('approval-edit-invalid') });
    expect((await place.run(['approve', request, '--edit', '{"path": "b.txt"}'])).code).toBe(0);
    await run.ended;
    expect(resultsIn(place)).toEqual([expect.stringMatching(/^removed b\.txt/)]);
  });

  it('answers a question', async () => {
    const question = reply().call('ask_user', { question: 'Which branch?' });
    await using place = await openWorkplace([question, reply().text('Done.')]);
    const run = place.start(RUN);
    const session = sessionIn((await run.line(/began in session/)) ?? '');
    await run.line(/ask_user asks/);
    expect((await place.run(['approve', `${session}.1.1.0.ask`, '--answer', 'main'])).code).toBe(0);
    await run.ended;
    expect(resultsIn(place)).toEqual(['main']);
  });

  it('holds for the session where it says so', async () => {
    const [ask] = removing();
    await using place = await openWorkplace([ask ?? reply(), ask ?? reply(), reply().text('Done.')]);
    const { run, request } = await startWaiting(place);
    await place.run(['approve', request, '--scope', 'session']);
    expect(await run.ended).toMatchObject({ code: 0 });
    expect(resultsIn(place)).toEqual(['removed a.txt', 'removed a.txt']);
  });

  it('on a paused run is kept until it is resumed', async () => {
    await using place = await openWorkplace(removing());
    const paused = await place.run([...RUN, '--on-approval', 'pause']);
    const session = sessionIn(paused.stdout);
    const file = ['--file', fixture('worker')];
    const edit = ['approve', `${session}.1.1.0.ask`, '--edit', '{"path": "b.txt"}'];
    expect(await place.run(edit)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('name the module of the agent with --file'),
    });
    expect((await place.run([...edit, ...file])).code).toBe(0);
    expect(await place.run(['resume', fixture('worker'), session])).toMatchObject({ code: 0 });
    expect(resultsIn(place)).toEqual([expect.stringMatching(/^removed b\.txt/)]);
  });

  it('is listed while it is open, and refused when it is unknown, late or another one', async () => {
    await using place = await openWorkplace(removing());
    const { run, session, request } = await startWaiting(place);
    const listed = await place.run(['approvals', 'ls', '--json']);
    expect(jsonLines(listed.stdout)).toMatchObject([
      {
        id: request,
        toolName: 'remove',
        input: { path: 'a.txt' },
        sessionId: session,
        agentPath: ['worker'],
      },
    ]);
    expect((await place.run(['approvals', 'ls'])).stdout).toContain(`swarmwright deny ${request}`);
    expect(await place.run(['approve', `${session}.9.9.9.ask`])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('unknown-approval'),
    });
    await place.run(['approve', request]);
    await run.ended;
    expect((await place.run(['approve', request])).code).toBe(0);
    expect(await place.run(['deny', request])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('approval-conflict'),
    });
    expect((await place.run(['approvals', 'ls'])).stdout).toBe('no request is open\n');
  });
});

describe('a turn at work', SLOW, () => {
  it('is given a text by steer from another process', async () => {
    const script = [reply().call('hold', { gate: 'a' }), reply().text('Done.')];
    await using place = await openWorkplace(script);
    const run = place.start(RUN);
    const session = sessionIn((await run.line(/began in session/)) ?? '');
    await place.gates.gate('a').reached;
    const steered = await place.run(['steer', session, 'Leave the tests alone']);
    expect(steered).toMatchObject({ code: 0, stdout: `accepted by ${session}\n` });
    place.gates.gate('a').open();
    expect(await run.ended).toMatchObject({ code: 0 });
    expect(place.server.requests.at(-1)?.lastText).toContain('Leave the tests alone');
  });

  it('is stopped by cancel from another process', async () => {
    await using place = await openWorkplace([reply().text('Half').wait(createGate())]);
    const run = place.start(RUN);
    const session = sessionIn((await run.line(/began in session/)) ?? '');
    await place.server.arrived(0);
    const told = await place.run(['cancel', session, '--reason', 'wrong branch']);
    expect(told).toMatchObject({ code: 0, stdout: `told to stop: ${session}\n` });
    const { code, stdout } = await run.ended;
    expect(code).toBe(130);
    expect(stdout).toMatch(/^cancelled: wrong branch/m);
  });

  it('is paused by pause from another process, and resumed', async () => {
    await using place = await openWorkplace([reply().call('hold', { gate: 'a' }), reply().text('Done.')]);
    const run = place.start(RUN);
    const session = sessionIn((await run.line(/began in session/)) ?? '');
    await place.gates.gate('a').reached;
    const asked = await place.run(['pause', session]);
    expect(asked).toMatchObject({ code: 0, stdout: `pauses after its step: ${session}\n` });
    place.gates.gate('a').open();
    const { code, stdout } = await run.ended;
    expect(code).toBe(3);
    expect(stdout).toMatch(/^paused: requested/m);
    expect(stdout).toMatch(new RegExp(`^go on with: swarmwright resume .* ${session}`, 'm'));
    expect(await place.run(['resume', RUN[1] ?? '', session])).toMatchObject({ code: 0 });
  });

  it('keeps its session from a run in another process', async () => {
    await using place = await openWorkplace([reply().call('hold', { gate: 'a' }), reply().text('Done.')]);
    const run = place.start(RUN);
    const session = sessionIn((await run.line(/began in session/)) ?? '');
    await place.gates.gate('a').reached;
    const { code, stdout } = await place.run([...RUN, '--session', session]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^failed: session-owned-elsewhere: /m);
    expect(stdout).not.toContain('swarmwright resume');
    place.gates.gate('a').open();
    expect(await run.ended).toMatchObject({ code: 0 });
  });

  it('is asked for in vain where none is', async () => {
    await using place = await openWorkplace([reply().text('Done.')]);
    const session = sessionIn((await place.run(RUN)).stdout);
    for (const words of [
      ['steer', session, 'hello'],
      ['cancel', session],
      ['pause', session],
    ]) {
      const { code, stderr } = await place.run(words);
      expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('turn-not-open') });
    }
  });
});
