import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { verifyChain } from '../../src/ledger/hash-chain.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { resolveLimits } from '../../src/limits.ts';
import { jetstreamLedger } from '../../src/nats/jet-stream-ledger.ts';
import { commit, expectError, note, notesOf, rootSession } from '../../src/testing/ledger-samples.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { startCuttingProxy } from './cutting-proxy.ts';
import { freshNamespace, openLedgerOn, startLedgerServer } from './ledger-server.ts';

const KILLS = 4;
const WRITERS = 6;
/** Appends that do not fit into one message. */
const LARGE = resolveLimits({ ledger: { maxBatchBytes: 8 * 1024 * 1024 } });
const IMPATIENT = resolveLimits({ timeouts: { commitMs: 700 } });

describe.skipIf(isNatsMissing())('a JetStream ledger whose server fails', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startLedgerServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('NB-19 kills of the server in the middle of appends lose and double nothing', async () => {
    const ledger = await openLedgerOn(server, { ns: freshNamespace() });
    const stop = new AbortController();
    const writing = Array.from({ length: WRITERS }, (_, index) => appendUntil(ledger, `s-${index}`, stop));
    for (let kill = 0; kill < KILLS; kill += 1) {
      await grownBy(ledger, 40);
      await server.kill();
      await server.start();
    }
    await grownBy(ledger, 40);
    stop.abort();
    for (const [index, acknowledged] of (await Promise.all(writing)).entries()) {
      const records = await ledger.read(`s-${index}`);
      expect(notesOf(records)).toEqual(acknowledged);
      verifyChain(records);
    }
  });

  test('NB-19 an append whose acknowledgement was lost is found, not stored again', async () => {
    const ns = freshNamespace();
    const proxy = await startCuttingProxy(server.port);
    await using ledger = await jetstreamLedger({ connection: proxy.url, ns, limits: LARGE });
    const writer = await ledger.acquire(rootSession('s-1'));
    await commit(writer, note('before'));
    const single = proxy.loseAnswerTo('and two');
    await commit(writer, note('one'), note('and two'));
    await single.lost;
    // Of three messages, the last one small.
    const texts = ['x'.repeat(600_000), 'y'.repeat(1_043_000), 'last of three'];
    const batch = proxy.loseAnswerTo('last of three');
    await commit(writer, ...texts.map(note));
    await batch.lost;
    await commit(writer, note('after'));
    const expected = ['before', 'one', 'and two', ...texts, 'after'];
    expect(notesOf(await ledger.read('s-1'))).toEqual(expected);
  });

  test('NB-19 appends of several messages are stored whole and in a row, whoever writes beside them', async () => {
    const ledger = await openLedgerOn(server, { ns: freshNamespace(), limits: LARGE });
    const writers = await Promise.all(['s-1', 's-2', 's-3'].map((id) => ledger.acquire(rootSession(id))));
    const texts = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(400_000));
    await Promise.all(
      writers.map(async (writer) => {
        for (let round = 0; round < 3; round += 1) await commit(writer, ...texts.map(note), note('small'));
      }),
    );
    const whole = [...texts, 'small', ...texts, 'small', ...texts, 'small'];
    for (const { identity } of writers) {
      for (const from of [1, 4, 7, 15]) {
        expect(notesOf(await ledger.read(identity.session, from))).toEqual(whole.slice(from - 1));
      }
    }
    const positions: number[] = [];
    for await (const { pos } of ledger.tail(0, AbortSignal.timeout(20_000), {
      upTo: await ledger.position(),
    })) {
      positions.push(pos);
    }
    expect(positions).toHaveLength(45);
    expect(positions).toEqual([...new Set(positions)].sort((left, right) => left - right));
  });

  test('NB-19 of a batch that was cut off in its middle nothing is stored but by another try', async () => {
    const proxy = await startCuttingProxy(server.port);
    await using ledger = await jetstreamLedger({
      connection: proxy.url,
      ns: freshNamespace(),
      limits: LARGE,
    });
    const writer = await ledger.acquire(rootSession('s-1'));
    const texts = ['first of three', 'x'.repeat(1_043_000), 'y'.repeat(1_043_000)];
    const cut = proxy.cutAt('first of three');
    await commit(writer, ...texts.map(note));
    await cut.lost;
    expect(notesOf(await ledger.read('s-1'))).toEqual(texts);
  });

  test('NB-19 a claim whose acknowledgement was lost is its own', async () => {
    const proxy = await startCuttingProxy(server.port);
    await using ledger = await jetstreamLedger({ connection: proxy.url, ns: freshNamespace() });
    const claim = proxy.loseAnswerTo('"type":"claim"');
    const writer = await ledger.acquire(rootSession('s-1'));
    await claim.lost;
    expect(writer.epoch).toBe(1);
    await commit(writer, note('a'));
  });

  test('NB-19 an append is indeterminate once the server was away for too long', async () => {
    const ledger = await openLedgerOn(server, { ns: freshNamespace(), limits: IMPATIENT });
    const writer = await ledger.acquire(rootSession('s-1'));
    await commit(writer, note('a'));
    await server.kill();
    const result = await writer.append(1, [note('b')]);
    expect(result.type).toBe('indeterminate');
    expect(writer.lost.aborted).toBe(true);
    await expectError(ledger.read('s-1'), 'ledger-unavailable');
    await server.start();
    const next = await ledger.acquire(rootSession('s-1'));
    await commit(next, note('c'));
    expect(notesOf(await ledger.read('s-1'))).toEqual(['a', 'c']);
  });

  test('NB-19 appends wait for a server that stands still and go on with it', async () => {
    const ledger = await openLedgerOn(server, { ns: freshNamespace() });
    const writer = await ledger.acquire(rootSession('s-1'));
    await commit(writer, note('a'));
    server.stall();
    const sent = writer.append(1, [note('b'), note('c')]);
    const read = ledger.read('s-1');
    server.wake();
    expect((await sent).type).toBe('committed');
    expect(notesOf(await read)[0]).toBe('a');
    expect(notesOf(await ledger.read('s-1'))).toEqual(['a', 'b', 'c']);
  });
});

/** Appends batches of one to five records; gives the texts of all that were acknowledged. */
async function appendUntil(ledger: Ledger, session: string, stop: AbortController): Promise<string[]> {
  const writer = await ledger.acquire(rootSession(session));
  const acknowledged: string[] = [];
  while (!stop.signal.aborted) {
    const size = 1 + (writer.head.seq % 5);
    const texts = Array.from({ length: size }, (_, index) => `${session} ${writer.head.seq + index + 1}`);
    await commit(writer, ...texts.map(note));
    acknowledged.push(...texts);
  }
  return acknowledged;
}

/** Resolves when so many records more are in the ledger. */
async function grownBy(ledger: Ledger, count: number): Promise<void> {
  const stop = new AbortController();
  let seen = 0;
  for await (const _ of ledger.tail(await ledger.position(), stop.signal)) {
    seen += 1;
    if (seen >= count) return;
  }
}
