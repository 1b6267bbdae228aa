import { createRuntime, defineAgent, memoryLedger } from 'swarmwright';
import { connectNats, serveCommands } from 'swarmwright/nats';
import { reply, scriptedModel } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { startBus, until } from '../nats/bus.ts';
import { isNatsMissing, startNatsServer } from '../support/nats-server.ts';
import { fixture, jsonLines, openWorkplace, SLOW, sessionIn } from './cli-process.ts';

const mute = defineAgent({
  name: 'mute',
  instructions: 'Say little.',
  model: scriptedModel({ script: [reply().text('.')] }),
});

const answering = () => openWorkplace([reply().text('It is so.')]);

describe.skipIf(isNatsMissing())('nats init', () => {
  it('NB-17 looks, makes, and finds what is there', SLOW, async () => {
    await using server = await startNatsServer({ conf: 'project' });
    await using place = await answering();
    const init = (...more: string[]) =>
      place.run(['nats', 'init', '--nats', server.urlOf('provisioner'), ...more]);
    const looked = await init('--dry-run');
    expect([looked.code, looked.stdout]).toEqual([
      1,
      expect.stringMatching(/SWM_EVT {2}missing[\s\S]*not ready/),
    ]);
    const made = await init();
    expect([made.code, made.stdout]).toEqual([0, expect.stringMatching(/SWM_EVT {2}created[\s\S]*\nready/)]);
    const again = await init('--json');
    expect(jsonLines(again.stdout)[0]).toMatchObject({
      verdict: 'ready',
      streams: [{ state: 'present' }, {}],
    });
    const other = await init('--event-days', '1');
    expect([other.code, other.stdout]).toEqual([1, expect.stringContaining('max_age is')]);
  });

  it('NB-17 makes the queue of a pool, and finds it', SLOW, async () => {
    await using server = await startNatsServer();
    await using place = await answering();
    const init = () => place.run(['nats', 'init', '--nats', server.url, '--ledger', '--pool', 'reviews']);
    const made = await init();
    expect([made.code, made.stdout]).toEqual([
      0,
      expect.stringMatching(/pool-default=previews {2}made, .* 30 s/),
    ]);
    expect((await init()).stdout).toMatch(/pool-default=previews {2}present/);
  });

  it('looks for the queue of a pool and says what makes its stream', SLOW, async () => {
    await using server = await startNatsServer();
    await using place = await answering();
    const init = ['nats', 'init', '--pool', 'reviews', '--nats', server.url];
    expect((await place.run([...init, '--dry-run'])).stdout).toMatch(/pool-default=previews {2}missing/);
    const refused = await place.run(init);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('the stream SWM_Q is missing: `swarmwright nats init --ledger`');
  });

  it('makes the queue of a pool with the lease of its workers', SLOW, async () => {
    await using server = await startNatsServer();
    await using place = await answering();
    const init = ['nats', 'init', '--ledger', '--pool', 'reviews', '--lease', '5', '--nats', server.url];
    expect((await place.run(init)).stdout).toContain('silent for 5 s');
    const worker = place.start(['worker', fixture('worker'), '--pool', 'reviews', '--nats', server.url]);
    expect(await worker.errorLine(/made with a lease of 5 s, this worker has 30 s/)).toBeDefined();
    worker.kill('SIGTERM');
    await worker.ended;
  });

  it('NB-10 tells who may do what a user may not', SLOW, async () => {
    await using server = await startNatsServer({ conf: 'project' });
    await using place = await answering();
    const refused = async (words: string, url: string) =>
      (await place.run([...words.split(' '), url])).stderr;
    expect(await refused('nats init --nats', server.urlOf('worker'))).toContain(
      'nats://provisioner:PASSWORD@',
    );
    expect(await refused('nats init --nats', server.url)).toContain('nats://provisioner:PASSWORD@');
    expect(await refused('nats dead-letters --nats', server.urlOf('worker'))).toContain('nats://operator:');
    expect(await refused('sessions ls --ledger', server.urlOf('observer'))).toContain('nats://worker:');
    expect(await refused('inspect --nats', server.urlOf('operator'))).toContain('nats://observer:');
    const status = await place.run(['nats', 'status', '--seconds', '60', '--nats', server.urlOf('operator')]);
    expect(status).toMatchObject({ code: 1, stdout: '' });
    expect(status.stderr).toMatch(
      /Permissions Violation.*nats:\/\/observer:PASSWORD@HOST signs in as who may/,
    );
  });

  it('tells that no server is there, without the password', SLOW, async () => {
    await using place = await answering();
    const end = await place.run(['nats', 'init', '--nats', 'nats://ann:hunter22@127.0.0.1:9']);
    expect(end.code).toBe(1);
    expect(end.stderr).toContain('nats-unavailable');
    expect(end.stderr + end.stdout).not.toContain('hunter22');
  });
});

describe.skipIf(isNatsMissing())('inspect --nats', () => {
  it('tells of a server that is not reached, and when it is', SLOW, async () => {
    const server = await startBus();
    await using place = await answering();
    await server.kill();
    const command = place.start(['inspect', '--nats', server.url]);
    expect(await command.errorLine(/is not reached: .*; it is tried again/)).toBeDefined();
    await server.start();
    expect(await command.errorLine(/is reached again/)).toBeDefined();
    command.kill('SIGINT');
    expect((await command.ended).code).toBe(0);
  });
});

