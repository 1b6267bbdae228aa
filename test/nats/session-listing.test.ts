import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commit, note, rootSession } from '../../src/testing/ledger-samples.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { freshNamespace, openLedgerOn, startLedgerServer } from './ledger-server.ts';

describe.skipIf(isNatsMissing())('the sessions of a JetStream ledger', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startLedgerServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('a session that is written to while all are listed is in the list once', async () => {
    const ns = freshNamespace();
    const [writing, listing] = [await openLedgerOn(server, { ns }), await openLedgerOn(server, { ns })];
    const ids = Array.from({ length: 40 }, (_, at) => `s-${at}`);
    const writers = await Promise.all(ids.map((id) => writing.acquire(rootSession(id))));
    await Promise.all(writers.map((writer) => commit(writer, note('a'))));
    let isDone = false;
    const writes = writers.map(async (writer) => {
      while (!isDone) await commit(writer, note('b'));
    });
    const lists: string[][] = [];
    while (lists.length < 20) lists.push((await listing.sessions()).map(({ sessionId }) => sessionId));
    isDone = true;
    await Promise.all(writes);
    for (const list of lists) expect(list.toSorted()).toEqual(ids.toSorted());
  });
});
