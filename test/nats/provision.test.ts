import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectNats, type NatsClient } from '../../src/nats/client.ts';
import { askJetStream } from '../../src/nats/jet-stream-api.ts';
import { assertFitForWorkers, provision } from '../../src/nats/provision.ts';
import { planStreams } from '../../src/nats/streams.ts';
import { isNatsMissing, type NatsServer, startNatsServer } from '../support/nats-server.ts';

const within = () => AbortSignal.timeout(10_000);

describe.skipIf(isNatsMissing())('provisioning of a current server', () => {
  let server: NatsServer;
  let client: NatsClient;
  beforeAll(async () => {
    server = await startNatsServer({ conf: 'project' });
    client = connectNats(server.urlOf('provisioner'));
  });
  afterAll(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
  });

  it('NB-17 a dry run tells what is missing and makes nothing', async () => {
    const report = await provision(client, { dryRun: true });
    expect(report.verdict).toBe('unfit');
    expect(report.streams.map(({ name, state }) => [name, state])).toEqual([
      ['SWM_EVT', 'missing'],
      ['OBJ_SWM_ART', 'missing'],
    ]);
    expect((await provision(client, { dryRun: true })).streams[0]?.state).toBe('missing');
  });

  it('NB-17 makes what is missing, once, and finds every setting as it was asked for', async () => {
    const first = await provision(client);
    expect(first).toMatchObject({ verdict: 'ready', server: { apiLevel: expect.any(Number) } });
    expect(first.streams.map(({ state }) => state)).toEqual(['created', 'created']);
    const second = await provision(client);
    expect(second.streams.map(({ state }) => state)).toEqual(['present', 'present']);
    expect(second.verdict).toBe('ready');
  });

  it('NB-17 notices a stream that differs in what events need, and leaves it as it is', async () => {
    await provision(client);
    const report = await provision(client, { eventDays: 1 });
    expect(report.verdict).toBe('unfit');
    expect(report.streams[0]?.differences).toEqual([
      { setting: 'max_age', wanted: 86_400e9, found: 7 * 86_400e9, isRequired: true },
    ]);
    const info = await askJetStream(client, 'STREAM.INFO.SWM_EVT');
    expect(info).toMatchObject({ body: { config: { max_age: 7 * 86_400e9 } } });
  });

  it('NB-17 a current server is fit for workers', async () => {
    await expect(assertFitForWorkers(client, within())).resolves.toBeUndefined();
  });
});

describe.skipIf(isNatsMissing('distribution'))("provisioning of the distribution's older server", () => {
  let server: NatsServer;
  let client: NatsClient;
  beforeAll(async () => {
    server = await startNatsServer({ version: 'distribution' });
    client = connectNats(server.url);
  });
  afterAll(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
  });

  it('NB-17 serves events, and tells which settings the server dropped', async () => {
    const report = await provision(client);
    expect(report.server.apiLevel).toBe(0);
    // The distribution of some machines has one that is old, and not as old as that.
    const isOldest = /^2\.[0-9]\./.test(report.server.version);
    expect(report.verdict).toBe(isOldest ? 'degraded' : 'ready');
    const dropped = [
      { setting: 'compression', wanted: 's2', found: undefined, isRequired: false },
      { setting: 'metadata', wanted: { 'swm.schema': '1' }, found: undefined, isRequired: false },
    ];
    expect(report.streams[0]?.differences).toEqual(isOldest ? dropped : []);
  });

  it('NB-17 is refused for workers, with its version', async () => {
    await expect(assertFitForWorkers(client, within())).rejects.toMatchObject({
      code: 'nats-unsuitable',
      message: expect.stringMatching(/need nats-server 2\.12.*this is 2\.\d+\.\d+/),
    });
  });
});

describe('plan of the streams', () => {
  it('bounds every stream in bytes and age', () => {
    for (const { required } of planStreams()) {
      expect(required['max_bytes']).toBeGreaterThan(0);
      expect(required['max_age']).toBeGreaterThan(0);
    }
  });
});