describe.skipIf(isNatsMissing())('events of a run on the bus', () => {
  it('NB-05 are replayed with filters, from a place on, and followed', SLOW, async () => {
    await using server = await startNatsServer();
    await using place = await openWorkplace(({ messages }) => reply().text(`It is so: ${messages.length}.`));
    const bus = ['--nats', server.url];
    expect((await place.run(['nats', 'init', ...bus])).code).toBe(0);
    const follower = place.start(['events', 'tail', ...bus, '--kind', 'turn', '-n', '2', '--json']);
    await using client = connectNats(server.url);
    await client.connected(AbortSignal.timeout(10_000));
    await until(async () => {
      const { data } = await client.request('$JS.API.STREAM.INFO.SWM_EVT', new Uint8Array());
      return JSON.parse(Buffer.from(data).toString()).state.consumer_count > 0;
    }, 'a follower');
    const ran = await place.run(['run', fixture('worker'), '--input', 'Is it?', '--plain', ...bus]);
    expect(ran.code).toBe(0);
    const session = sessionIn(ran.stdout + ran.stderr);

    const all = await place.run(['events', 'replay', ...bus, '--json']);
    const events = jsonLines(all.stdout).map(({ event, sequence }) => ({
      // A line of this command has both.
      ...(event as { type: string; session: string; kind: string }),
      sequence: Number(sequence),
    }));
    expect(events[0]).toMatchObject({ type: 'session.opened', session, sequence: 1 });
    expect(events.at(-1)).toMatchObject({ type: 'turn.closed', session });

    const some = await place.run(['events', 'replay', ...bus, '--root', session, '--kind', 'step', '--json']);
    expect(jsonLines(some.stdout)).toHaveLength(events.filter(({ kind }) => kind === 'step').length);
    const rest = await place.run(['events', 'replay', ...bus, '--after', '3', '--json']);
    expect(jsonLines(rest.stdout)).toHaveLength(events.length - 3);
    const none = await place.run(['events', 'replay', ...bus, '--agent', 'nobody']);
    expect([none.code, none.stdout]).toEqual([0, '']);
    const told = await place.run(['events', 'replay', ...bus]);
    expect(told.stdout).toContain('turn completed');

    const followed = await follower.ended;
    expect(jsonLines(followed.stdout)).toMatchObject([
      { event: { type: 'turn.opened' } },
      { event: { type: 'turn.closed' } },
    ]);
  });

  it(
    'NB-03 wait in the ledger while the bus is down, which the run tells of, and go with the next one',
    SLOW,
    async () => {
      await using server = await startNatsServer();
      await using place = await openWorkplace(({ messages }) =>
        reply().text(`It is so: ${messages.length}.`),
      );
      const bus = ['--nats', server.url];
      await place.run(['nats', 'init', ...bus]);
      const run = () => place.run(['run', fixture('worker'), '--input', 'Is it?', '--plain', ...bus]);
      await server.kill();
      const down = await run();
      expect([down.code, down.stderr]).toEqual([
        0,
        expect.stringMatching(/the bus is down.*records wait in the ledger/),
      ]);
      await server.start();
      const up = await run();
      expect(up.code).toBe(0);
      const replayed = await place.run(['events', 'replay', ...bus, '--name', 'closed', '--json']);
      expect(
        jsonLines(replayed.stdout).filter((line) => JSON.stringify(line).includes('turn.closed')),
      ).toHaveLength(2);
    },
  );

  it('NB-09 sends a command to a session, and tells what became of it', SLOW, async () => {
    await using server = await startNatsServer();
    await using place = await answering();
    await using ledger = memoryLedger();
    await using runtime = createRuntime({ ledger });
    await using client = connectNats(server.url);
    await using _service = serveCommands({ connection: client, runtime, ledger });
    const run = runtime.run(mute, 'Go.');
    await run.result;
    await client.connected(AbortSignal.timeout(10_000));
    const send = (...args: string[]) => place.run(['nats', 'send', ...args, '--nats', server.url]);
    const asked = await send('query', run.sessionId);
    expect([asked.code, jsonLines(asked.stdout)[0]]).toMatchObject([
      0,
      { accepted: true, state: { agent: 'mute', activity: 'idle' } },
    ]);
    const late = await send('steer', run.sessionId, '{"text":"Go on."}');
    expect([late.code, jsonLines(late.stdout)[0]]).toMatchObject([
      1,
      { accepted: false, code: 'turn-not-open' },
    ]);
    const empty = await send('steer', run.sessionId);
    expect([empty.code, empty.stderr]).toEqual([1, expect.stringContaining('invalid-input')]);
  });

  it('tells who publishes', SLOW, async () => {
    await using server = await startNatsServer();
    await using place = await answering();
    const end = await place.run(['nats', 'status', '--nats', server.url, '--seconds', '1']);
    expect([end.code, end.stdout]).toEqual([0, 'no publisher was heard\n']);
  });
});
