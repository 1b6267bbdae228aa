import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connectNats, type NatsClient } from '../../src/nats/client.ts';
import { type DeadLetter, openDeadLetters } from '../../src/nats/dead-letters.ts';
import { askJetStream } from '../../src/nats/jet-stream-api.ts';
import { provision } from '../../src/nats/provision.ts';
import { createQueueSubjects } from '../../src/nats/work-queue.ts';
import { enqueueTurn } from '../support/enqueue.ts';
import { isNatsMissing, type NatsServer, startNatsServer } from '../support/nats-server.ts';
import { freshNamespace } from './ledger-server.ts';

const turnOf = (name: string, run = `r-${name}`) => ({
  v: 1,
  run,
  session: `s-${name}`,
  target: 'clerk',
  input: 'Go.',
});

describe.skipIf(isNatsMissing())('dead letters', () => {
  let server: NatsServer;
  let client: NatsClient;
  beforeAll(async () => {
    server = await startNatsServer();
    client = connectNats(server.url);
    await provision(client, { ledger: true });
  });
  afterAll(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
  });

  /** Buries what is given, as a worker does. */
  async function bury(ns: string, reason: string, letter: unknown): Promise<void> {
    await client.request(`swm.v1.${ns}.dlq.turn.${reason}`, Buffer.from(JSON.stringify(letter)));
  }

  function letterOf(ns: string, turn: ReturnType<typeof turnOf>, more: object = {}) {
    const subject = `swm.v1.${ns}.q.turn.default.${turn.session}`;
    return {
      v: 1,
      reason: 'x',
      message: 'why',
      deliveries: 4,
      subject,
      body: JSON.stringify(turn),
      ...more,
    };
  }

  async function listed(ns: string): Promise<readonly DeadLetter[]> {
    const letters: DeadLetter[] = [];
    for await (const letter of openDeadLetters(client, { ns }).list()) letters.push(letter);
    return letters;
  }

  async function only(ns: string): Promise<DeadLetter> {
    const [letter] = await listed(ns);
    if (letter === undefined) throw new Error('no letter');
    return letter;
  }

  /** The turns in the queue of a namespace, as they are stored. */
  async function queued(ns: string, session: string): Promise<unknown> {
    const question = { last_by_subj: `swm.v1.${ns}.q.turn.default.${session}` };
    const answer = await askJetStream(client, 'STREAM.MSG.GET.SWM_Q', question);
    if (answer.type === 'fault') return undefined;
    const { message } = answer.body as { readonly message: { readonly data: string } };
    return JSON.parse(Buffer.from(message.data, 'base64').toString());
  }

  test('NB-15 of a namespace are listed in their order, with the turn they hold', async () => {
    const ns = freshNamespace();
    const other = freshNamespace();
    await bury(ns, 'unknown-agent', letterOf(ns, turnOf('a')));
    await bury(other, 'poison', letterOf(other, turnOf('b')));
    await bury(ns, 'poison', letterOf(ns, turnOf('c')));
    const [first, second, ...rest] = await listed(ns);
    expect(rest).toEqual([]);
    expect(first).toMatchObject({
      source: 'turn',
      reason: 'unknown-agent',
      message: 'why',
      deliveries: 4,
      queued: { pool: 'default', entry: { run: 'r-a', session: 's-a', target: 'clerk', input: 'Go.' } },
    });
    expect(Date.parse(first?.time ?? '')).toBeGreaterThan(Date.now() - 600_000);
    expect(second).toMatchObject({ reason: 'poison', queued: { entry: { run: 'r-c' } } });
  });

  test('NB-15 one goes back into its queue within the time the server knows its first id, and is gone', async () => {
    const ns = freshNamespace();
    const turn = { run: 'r-a', session: 's-a', target: 'clerk', input: 'Go.' };
    await enqueueTurn(client, { ns, ...turn });
    const taken = await askJetStream(client, 'STREAM.PURGE.SWM_Q', { filter: `swm.v1.${ns}.q.>` });
    expect(taken).toMatchObject({ type: 'answer', body: { purged: 1 } });
    await bury(ns, 'unknown-agent', letterOf(ns, turnOf('a')));
    const letters = openDeadLetters(client, { ns });
    const letter = await only(ns);
    const { run } = { run: undefined, ...(await letters.requeue(letter)) };
    // Whoever gave the first one was told that it failed.
    expect(run).toMatch(/^r-\w{26}$/);
    expect(await queued(ns, 's-a')).toEqual({ v: 1, ...turn, run });
    expect(await listed(ns)).toEqual([]);
  });

  test('NB-15 one that two people put back is one run', async () => {
    const ns = freshNamespace();
    await bury(ns, 'poison', letterOf(ns, turnOf('a')));
    const letters = openDeadLetters(client, { ns });
    const letter = await only(ns);
    const first = await letters.requeue(letter);
    const again = letters.requeue(letter);
    await expect(again).rejects.toMatchObject({ code: 'nats-rejected' });
    expect(await queued(ns, 's-a')).toMatchObject({ run: first.type === 'requeued' ? first.run : '' });
  });

  test('NB-14 a session that was to be taken up goes back as it was', async () => {
    const ns = freshNamespace();
    const wake = { v: 1, kind: 'wake', session: 's-a', cause: 'child s-b' };
    const subject = createQueueSubjects({ ns }).wake('default', 's-a', wake.cause);
    await bury(ns, 'unknown-agent', { message: 'why', deliveries: 1, subject, body: JSON.stringify(wake) });
    const letters = openDeadLetters(client, { ns });
    expect(await letters.requeue(await only(ns))).toEqual({ type: 'requeued', run: undefined });
    const stored = await askJetStream(client, 'STREAM.MSG.GET.SWM_Q', { last_by_subj: subject });
    expect(stored).toMatchObject({ type: 'answer' });
    expect(await listed(ns)).toEqual([]);
  });

  test('NB-15 one whose session has a turn in the queue stays', async () => {
    const ns = freshNamespace();
    await bury(ns, 'unknown-agent', letterOf(ns, turnOf('a')));
    await enqueueTurn(client, { ns, run: 'r-b', session: 's-a', target: 'clerk', input: 'Go.' });
    expect(await openDeadLetters(client, { ns }).requeue(await only(ns))).toEqual({ type: 'busy' });
    expect(await listed(ns)).toHaveLength(1);
  });

  test('NB-15 one is dropped, and no other', async () => {
    const ns = freshNamespace();
    await bury(ns, 'poison', letterOf(ns, turnOf('a')));
    await bury(ns, 'poison', letterOf(ns, turnOf('b')));
    const letters = openDeadLetters(client, { ns });
    await letters.drop(await only(ns));
    expect(await listed(ns)).toMatchObject([{ queued: { entry: { run: 'r-b' } } }]);
  });

  test('one of another namespace is not read by its number', async () => {
    const [ns, other] = [freshNamespace(), freshNamespace()];
    await bury(other, 'poison', letterOf(other, turnOf('a')));
    const { sequence } = await only(other);
    expect(await openDeadLetters(client, { ns }).read(sequence)).toBeUndefined();
    expect(await openDeadLetters(client, { ns: other }).read(sequence)).toMatchObject({ sequence });
  });

  test.each([
    ['no turn', (ns: string) => letterOf(ns, turnOf('a'), { body: 'garbage' })],
    [
      'the queue of another session',
      (ns: string) => letterOf(ns, turnOf('a'), { subject: `swm.v1.${ns}.q.turn.default.s-b` }),
    ],
    [
      'a subject of another kind',
      (ns: string) => letterOf(ns, turnOf('a'), { subject: `swm.v1.${ns}.led.s-a` }),
    ],
    [
      'a queue of another namespace',
      (ns: string) => letterOf(ns, turnOf('a'), { subject: 'swm.v1.x.q.turn.default.s-a' }),
    ],
    ['no letter', () => 'text'],
  ])('NB-15 one with %s is shown and goes into no queue', async (_, letter) => {
    const ns = freshNamespace();
    await bury(ns, 'malformed', letter(ns));
    const found = await only(ns);
    expect(found.queued).toBeUndefined();
    const requeued = openDeadLetters(client, { ns }).requeue(found);
    await expect(requeued).rejects.toMatchObject({ code: 'invalid-input' });
    expect(await listed(ns)).toHaveLength(1);
  });

  test('NB-10 an operator may see to them, and an observer may not', async () => {
    const guarded = await startNatsServer({ conf: 'project' });
    onTestFinished(() => guarded[Symbol.asyncDispose]());
    await using admin = connectNats(guarded.urlOf('provisioner'));
    await provision(admin, { ledger: true });
    await using worker = connectNats(guarded.urlOf('worker'));
    await worker.connected(AbortSignal.timeout(10_000));
    const letter = Buffer.from(JSON.stringify(letterOf('default', turnOf('a'))));
    await worker.request('swm.v1.default.dlq.turn.poison', letter);
    await using operator = connectNats(guarded.urlOf('operator'));
    await operator.connected(AbortSignal.timeout(10_000));
    const letters = openDeadLetters(operator, {});
    const found = await letters.read(1);
    if (found === undefined) throw new Error('no letter');
    expect(await letters.requeue(found)).toMatchObject({ type: 'requeued' });
    expect(await letters.read(1)).toBeUndefined();
    await using observer = connectNats(guarded.urlOf('observer'));
    await observer.connected(AbortSignal.timeout(10_000));
    await expect(openDeadLetters(observer, {}).read(1)).rejects.toMatchObject({ code: 'nats-rejected' });
  });

  test('NB-17 a server without their stream says what makes it', async () => {
    const bare = await startNatsServer();
    onTestFinished(() => bare[Symbol.asyncDispose]());
    await using lone = connectNats(bare.url);
    await lone.connected(AbortSignal.timeout(10_000));
    const reading = openDeadLetters(lone, {}).read(1);
    await expect(reading).rejects.toThrow(/SWM_DLQ is missing.*nats init --ledger/);
  });
});
