import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { isSwarmError } from '../../src/errors.ts';
import { verifyChain } from '../../src/ledger/hash-chain.ts';
import type { Ledger, LedgerWriter } from '../../src/ledger/ledger.ts';
import { DEFAULT_LIMITS } from '../../src/limits.ts';
import { connectNats } from '../../src/nats/client.ts';
import { askJetStream } from '../../src/nats/jet-stream-api.ts';
import { commit, expectError, note, notesOf, rootSession } from '../../src/testing/ledger-samples.ts';
import { startProgram } from '../support/child-process.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { freshNamespace, messagesOf, openLedgerOn, startLedgerServer } from './ledger-server.ts';

const SHORT_LEASE_MS = 2_000;

/** Nobody is told when a lease runs out: it is tried for. */
const WITHIN = { timeout: 30_000 };

describe.skipIf(isNatsMissing())('writers of a JetStream ledger', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startLedgerServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('a session of a live process is refused to another, with its name', async () => {
    const ns = freshNamespace();
    const [one, two] = [await openLedgerOn(server, { ns }), await openLedgerOn(server, { ns })];
    await commit(await one.acquire(rootSession('s-1')), note('a'));
    await expectError(two.acquire(rootSession('s-1')), 'session-owned-elsewhere');
    expect((await two.sessions())[0]?.owned).toBe(true);
  });

  test('a session that was released or left by close is free at once', async () => {
    const ns = freshNamespace();
    const [one, two] = [await openLedgerOn(server, { ns }), await openLedgerOn(server, { ns })];
    const writer = await one.acquire(rootSession('s-1'));
    await commit(writer, note('a'));
    await commit(await one.acquire(rootSession('s-2')), note('b'));
    await writer.release();
    await (await two.acquire(rootSession('s-1'))).release();
    await one.close();
    expect((await two.acquire(rootSession('s-2'))).epoch).toBe(2);
  });

  test('NB-13 a writer that was taken over is refused at its first append, and stores nothing', async () => {
    const ns = freshNamespace();
    const [zombie, heir] = [await openLedgerOn(server, { ns }), await openLedgerOn(server, { ns })];
    const old = await zombie.acquire(rootSession('s-1'));
    await commit(old, note('a'));
    await forgetOwners(ns);
    const next = await heir.acquire(rootSession('s-1'));
    expect(next.epoch).toBe(2);
    // Before the new one has stored anything but its claim.
    const refused = await old.append(1, [note('zombie'), note('zombie too')]);
    expect(refused).toMatchObject({ type: 'rejected', reason: 'fenced' });
    expect(old.lost.aborted).toBe(true);
    expect(isSwarmError(old.lost.reason, 'session-owned-elsewhere')).toBe(true);
    await commit(next, note('b'));
    const records = await heir.read('s-1');
    expect(notesOf(records)).toEqual(['a', 'b']);
    expect(records.map(({ epoch }) => epoch)).toEqual([1, 2]);
    verifyChain(records);
  });

  test('NB-13 what a taken over writer sent before it was refused falls with it', async () => {
    const ns = freshNamespace();
    const [zombie, heir] = [await openLedgerOn(server, { ns }), await openLedgerOn(server, { ns })];
    const old = await zombie.acquire(rootSession('s-1'));
    await commit(old, note('a'));
    await forgetOwners(ns);
    await heir.acquire(rootSession('s-1'));
    const sent = [1, 2, 3].map((seq) => old.append(seq, [note(`zombie ${seq}`)]));
    const types = (await Promise.all(sent)).map(({ type }) => type);
    expect(types).toEqual(['rejected', 'rejected', 'rejected']);
    expect(notesOf(await heir.read('s-1'))).toEqual(['a']);
  });

  test('of many who claim a session at once one gets it, each time', async () => {
    const ns = freshNamespace();
    const ledgers = await Promise.all(Array.from({ length: 4 }, () => openLedgerOn(server, { ns })));
    for (let round = 1; round <= 8; round += 1) {
      const claims = await Promise.allSettled(ledgers.map((ledger) => ledger.acquire(rootSession('s-1'))));
      const won = claims.flatMap((claim) => (claim.status === 'fulfilled' ? [claim.value] : []));
      expect(won).toHaveLength(1);
      const [writer] = won as [LedgerWriter];
      expect(writer.epoch).toBe(round);
      await commit(writer, note(String(round)));
      await writer.release();
    }
    verifyChain(await (ledgers[0] as Ledger).read('s-1'));
  });

  test('a session that was found to be empty, or was given back, is looked at before it is taken from another', async () => {
    const ns = freshNamespace();
    const [first, second] = [await openLedgerOn(server, { ns }), await openLedgerOn(server, { ns })];
    expect(await first.head('s-1')).toBeUndefined();
    for (const round of ['1', '2']) {
      const writer = await second.acquire(rootSession('s-1'));
      await commit(writer, note(`second ${round}`));
      await expectError(first.acquire(rootSession('s-1')), 'session-owned-elsewhere');
      await writer.release();
      const own = await first.acquire(rootSession('s-1'));
      await commit(own, note(`first ${round}`));
      await own.release();
    }
    const records = await second.read('s-1');
    verifyChain(records);
    expect(notesOf(records)).toEqual(['second 1', 'first 1', 'second 2', 'first 2']);
  });

  test('of many who hold a session to be new the first append makes one its owner', async () => {
    const ns = freshNamespace();
    const ledgers = await Promise.all(Array.from({ length: 4 }, () => openLedgerOn(server, { ns })));
    const writers = await Promise.all(
      ledgers.map((ledger) => ledger.acquire(rootSession('s-1'), { isNew: true })),
    );
    const results = await Promise.all(writers.map((writer, at) => writer.append(0, [note(String(at))])));
    const won = results.findIndex(({ type }) => type === 'committed');
    const others = results.filter((_, at) => at !== won);
    expect(others.map((result) => result.type === 'rejected' && result.reason)).toEqual(
      Array.from({ length: 3 }, () => 'fenced'),
    );
    expect(writers.map(({ lost }) => lost.aborted)).toEqual(writers.map((_, at) => at !== won));
    const stranger = await openLedgerOn(server, { ns });
    await expectError(stranger.acquire(rootSession('s-1')), 'session-owned-elsewhere');
    await Promise.all(writers.filter((_, at) => at !== won).map((writer) => writer.release()));
    await expectError(stranger.acquire(rootSession('s-1')), 'session-owned-elsewhere');
    expect(notesOf(await stranger.read('s-1'))).toEqual([String(won)]);
  });

  test('a new session that is written to and given back is one message', async () => {
    const ns = freshNamespace();
    const ledger = await openLedgerOn(server, { ns });
    const writer = await ledger.acquire(rootSession('s-1'), { isNew: true });
    await using admin = connectNats(server.url);
    await admin.connected(AbortSignal.timeout(10_000));
    let messages = 0;
    admin.subscribe(`swm.v1.${ns}.led.*`, () => {
      messages += 1;
    });
    await admin.flush();
    await writer.appendLast(0, [note('a'), note('b')]);
    await writer.release();
    await admin.flush();
    expect(messages).toBe(1);
    const other = await openLedgerOn(server, { ns });
    expect((await other.acquire(rootSession('s-1'))).epoch).toBe(2);
  });

  test('an owner asks nobody for what it has just written, and reads what everybody reads', async () => {
    const ns = freshNamespace();
    const [ledger, other] = [await openLedgerOn(server, { ns }), await openLedgerOn(server, { ns })];
    const writer = await ledger.acquire(rootSession('s-1'));
    await using admin = connectNats(server.url);
    await admin.connected(AbortSignal.timeout(10_000));
    const asked: string[] = [];
    admin.subscribe('$JS.API.DIRECT.GET.SWM_LED', ({ data }) => {
      const question = Buffer.from(data).toString('utf8');
      if (question.includes(`${ns}.led.`)) asked.push(question);
    });
    await admin.flush();
    await commit(writer, ...Array.from({ length: 100 }, (_, at) => note(`${at + 1}`)));
    for (const from of [1, 40, 100, 101]) {
      expect(notesOf(await ledger.read('s-1', from))).toHaveLength(101 - from);
    }
    await admin.flush();
    expect(asked).toEqual([]);
    await commit(writer, ...Array.from({ length: 100 }, (_, at) => note(`${at + 101}`)));
    for (const from of [1, 72, 73, 74, 200, 201]) {
      expect(await ledger.read('s-1', from)).toEqual(await other.read('s-1', from));
    }
  });

  test('NB-12 the session of a killed process is taken over within its lease and two seconds', async () => {
    const ns = freshNamespace();
    const ledger = await openLedgerOn(server, { ns });
    const args = [server.url, ns, String(SHORT_LEASE_MS), 'append', 's-1'];
    const child = startProgram('programs/ledger-on-nats.ts', args);
    await child.said('stored 20');
    await expectError(ledger.acquire(rootSession('s-1')), 'session-owned-elsewhere');
    await child.kill();
    const killedAt = performance.now();
    const writer = await vi.waitFor(() => ledger.acquire(rootSession('s-1')), WITHIN);
    expect(performance.now() - killedAt).toBeLessThan(SHORT_LEASE_MS + 2_000);
    await commit(writer, note('mine'));
    const records = await ledger.read('s-1');
    verifyChain(records);
    expect(notesOf(records)).toEqual([
      ...Array.from({ length: records.length - 1 }, (_, index) => `s-1 ${index + 1}`),
      'mine',
    ]);
  });

  test('NB-16 a process that closes its ledger gives its sessions up at once', async () => {
    const ns = freshNamespace();
    const ledger = await openLedgerOn(server, { ns });
    const child = startProgram('programs/ledger-on-nats.ts', [server.url, ns, '60000', 'hold', 's-1']);
    await child.said('stored 1');
    child.process.kill('SIGTERM');
    expect(await child.ended).toBe(0);
    expect((await ledger.acquire(rootSession('s-1'))).epoch).toBe(2);
  });

  test('NB-13 an owner that was not heard for most of its lease lets go by itself', async () => {
    const leaseMs = 6_000;
    const ledger = await openLedgerOn(server, { ns: freshNamespace(), leaseMs });
    const writer = await ledger.acquire(rootSession('s-1'));
    await commit(writer, note('a'));
    onTestFinished(() => server.wake());
    server.stall();
    const stalledAt = performance.now();
    await new Promise<void>((resolve) => {
      writer.lost.addEventListener('abort', () => resolve(), { once: true });
    });
    // Before anybody else may take over.
    expect(performance.now() - stalledAt).toBeLessThan(leaseMs);
    expect(isSwarmError(writer.lost.reason, 'session-owned-elsewhere')).toBe(true);
    server.wake();
    const next = await ledger.acquire(rootSession('s-1'));
    await commit(next, note('b'));
    expect(notesOf(await ledger.read('s-1'))).toEqual(['a', 'b']);
  });

  test('NB-13 what an owner let go is free for others once it is done with it, though its process lives on', async () => {
    const ns = freshNamespace();
    const options = { ns, leaseMs: SHORT_LEASE_MS };
    const [one, two] = [await openLedgerOn(server, options), await openLedgerOn(server, options)];
    const writer = await one.acquire(rootSession('s-1'));
    await commit(writer, note('a'));
    onTestFinished(() => server.wake());
    server.stall();
    await new Promise<void>((resolve) => {
      writer.lost.addEventListener('abort', () => resolve(), { once: true });
    });
    server.wake();
    await writer.release();
    const next = await vi.waitFor(() => two.acquire(rootSession('s-1')), WITHIN);
    await commit(next, note('b'));
    expect(notesOf(await two.read('s-1'))).toEqual(['a', 'b']);
    // The other one lives, and may have other sessions.
    await commit(await one.acquire(rootSession('s-2')), note('c'));
  });

  /** For a server that is away for longer than anybody waits for it. */
  const IMPATIENT = { ...DEFAULT_LIMITS, timeouts: { ...DEFAULT_LIMITS.timeouts, commitMs: 300 } };

  test('a session that was not given back is, though its process tried in vain to have it once more', async () => {
    await using own = await startLedgerServer();
    const ns = freshNamespace();
    const one = await openLedgerOn(own, { ns, limits: IMPATIENT });
    const writer = await one.acquire(rootSession('s-1'));
    await commit(writer, note('a'));
    await own.kill();
    expect((await writer.append(1, [note('b')])).type).toBe('indeterminate');
    await writer.release();
    // Beyond the pause before it is tried again to give it back.
    for (const goneAt = performance.now(); performance.now() - goneAt < 2_500; ) {
      await expectError(one.acquire(rootSession('s-1')), 'ledger-unavailable');
    }
    await own.start();
    const two = await openLedgerOn(own, { ns });
    await vi.waitFor(() => two.acquire(rootSession('s-1')), { timeout: 10_000 });
    await Promise.all([one.close(), two.close()]);
  });

  test('a session that was claimed without an answer is left to others', async () => {
    const ns = freshNamespace();
    const one = await openLedgerOn(server, { ns, limits: IMPATIENT });
    const two = await openLedgerOn(server, { ns });
    // From here on the server knows of it.
    await (await one.acquire(rootSession('s-first'))).release();
    const sessions = Array.from({ length: 50 }, (_, at) => `s-${at}`);
    // Found to be empty, they are claimed without another look.
    for (const session of sessions) await one.head(session);
    onTestFinished(() => server.wake());
    server.stall();
    // It stops a moment after it is told to.
    const claims = sessions.values();
    let last: string | undefined;
    for (let isAnswered = true; isAnswered; ) {
      last = claims.next().value ?? '';
      isAnswered = await one.acquire(rootSession(last)).then(
        () => true,
        () => false,
      );
    }
    const unanswered = rootSession(last ?? '');
    server.wake();
    await expect.poll(() => messagesOf(server, ns, unanswered.session), WITHIN).toBeGreaterThan(0);
    await vi.waitFor(() => two.acquire(unanswered), WITHIN);
  });

  /** What the server does when leases run out. */
  async function forgetOwners(ns: string): Promise<void> {
    await using admin = connectNats(server.url);
    await admin.connected(AbortSignal.timeout(10_000));
    const answer = await askJetStream(admin, 'STREAM.PURGE.SWM_OWN', { filter: `swm.v1.${ns}.own.*` });
    expect(answer.type).toBe('answer');
  }
});
