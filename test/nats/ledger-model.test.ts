import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { AppendResult, Ledger, LedgerWriter } from '../../src/ledger/ledger.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import type { NewRecord } from '../../src/ledger/records.ts';
import { jetstreamLedger } from '../../src/nats/jet-stream-ledger.ts';
import {
  dispatched,
  note,
  rootSession,
  settled,
  take,
  turnClosed,
  turnOpened,
} from '../../src/testing/ledger-samples.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { freshNamespace, startLedgerServer } from './ledger-server.ts';

/** Sequences of commands; more of them by the environment. */
const RUNS = Number(process.env['SWARMWRIGHT_MODEL_RUNS'] ?? 12);
/** Goes on by the commands, so that both ledgers write the same times. */
let time = 1_000;
const clock = { ...systemClock, now: () => time };
const NEVER = new AbortController().signal;

const session = fc.constantFrom('s-1', 's-2', 's-3');
const name = fc.constantFrom('a', 'b');
const record: fc.Arbitrary<NewRecord> = fc.oneof(
  name.map(note),
  name.map((turn) => turnOpened(turn)),
  name.map((turn) => turnClosed(turn)),
  name.map((turn) => ({ ...note('in a turn'), turn })),
  fc.tuple(name, name).map(([operation, turn]) => dispatched(operation, turn)),
  fc.tuple(name, name).map(([operation, turn]) => settled(operation, turn)),
);

type Command =
  | { readonly type: 'acquire' | 'release'; readonly session: string }
  | {
      readonly type: 'append';
      readonly session: string;
      readonly batch: readonly NewRecord[];
      readonly off: number;
    }
  | { readonly type: 'read'; readonly session: string; readonly from: number }
  | { readonly type: 'reopen' }
  | { readonly type: 'kill-server' };

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: session.map((one) => ({ type: 'acquire' as const, session: one })) },
  { weight: 1, arbitrary: session.map((one) => ({ type: 'release' as const, session: one })) },
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant('append' as const),
      session,
      batch: fc.array(record, { maxLength: 4 }),
      off: fc.constantFrom(0, 0, 0, 0, -1, 1),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('read' as const),
      session,
      from: fc.integer({ min: 1, max: 9 }),
    }),
  },
  { weight: 1, arbitrary: fc.constantFrom({ type: 'reopen' as const }, { type: 'kill-server' as const }) },
);

describe.skipIf(isNatsMissing())('a JetStream ledger beside one in memory', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startLedgerServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('NB-19 does the same whatever is asked of both, over kills of the server', async () => {
    const sequences = fc.array(command, { minLength: 20, maxLength: 60, size: 'max' });
    await fc.assert(
      fc.asyncProperty(sequences, async (sequence) => {
        const ns = freshNamespace();
        const open = () => jetstreamLedger({ connection: server.url, ns, clock });
        const pair = { memory: memoryLedger({ clock }), stream: await open() };
        try {
          const writers = new Map<string, readonly [LedgerWriter, LedgerWriter]>();
          for (const one of sequence) {
            time += 1;
            if (one.type === 'kill-server') {
              await server.kill();
              await server.start();
            } else if (one.type === 'reopen') {
              for (const [writer] of writers.values()) await writer.release();
              writers.clear();
              await pair.stream.close();
              pair.stream = await open();
            } else await carryOut(one, [pair.memory, pair.stream], writers);
          }
          await expectEqual(pair.memory, pair.stream);
        } finally {
          await pair.stream.close();
        }
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
  }, 240_000);
});

async function carryOut(
  one: Exclude<Command, { type: 'reopen' } | { type: 'kill-server' }>,
  ledgers: readonly [Ledger, Ledger],
  writers: Map<string, readonly [LedgerWriter, LedgerWriter]>,
): Promise<void> {
  const held = writers.get(one.session);
  if (one.type === 'read') {
    const [left, right] = await Promise.all(ledgers.map((ledger) => ledger.read(one.session, one.from)));
    expect(right).toEqual(left);
  } else if (one.type === 'release') {
    for (const writer of held ?? []) await writer.release();
    writers.delete(one.session);
  } else if (one.type === 'append') {
    const expected = (held?.[0].head.seq ?? 0) + one.off;
    const [left, right] = await Promise.all((held ?? []).map((writer) => writer.append(expected, one.batch)));
    expect(outcomeOf(right)).toEqual(outcomeOf(left));
  } else if (held === undefined) {
    const [memory, stream] = ledgers;
    const pair = [
      await memory.acquire(rootSession(one.session)),
      await stream.acquire(rootSession(one.session)),
    ];
    const [left, right] = pair as [LedgerWriter, LedgerWriter];
    expect([right.epoch, right.head]).toEqual([left.epoch, left.head]);
    writers.set(one.session, [left, right]);
  }
}

function outcomeOf(result: AppendResult | undefined): unknown {
  if (result?.type === 'rejected') return result.reason;
  return result?.type === 'committed' ? [result.head, result.records] : result?.type;
}

async function expectEqual(memory: Ledger, stream: Ledger): Promise<void> {
  expect(await stream.sessions()).toEqual(await memory.sessions());
  // What a version counts is for each ledger to say.
  const openIn = async (ledger: Ledger) =>
    (await ledger.listOpen()).map(({ treeVersion: _, ...summary }) => summary);
  expect(await openIn(stream)).toEqual(await openIn(memory));
  const count = await memory.position();
  const recordsOf = async (ledger: Ledger) =>
    (await take(ledger.tail(0, NEVER), count)).map(({ record: stored }) => stored);
  expect(await recordsOf(stream)).toEqual(await recordsOf(memory));
}
