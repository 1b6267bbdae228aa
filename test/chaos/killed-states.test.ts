import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toolCallMachine } from '../../machines/tool-call.ts';
import { turnMachine } from '../../machines/turn.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { connectNats, type NatsClient } from '../../src/nats/client.ts';
import { jetstreamLedger } from '../../src/nats/jet-stream-ledger.ts';
import { provision } from '../../src/nats/provision.ts';
import { violationsOf } from '../invariants/session.ts';
import { until } from '../nats/bus.ts';
import type { KillPlace } from '../recovery/fixtures/kill-process.ts';
import { linesOf, openOutsideLog } from '../recovery/fixtures/outside-log.ts';
import { launchProgram, type Program } from '../support/child-process.ts';
import { enqueueTurn } from '../support/enqueue.ts';
import { isNatsMissing, type NatsServer, startNatsServer } from '../support/nats-server.ts';
import { ofType } from '../support/run-events.ts';
import { attendTo, type Person } from './person.ts';
import { agentOf, agentsOfOrder, type WorkerOrder } from './worker-order.ts';

const LEASE_MS = 2_000;

const states = (kind: 'turn' | 'step', ...names: readonly string[]): readonly KillPlace[] =>
  names.map((state) => ({ kind, state }));
/** Calls are 0 `work`, 1 `gated`, 2 `slow`, which is told to stop. */
const call = (ordinal: number, ...names: readonly string[]): readonly KillPlace[] =>
  names.map((state) => ({ kind: 'tool-call', state, ordinal }));

const WHOLE: readonly KillPlace[] = [
  ...states('turn', 'opening', 'projecting', 'stepping', 'retryBackoff', 'settling', 'waitingForApproval'),
  ...states('turn', 'paused', 'deciding', 'completed'),
  ...states('step', 'capturing', 'dispatching', 'streaming', 'settlingOutcome', 'backingOff', 'completed'),
  ...call(0, 'received', 'repaired', 'admitted', 'preparing', 'settled'),
  ...call(1, 'awaitingPermission'),
  ...call(2, 'failed'),
];
/** Between the intent of a call and its outcome. */
const LOST: readonly KillPlace[] = [
  ...call(0, 'prepared', 'executing', 'committing'),
  ...call(2, 'aborting'),
  { kind: 'tool', toolName: 'work', when: 'entered' },
  { kind: 'tool', toolName: 'work', when: 'done' },
];
const PLACES = [...WHOLE, ...LOST];

