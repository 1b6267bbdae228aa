import { describe, expect, onTestFinished, test } from 'vitest';
import { connectNats } from '../../src/nats/client.ts';
import { askJetStream } from '../../src/nats/jet-stream-api.ts';
import { jetstreamLedger } from '../../src/nats/jet-stream-ledger.ts';
import { provision } from '../../src/nats/provision.ts';
import { assertKeepsLedger } from '../../src/nats/server-fit.ts';
import { expectError } from '../../src/testing/ledger-samples.ts';
import { isNatsMissing, startNatsServer } from '../support/nats-server.ts';

describe('the server of a ledger', () => {
  test.each([
    ['2.12.0', 2],
    ['2.10.21', 0],
    ['2.9.10', 0],
    ['2.12.5', 1],
  ])('NB-17 version %s with level %i is refused, naming both', (version, apiLevel) => {
    expect(() => assertKeepsLedger({ version, apiLevel })).toThrow(
      expect.objectContaining({
        code: 'nats-unsuitable',
        message: expect.stringContaining(`${version} (level ${apiLevel})`),
      }),
    );
  });

  test.each(['2.12.1', '2.15.1', '3.0.0', 'devel'])('NB-17 version %s is taken', (version) => {
    expect(() => assertKeepsLedger({ version, apiLevel: 2 })).not.toThrow();
  });

  test.skipIf(isNatsMissing('distribution'))('NB-17 an old server is refused before anything', async () => {
    const old = await startNatsServer({ version: 'distribution' });
    onTestFinished(() => old[Symbol.asyncDispose]());
    await expect(jetstreamLedger({ connection: old.url })).rejects.toMatchObject({
      code: 'nats-unsuitable',
      message: expect.stringContaining('2.9.10'),
    });
    await using admin = connectNats(old.url);
    await expectError(provision(admin, { ledger: true }), 'nats-unsuitable');
  });
});

describe.skipIf(isNatsMissing())('the streams of a ledger', () => {
  test('NB-17 opening a ledger makes no stream, and names those that are missing', async () => {
    const empty = await startNatsServer();
    onTestFinished(() => empty[Symbol.asyncDispose]());
    const opening = jetstreamLedger({ connection: empty.url });
    await expect(opening).rejects.toMatchObject({
      code: 'nats-unsuitable',
      message: expect.stringContaining('the stream SWM_LED is missing'),
    });
    await using admin = connectNats(empty.url);
    const { streams, verdict } = await provision(admin, { ledger: true });
    expect(streams.map(({ state }) => state)).toEqual(Array.from({ length: 8 }, () => 'created'));
    expect(verdict).toBe('ready');
    await (await jetstreamLedger({ connection: empty.url })).close();
  });

  test('NB-17 a stream that cannot store a batch whole is refused, naming the setting', async () => {
    const other = await startNatsServer();
    onTestFinished(() => other[Symbol.asyncDispose]());
    await using admin = connectNats(other.url);
    await admin.connected(AbortSignal.timeout(10_000));
    const config = { name: 'SWM_LED', subjects: ['swm.v1.*.led.*'], discard: 'new', allow_direct: true };
    await askJetStream(admin, 'STREAM.CREATE.SWM_LED', { ...config, deny_delete: true });
    await provision(admin, { ledger: true });
    await expect(jetstreamLedger({ connection: other.url })).rejects.toMatchObject({
      code: 'nats-unsuitable',
      message: expect.stringContaining('allow_atomic of the stream SWM_LED'),
    });
  });
});
