import { connectNats, jetstreamLedger } from 'swarmwright/nats';
import { reply } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { enqueueTurn } from '../support/enqueue.ts';
import { isNatsMissing, startNatsServer } from '../support/nats-server.ts';
import { fixture, openWorkplace, SLOW } from './cli-process.ts';

/** A worker starts in its own time. */
const POLL = { timeout: 60_000 };

describe.skipIf(isNatsMissing())('worker', () => {
  it('NB-16 works on queued turns until it is told to stop', SLOW, async () => {
    await using server = await startNatsServer();
    await using place = await openWorkplace([reply().text('Done.')]);
    const bus = ['--nats', server.url];
    expect((await place.run(['nats', 'init', '--ledger', ...bus])).code).toBe(0);
    await using client = connectNats(server.url);
    await client.connected(AbortSignal.timeout(10_000));
    await enqueueTurn(client, { run: 'r-1', session: 's-1', target: 'worker', input: 'Go.' });
    const worker = place.start(['worker', fixture('worker'), ...bus, '--concurrency', '1']);
    expect(await worker.line(/works on turns of worker in the pool default, 1 at once/)).toBeDefined();
    await using ledger = await jetstreamLedger({ connection: client });
    const isClosed = async () => (await ledger.read('s-1')).some(({ type }) => type === 'turn.closed');
    await expect.poll(isClosed, POLL).toBe(true);
    worker.kill('SIGTERM');
    const end = await worker.ended;
    expect([end.code, end.stdout]).toEqual([0, expect.stringContaining('worked 1, repeated 0')]);
  });

  it('NB-09 answers commands for a turn that sleeps', SLOW, async () => {
    await using server = await startNatsServer();
    const script = [reply().call('remove', { path: 'a.txt' }), reply().text('Done.')];
    await using place = await openWorkplace(script);
    const bus = ['--nats', server.url];
    const send = (...words: readonly string[]) => place.run(['nats', 'send', ...words, ...bus]);
    expect((await place.run(['nats', 'init', '--ledger', ...bus])).code).toBe(0);
    await using client = connectNats(server.url);
    await client.connected(AbortSignal.timeout(10_000));
    await enqueueTurn(client, { run: 'r-1', session: 's-1', target: 'worker', input: 'Go.' });
    const args = ['worker', fixture('worker'), ...bus, '--approvals', 'decide'];
    const workers = [1, 2].map(() => place.start(args));
    for (const worker of workers) expect(await worker.line(/works on turns/)).toBeDefined();
    await using ledger = await jetstreamLedger({ connection: client });
    const summary = async () => (await ledger.sessions()).find(({ sessionId }) => sessionId === 's-1');
    const last = async () => (await ledger.read('s-1')).at(-1)?.type;
    await expect.poll(last, POLL).toBe('run.settled');
    await expect.poll(async () => (await summary())?.owned).toBe(false);
    const steer = '{"id": "once", "text": "Be brief."}';
    for (const _ of [1, 2]) expect((await send('steer', 's-1', steer)).code).toBe(0);
    const query = JSON.parse((await send('query', 's-1')).stdout);
    const [{ request, argsHash }] = query.state.approvals;
    const decided = await send('approve', 's-1', JSON.stringify({ request, argsHash }));
    expect(decided).toMatchObject({ code: 0, stdout: expect.stringContaining('"accepted":true') });
    await expect.poll(async () => (await summary())?.openTurn, POLL).toBeUndefined();
    const texts = (await ledger.read('s-1')).filter(({ type }) => type === 'steering.accepted');
    expect(texts).toHaveLength(1);
    expect(place.server.requests.at(-1)?.messages.at(-1)).toMatchObject({ role: 'user', text: 'Be brief.' });
    for (const worker of workers) worker.kill('SIGTERM');
    for (const worker of workers) expect((await worker.ended).code).toBe(0);
  });

  it('NB-11 decides nothing for others unless it is told to', SLOW, async () => {
    await using server = await startNatsServer();
    await using place = await openWorkplace([reply().call('remove', { path: 'a.txt' })]);
    const bus = ['--nats', server.url];
    expect((await place.run(['nats', 'init', '--ledger', ...bus])).code).toBe(0);
    await using client = connectNats(server.url);
    await client.connected(AbortSignal.timeout(10_000));
    await enqueueTurn(client, { run: 'r-1', session: 's-1', target: 'worker', input: 'Go.' });
    const worker = place.start(['worker', fixture('worker'), ...bus]);
    await using ledger = await jetstreamLedger({ connection: client });
    await expect.poll(async () => (await ledger.read('s-1')).at(-1)?.type, POLL).toBe('run.settled');
    const body = '{"request": "s-1.1.1.0.ask", "argsHash": "0"}';
    const refused = await place.run(['nats', 'send', 'approve', 's-1', body, ...bus]);
    expect(refused).toMatchObject({ code: 1, stdout: expect.stringContaining('command-disabled') });
    worker.kill('SIGTERM');
    await worker.ended;
  });

  it('NB-17 tells what a server without the streams lacks', SLOW, async () => {
    await using server = await startNatsServer();
    await using place = await openWorkplace([reply().text('never')]);
    const end = await place.run(['worker', fixture('worker'), '--nats', server.url]);
    expect(end.code).toBe(1);
    expect(end.stderr).toContain('the stream SWM_LED is missing');
    expect(end.stderr).toContain('nats init --ledger');
  });

  it('refuses a module without agents', SLOW, async () => {
    await using place = await openWorkplace([reply().text('never')]);
    const end = await place.run(['worker', 'nothing.ts']);
    expect([end.code, end.stderr]).toEqual([2, expect.stringMatching(/^error: there is no file/)]);
  });
});
