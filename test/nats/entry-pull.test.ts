import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connectNats, type NatsClient } from '../../src/nats/client.ts';
import { EntryPull } from '../../src/nats/entry-pull.ts';
import { askJetStream } from '../../src/nats/jet-stream-api.ts';
import { findPool, joinPool } from '../../src/nats/pool-consumer.ts';
import { reply } from '../../src/testing/reply.ts';
import { enqueueTurn } from '../support/enqueue.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { freshNamespace, startLedgerServer } from './ledger-server.ts';
import { chain, poolWorld } from './pool-world.ts';

/** Far below the silence after which an entry is handed out again by itself. */
const SOON_MS = 4_000;

describe.skipIf(isNatsMissing())('the pull of entries', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startLedgerServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  async function connected(): Promise<NatsClient> {
    const client = connectNats(server.url);
    onTestFinished(() => client.close());
    await client.connected(AbortSignal.timeout(10_000));
    return client;
  }

  test('what is on its way when it closes is for others at once', async () => {
    const [one, two] = [await connected(), await connected()];
    for (let round = 0; round < 60; round += 1) {
      const ns = freshNamespace();
      const { name } = await joinPool(one, { ns });
      await enqueueTurn(one, { ns, session: 's-1', run: 'r-1', target: 'payer', input: 'Go.' });
      const leaving = new AbortController();
      const pull = new EntryPull(one, name);
      const asked = pull.next(leaving.signal);
      await one.flush();
      leaving.abort();
      const [entry] = await Promise.all([asked, pull.close()]);
      entry?.giveBack();
      const other = new EntryPull(two, name);
      const found = await other.next(AbortSignal.timeout(SOON_MS));
      found?.done();
      await other.close();
      expect(found?.subject, `round ${round}`).toContain('s-1');
    }
  });

  test('a queue that is taken away from its workers is made again, with what waits in it', async () => {
    const answers = () => reply().text('done').usage(10, 1);
    const { ns, runtime } = await poolWorld(server, answers, (url) => chain(url, ['lead']));
    const admin = await connected();
    const { name, ackWaitMs } = await joinPool(admin, { ns });
    await askJetStream(admin, `CONSUMER.DELETE.SWM_Q.${name}`);
    expect(await runtime.run('lead', 'Go.', {}).result).toMatchObject({ status: 'completed', text: 'done' });
    expect(await findPool(admin, { ns })).toEqual({ name, ackWaitMs, state: 'present' });
  });
});
