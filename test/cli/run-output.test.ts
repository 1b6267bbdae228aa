import { createGate, reply } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { fixture, jsonLines, openWorkplace, SLOW, sessionIn } from './cli-process.ts';

const RUN = ['run', fixture('worker'), '--input', 'go'];
const HOSTILE = 'a\u001b[2Jb\u009bc\u202ed\re';

/** Characters a terminal acts on. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what this looks for.
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

describe('the output of a run that is no terminal', SLOW, () => {
  it('is plain lines, then the answer, then how it ended', async () => {
    await using place = await openWorkplace([
      reply().call('note', { text: 'kept' }).usage(40, 7),
      reply().text('All\ndone.').usage(60, 3),
    ]);
    const { code, stdout, stderr } = await place.run(RUN);
    expect(code).toBe(0);
    const session = sessionIn(stdout);
    expect(stdout.replace(/\d+(\.\d)? m?s\b/g, 'SOME ms')).toBe(`worker: turn 1 began in session ${session}
worker: step 1
worker: note called
worker: step completed with 1 call, 40 in, 7 out
worker: note success in SOME ms
worker: step 2
worker: step completed with 0 calls, 60 in, 3 out
worker: turn completed
All
done.
completed  2 steps  1 call  100 in, 10 out  $0.12  SOME ms  session ${session}
`);
    expect(stderr).toBe('');
  });

  it('shows arguments, progress and results with --content alone', async () => {
    const script = [
      reply().call('note', { text: 'secret plan' }).call('hold', { gate: 'a' }),
      reply().text('Done.'),
    ];
    await using place = await openWorkplace([...script, ...script]);
    place.gates.gate('a').open();
    const without = await place.run(RUN);
    expect(without.stdout).not.toMatch(/secret plan|holding/);
    const content = await place.run([...RUN, '--content']);
    expect(content.stdout).toContain('note called with {"text":"secret plan"}');
    expect(content.stdout).toContain('progress: holding at a');
    expect(content.stdout).toMatch(/note success in .*: secret plan$/m);
  });

  it('has nothing in it that a terminal would act on', async () => {
    await using place = await openWorkplace([
      reply().call('note', { text: HOSTILE }).call('print', { text: HOSTILE }),
      reply().text(HOSTILE),
    ]);
    const { stdout, stderr } = await place.run([...RUN, '--content']);
    expect(stdout).toMatch(/^abd\ne$/m);
    expect(stdout).not.toMatch(CONTROL);
    expect(stderr).not.toMatch(CONTROL);
  });

  it('is the answer alone with --quiet', async () => {
    await using place = await openWorkplace([
      reply().call('note', { text: 'kept' }),
      reply().text('All done.'),
    ]);
    expect(await place.run([...RUN, '--quiet'])).toMatchObject({
      code: 0,
      stdout: 'All done.\n',
      stderr: '',
    });
  });

  it('tells of an approval on standard error with --quiet', async () => {
    await using place = await openWorkplace([reply().call('remove', { path: 'a' }), reply().text('Done.')]);
    const { code, stdout, stderr } = await place.run([...RUN, '--quiet', '--on-approval', 'pause']);
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toMatch(/swarmwright approve s-\w+\.1\.1\.0\.ask/);
  });
});

describe('a run with --json', SLOW, () => {
  it('prints one event a line and the result as the last', async () => {
    await using place = await openWorkplace([
      reply().call('note', { text: 'kept' }).usage(40, 7),
      reply().text('Done.').usage(60, 3),
    ]);
    const { code, stdout, stderr } = await place.run([...RUN, '--json']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = jsonLines(stdout);
    expect(lines.map(({ type }) => type)).toEqual([
      'session.opened',
      'turn.opened',
      'step.started',
      'attempt.started',
      'tool.called',
      'step.completed',
      'tool.dispatched',
      'tool.settled',
      'step.started',
      'attempt.started',
      'step.completed',
      'turn.closed',
      'result',
    ]);
    expect(lines.at(-1)).toMatchObject({
      status: 'completed',
      text: 'Done.',
      output: 'Done.',
      session: lines[0]?.['session'],
      steps: 2,
      toolCalls: 1,
      usage: { total: { inputTokens: 100, outputTokens: 10 } },
    });
  });

  it('keeps what was said out of events, and lets it in with --content', async () => {
    const script = [reply().call('note', { text: 'secret plan' }), reply().text('Done.')];
    await using place = await openWorkplace([...script, ...script]);
    expect((await place.run([...RUN, '--json'])).stdout).not.toContain('secret plan');
    const { stdout } = await place.run([...RUN, '--json', '--content']);
    const called = jsonLines(stdout).find(({ type }) => type === 'tool.called');
    expect(called).toMatchObject({ data: { args: { text: 'secret plan' } } });
  });

  it('escapes controls without losing them', async () => {
    await using place = await openWorkplace([reply().text(HOSTILE)]);
    const { stdout } = await place.run([...RUN, '--json']);
    expect(stdout).not.toMatch(CONTROL);
    expect(jsonLines(stdout).at(-1)).toMatchObject({ text: HOSTILE });
  });

  it('sends what a tool prints to standard error', async () => {
    await using place = await openWorkplace([
      reply().call('print', { text: 'not JSON' }),
      reply().text('Done.'),
    ]);
    const { stdout, stderr } = await place.run([...RUN, '--json']);
    expect(jsonLines(stdout).at(-1)).toMatchObject({ status: 'completed' });
    expect(stderr).toBe('not JSON\n');
  });

  it('is cancelled when nobody reads any more', async () => {
    await using place = await openWorkplace((_request, index) => reply().call('note', { text: `${index}` }));
    const run = place.start([...RUN, '--json']);
    await run.line(/step\.completed/);
    run.stopReading();
    expect(await run.ended).toMatchObject({ code: 130 });
  });
});

describe('the exit code', SLOW, () => {
  it('is 1 when the run fails', async () => {
    await using place = await openWorkplace([{ type: 'plain', status: 401, headers: {}, body: '{}' }]);
    const { code, stdout } = await place.run(RUN);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^failed: auth: /m);
  });

  it('is 1 when a budget is used up', async () => {
    await using place = await openWorkplace([reply().call('note', { text: 'kept' })]);
    const { code, stdout } = await place.run([...RUN, '--budget', 'steps=1,costUsd=5']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^failed: step-\w+: the steps budget of 1 /m);
  });

  it('is 3 when the run pauses, with the commands that go on', async () => {
    await using place = await openWorkplace([reply().call('remove', { path: 'a' })]);
    const { code, stdout } = await place.run([...RUN, '--on-approval', 'pause']);
    expect(code).toBe(3);
    const session = sessionIn(stdout);
    expect(stdout).toContain(`\n    swarmwright approve ${session}.1.1.0.ask\n`);
    expect(stdout).toContain(`\nthen: swarmwright resume ${fixture('worker')} ${session}\n`);
  });

  it('is 0 after one SIGINT, which lets the step finish', async () => {
    await using place = await openWorkplace((_request, index) => reply().call('hold', { gate: `g${index}` }));
    const run = place.start(RUN);
    await place.gates.gate('g0').reached;
    run.kill('SIGINT');
    await run.errorLine(/Ends after this step/);
    place.gates.gate('g0').open();
    const { code, stdout } = await run.ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/^completed: after-step-stop/m);
  });

  it.each(['SIGTERM', 'SIGHUP'] as const)('is 130 after %s, which cancels', async (signal) => {
    await using place = await openWorkplace([reply().text('Half').wait(createGate())]);
    const run = place.start(RUN);
    await place.server.arrived(0);
    run.kill(signal);
    const { code, stdout } = await run.ended;
    expect(code).toBe(130);
    expect(stdout).toMatch(new RegExp(`^cancelled: ${signal}`, 'm'));
  });

  it('is 130 at once on the third SIGINT, and the turn stays open', async () => {
    // A tool that does not listen to its signal keeps a cancelled turn waiting.
    await using place = await openWorkplace([reply().call('deaf', { gate: 'a' })]);
    const run = place.start(RUN);
    await place.gates.gate('a').reached;
    run.kill('SIGINT');
    await run.errorLine(/Ends after this step/);
    run.kill('SIGINT');
    await run.errorLine(/Cancelling/);
    run.kill('SIGINT');
    expect((await run.ended).code).toBe(130);
    expect((await place.run(['recover'])).stdout).toMatch(/deaf: began/);
  });
});
