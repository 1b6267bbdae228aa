import { connectNats, jetstreamLedger } from 'swarmwright/nats';
import { reply } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { enqueueTurn } from '../support/enqueue.ts';
import { isNatsMissing, startNatsServer } from '../support/nats-server.ts';
import { fixture, openWorkplace, SLOW } from './cli-process.ts';

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
    await expect.poll(isClosed, { timeout: 60_000 }).toBe(true);
    worker.kill('SIGTERM');
    const end = await worker.ended;
    expect([end.code, end.stdout]).toEqual([0, expect.stringContaining('worked 1, repeated 0')]);
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
