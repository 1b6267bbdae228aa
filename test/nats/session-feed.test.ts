import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Ledger, LedgerWriter, PositionedRecord } from '../../src/ledger/ledger.ts';
import { connectNats, type NatsClient } from '../../src/nats/client.ts';
import { askJetStream } from '../../src/nats/jet-stream-api.ts';
import { planLedgerStreams } from '../../src/nats/ledger-streams.ts';
import { commit, note, notesOf, rootSession } from '../../src/testing/ledger-samples.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { freshNamespace, openLedgerOn, startLedgerServer } from './ledger-server.ts';

const SESSION = 's-1';

describe.skipIf(isNatsMissing())('who follows a session', () => {
  let server: NatsServer;
  let admin: NatsClient;
  let ns: string;
  let writer: LedgerWriter;
  /** Of another process than the writer. */
  let ledger: Ledger;

  beforeAll(async () => {
    server = await startLedgerServer();
    admin = connectNats(server.url);
    await admin.connected(AbortSignal.timeout(10_000));
  });
  afterAll(async () => {
    await admin.close();
    await server[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    ns = freshNamespace();
    writer = await (await openLedgerOn(server, { ns })).acquire(rootSession(SESSION));
    ledger = await openLedgerOn(server, { ns });
  });

  /** Has the server pass on what it stores, or not. */
  async function setPassingOn(isOn: boolean): Promise<void> {
    const [records] = planLedgerStreams();
    const { republish, ...rest } = records?.required ?? {};
    const config = { name: records?.name, ...rest, ...(isOn ? { republish } : {}) };
    const answer = await askJetStream(admin, `STREAM.UPDATE.${records?.name}`, config);
    expect(answer.type).toBe('answer');
  }

  /** Notes of the session as they come to a follower. */
  function follower() {
    const tail = ledger.tail(0, new AbortController().signal, { only: { session: SESSION } });
    const items = tail[Symbol.asyncIterator]();
    return {
      async next(count: number): Promise<readonly string[]> {
        const found: PositionedRecord[] = [];
        while (found.length < count) {
          const item = await items.next();
          if (item.done === true) break;
          found.push(item.value);
        }
        return notesOf(found.map(({ record }) => record));
      },
      end: () => items.return?.(),
    };
  }

  test('is sent its records, and asks the server for none of them', async () => {
    const followed = follower();
    await commit(writer, note('first'));
    expect(await followed.next(1)).toEqual(['first']);
    const asked: string[] = [];
    const spy = admin.subscribe('$JS.API.DIRECT.GET.SWM_LED', ({ data }) => {
      const question = Buffer.from(data).toString('utf8');
      if (question.includes(`${ns}.led.`)) asked.push(question);
    });
    await admin.flush();
    await ledger.read(SESSION);
    await admin.flush();
    expect(asked.splice(0)).toHaveLength(1);
    for (const text of ['a', 'b', 'c']) {
      await commit(writer, note(text), note(`${text} too`));
      expect(await followed.next(2)).toEqual([text, `${text} too`]);
    }
    await admin.flush();
    spy.close();
    expect(asked).toEqual([]);
    await followed.end();
  });

  test('finds what was not passed on, as soon as something behind it is', async () => {
    const followed = follower();
    await commit(writer, note('a'));
    expect(await followed.next(1)).toEqual(['a']);
    await setPassingOn(false);
    await commit(writer, note('b'));
    await commit(writer, note('c'));
    await setPassingOn(true);
    await commit(writer, note('d'));
    expect(await followed.next(3)).toEqual(['b', 'c', 'd']);
    await followed.end();
  });

  test('finds what was not passed on by itself, when nothing follows', async () => {
    const followed = follower();
    await commit(writer, note('a'));
    expect(await followed.next(1)).toEqual(['a']);
    await setPassingOn(false);
    await commit(writer, note('b'));
    expect(await followed.next(1)).toEqual(['b']);
    await setPassingOn(true);
    await followed.end();
  });

  test('may be slow: it gets everything in order, however much was passed on meanwhile', async () => {
    const followed = follower();
    await commit(writer, note('0'));
    expect(await followed.next(1)).toEqual(['0']);
    const texts = Array.from({ length: 200 }, (_, at) => `${at + 1}`);
    for (const text of texts) await commit(writer, note(text));
    expect(await followed.next(200)).toEqual(texts);
    await commit(writer, note('end'));
    expect(await followed.next(1)).toEqual(['end']);
    await followed.end();
  });

  test('is sent no claim as a record, and goes on with the next writer', async () => {
    const followed = follower();
    await commit(writer, note('a'));
    await writer.release();
    const successor = await (await openLedgerOn(server, { ns })).acquire(rootSession(SESSION));
    await commit(successor, note('b'));
    expect(await followed.next(2)).toEqual(['a', 'b']);
    await followed.end();
  });
});