/** States of turns that fold, overflow, end otherwise or wait for children, and of calls that are not let run. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  turn: ['compacting', 'recovering', 'closing', 'failed', 'cancelled', 'yielded', 'handedOff', 'interrupted'],
  'tool-call': ['rejected', 'cancelled', 'suspended', 'indeterminate', 'commitError'],
};

const titled = (places: readonly KillPlace[]) =>
  places.map((place) => {
    const where = place.kind === 'tool' ? `tool ${place.when}` : `${place.kind} ${place.state}`;
    return [where, `s-${PLACES.indexOf(place)}`] as const;
  });

describe.skipIf(isNatsMissing())('a worker that is killed', () => {
  let folder = '';
  let server: NatsServer;
  let client: NatsClient;
  let ledger: Ledger;
  let person: Person;
  let heir: Program;
  let order: WorkerOrder;

  /** In one worker every session is stopped at its place; then it is killed, and another one takes them up. */
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'swm-states-'));
    server = await startNatsServer({ isFlushing: true });
    client = connectNats(server.url);
    await provision(client, { ledger: true });
    ledger = await jetstreamLedger({ connection: client, leaseMs: LEASE_MS });
    order = orderOf(server.url, folder);
    const agents = (own: Ledger) => agentsOfOrder(order, own);
    const attention = { agents, targetOf: agentOf, allows: 'paused' } as const;
    person = await attendTo({ connection: client, leaseMs: LEASE_MS, ...attention });
    const first = start(true);
    for (const { session } of order.sessions) {
      await enqueueTurn(client, { run: `r-${session}`, session, target: agentOf(session), input: 'Go.' });
    }
    await first.said('stopped');
    heir = start(false);
    await heir.said('ready');
    await first.kill();
    await until(() => left().length === 0, 'an end or a doubt of every session');
  }, 110_000);

  afterAll(async () => {
    await person[Symbol.asyncDispose]();
    await heir.kill();
    await ledger.close();
    await client.close();
    await server[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const start = (isStopped: boolean) =>
    launchProgram('programs/stopped-worker.ts', [JSON.stringify({ ...order, isStopped })]);
  /** Sessions that are neither over nor wait for a word on a call. */
  const left = () =>
    order.sessions
      .map(({ session }) => session)
      .filter((session) => !person.told.has(session) && !person.inDoubt.has(session));
  const logOf = (session: string) => openOutsideLog(join(folder, session));

  /** Whatever became of it, it ends, and nothing was done twice on the way. */
  async function endsWell(session: string): Promise<void> {
    if (person.inDoubt.has(session)) {
      const resumed = person.runtime.resume(agentOf(session), session, { indeterminate: () => 'abandon' });
      expect(await resumed.result).toMatchObject({ status: 'completed', text: 'Done.' });
    }
    const records = await ledger.read(session);
    const upTo = (seq: number) => records.slice(0, seq);
    const entries = linesOf(logOf(session), 'entered');
    const requests = linesOf(logOf(session), 'requested');
    expect(
      violationsOf({
        records,
        requests: requests.map(({ messages, seq }) => ({ messages, durable: upTo(seq) })),
        entries: entries.map(({ operationId, seq }) => ({ operationId, durable: upTo(seq) })),
      }),
    ).toEqual([]);
    expect(ofType(records, 'turn.opened')).toHaveLength(1);
    expect(ofType(records, 'turn.closed').map(({ data }) => data.status)).toEqual(['completed']);
    expect(entries).toHaveLength(new Set(entries.map(({ operationId }) => operationId)).size);
    const acknowledged = linesOf(logOf(session), 'acknowledged').map(({ seq }) => seq);
    expect(records.length).toBeGreaterThanOrEqual(Math.max(0, ...acknowledged));
  }

  it('is killed in every state that such a turn and its calls get into', () => {
    for (const [kind, { states: all }] of Object.entries({
      turn: turnMachine,
      'tool-call': toolCallMachine,
    })) {
      const there = PLACES.flatMap((place) => (place.kind === kind && 'state' in place ? [place.state] : []));
      expect([...there, ...(ELSEWHERE[kind] ?? [])].sort()).toEqual(Object.keys(all).sort());
    }
  });

  it.each(titled(WHOLE))('NB-12 at %s leaves a turn that another one ends', async (_, session) => {
    await endsWell(session);
  });

  it.each(titled(LOST))(
    'NB-12 at %s leaves a call in doubt, and nobody enters it again',
    async (_, session) => {
      const lost = ofType(await ledger.read(session), 'tool.indeterminate');
      expect(lost.length).toBeGreaterThan(0);
      expect(person.inDoubt.has(session)).toBe(true);
      await endsWell(session);
    },
  );

  it('NB-16 leaves an heir that ends when it is told to', async () => {
    heir.process.kill('SIGTERM');
    expect(await heir.ended).toBe(0);
    const owned = (await ledger.sessions()).filter((session) => session.owned);
    expect(owned).toEqual([]);
  });
});

function orderOf(url: string, folder: string): WorkerOrder {
  const plan = { manner: 'decides', recovery: 'never_auto_retry' } as const;
  const sessions = PLACES.map((place, at) => ({
    session: `s-${at}`,
    logPath: join(folder, `s-${at}`),
    plan,
    place,
  }));
  return { url, leaseMs: LEASE_MS, sessions, isStopped: false };
}
