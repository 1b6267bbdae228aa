import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ReadEventsOptions, readEvents } from '../../src/events/event-reader.ts';
import type { RunEvent } from '../../src/events/event-schemas.ts';
import type { Ledger, TailOptions } from '../../src/ledger/ledger.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import type { RecordType } from '../../src/ledger/records.ts';
import { settlePromises } from '../../src/testing/fake-clock.ts';
import { CHILD, ROOT, sampleRecord, writerOf } from './ledger-writing.ts';

const STRANGER = { session: 's-other', root: 's-other', agent: 'other' };

async function collect(events: AsyncIterable<RunEvent>, most = Number.POSITIVE_INFINITY) {
  const all: RunEvent[] = [];
  for await (const event of events) {
    all.push(event);
    if (all.length >= most) break;
  }
  return all;
}

/** All that is committed by now. */
async function readNow(ledger: Ledger, options: Omit<ReadEventsOptions, 'until'>) {
  return collect(readEvents(ledger, { ...options, until: ledger.position() }));
}

/** A turn in a root and one in its child, with a stranger in between. */
async function twoTurns(ledger: Ledger) {
  const [root, child, other] = [
    await writerOf(ledger, ROOT),
    await writerOf(ledger, CHILD),
    await writerOf(ledger, STRANGER),
  ];
  const place = { turn: 's-root.1' };
  await root.append(sampleRecord('session.opened'), sampleRecord('turn.opened', 0, place));
  await other.append(sampleRecord('session.opened'));
  await root.append(sampleRecord('step.opened', 0, place), sampleRecord('attempt.started', 0, place));
  await child.append(sampleRecord('session.opened'), sampleRecord('turn.opened', 0, { turn: 's-child.1' }));
  await root.append({
    type: 'request.prepared',
    turn: 's-root.1',
    data: {
      sha256: 'a'.repeat(64),
      chars: 1,
      messages: 1,
      systemHash: 'a'.repeat(64),
      toolsHash: 'a'.repeat(64),
      toolChoice: 'auto',
    },
  });
  await child.append(sampleRecord('turn.closed', 0, { turn: 's-child.1' }));
  await root.append(sampleRecord('step.closed', 0, place), sampleRecord('turn.closed', 0, place));
  return { root, child, other };
}

describe('readEvents', () => {
  it('reads one session, in order, with the link to the event before', async () => {
    await using ledger = memoryLedger();
    await twoTurns(ledger);
    const events = await readNow(ledger, { session: 's-root' });
    expect(events.map(({ type, seq, prev }) => [type, seq, prev])).toEqual([
      ['session.opened', 1, 0],
      ['turn.opened', 2, 1],
      ['step.started', 3, 2],
      ['attempt.started', 4, 3],
      // The record at 5 is none for observers.
      ['step.completed', 6, 4],
      ['turn.closed', 7, 6],
    ]);
  });

  it('reads a tree in commit order, and nothing of others', async () => {
    await using ledger = memoryLedger();
    await twoTurns(ledger);
    const events = await readNow(ledger, { session: 's-root', tree: true });
    expect(events.map(({ session, type }) => `${session} ${type}`)).toEqual([
      's-root session.opened',
      's-root turn.opened',
      's-root step.started',
      's-root attempt.started',
      's-child session.opened',
      's-child turn.opened',
      's-child turn.closed',
      's-root step.completed',
      's-root turn.closed',
    ]);
    expect(events.map(({ cursor }) => cursor)).toEqual([1, 2, 4, 5, 6, 7, 9, 10, 11]);
  });

  it('reads the tree of a root from any session of it', async () => {
    await using ledger = memoryLedger();
    await twoTurns(ledger);
    const events = await readNow(ledger, { session: 's-child', root: 's-root', tree: true });
    expect(events).toHaveLength(9);
  });

  it('goes on live and ends behind the last position of the run', async () => {
    await using ledger = memoryLedger();
    const { promise: until, resolve: end } = Promise.withResolvers<number>();
    const reading = collect(readEvents(ledger, { session: 's-root', until }));
    const { root } = await twoTurns(ledger);
    await settlePromises();
    end(await ledger.position());
    await root.append(sampleRecord('session.closed'));
    const events = await reading;
    expect(events.at(-1)?.type).toBe('turn.closed');
  });

  it('ends although the last position was passed before the end was known', async () => {
    await using ledger = memoryLedger();
    await twoTurns(ledger);
    const { promise: until, resolve: end } = Promise.withResolvers<number>();
    const reading = collect(readEvents(ledger, { session: 's-root', until }));
    await settlePromises();
    end(await ledger.position());
    expect(await reading).toHaveLength(6);
  });

  it.each([
    ['its signal aborts', async (_: Ledger, controller: AbortController) => controller.abort()],
    ['the ledger closes', async (ledger: Ledger) => ledger.close()],
  ])('ends when %s', async (_, end) => {
    const ledger = memoryLedger();
    await twoTurns(ledger);
    const controller = new AbortController();
    const reading = collect(readEvents(ledger, { session: 's-root', signal: controller.signal }));
    await settlePromises();
    await end(ledger, controller);
    expect(await reading).toHaveLength(6);
    await ledger.close();
  });

  it('reads nothing for a signal that aborted before', async () => {
    await using ledger = memoryLedger();
    await twoTurns(ledger);
    expect(await readNow(ledger, { session: 's-root', signal: AbortSignal.abort() })).toEqual([]);
  });

  it('leaves no listener on the signal of its caller', async () => {
    await using ledger = memoryLedger();
    await twoTurns(ledger);
    const { signal } = new AbortController();
    let listeners = 0;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    await collect(readEvents(ledger, { session: 's-root', signal }), 2);
    expect(listeners).toBe(0);
  });

  it('asks the ledger for nothing that its reader did not ask for', async () => {
    const inner = memoryLedger();
    await twoTurns(inner);
    let given = 0;
    const ledger: Ledger = Object.assign(Object.create(inner), {
      async *tail(after: number, signal: AbortSignal, options?: TailOptions) {
        for await (const positioned of inner.tail(after, signal, options)) {
          given += 1;
          yield positioned;
        }
      },
      read: (session: string, from?: number) => inner.read(session, from),
    });
    const reader = readEvents(ledger, { session: 's-root' })[Symbol.asyncIterator]();
    await reader.next();
    await settlePromises();
    expect(given).toBe(1);
    await reader.return?.();
    await inner.close();
  });

  it('lets content out where it is told to', async () => {
    await using ledger = memoryLedger();
    await twoTurns(ledger);
    const [, opened] = await readNow(ledger, { session: 's-root', content: true });
    expect(opened?.data).toMatchObject({ input: [{ type: 'text', text: expect.any(String) }] });
  });
});

describe('T27 attaching in the middle', () => {
  /** What writers of three sessions of one tree do, in some order, with readers attaching here and there. */
  const step = fc.record({
    session: fc.constantFrom(0, 1, 2),
    types: fc.array(
      fc.constantFrom<RecordType>(
        'turn.paused',
        'turn.opened',
        'turn.resumed',
        'tool.progressed',
        'tool.called',
        'turn.closed',
      ),
      { minLength: 1, maxLength: 4 },
    ),
    attach: fc.option(fc.record({ tree: fc.boolean(), back: fc.nat(12) }), { nil: undefined }),
  });
  const identities = [ROOT, CHILD, { ...CHILD, session: 's-child-2', agent: 'clerk' }] as const;

  it('at n gives n, n+1, ... without gap or duplicate, whatever else goes on', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 20 }), async (steps) => {
        await using ledger = memoryLedger();
        const writers = await Promise.all(identities.map((identity) => writerOf(ledger, identity)));
        for (const { append } of writers) await append(sampleRecord('session.opened'));
        const { promise: until, resolve: end } = Promise.withResolvers<number>();
        const attached: { options: ReadEventsOptions; reading: Promise<RunEvent[]> }[] = [];
        let turns = 0;
        for (const { session, types, attach } of steps) {
          const { session: name } = identities[session] ?? ROOT;
          // A turn of its own for each batch: none is appended to after its end.
          turns += 1;
          const place = { turn: `${name}.${turns}` };
          await writers[session]?.append(...sealed(types).map((type) => sampleRecord(type, 0, place)));
          if (attach === undefined) continue;
          const head = attach.tree ? await ledger.position() : ((await ledger.head(name))?.seq ?? 1);
          const from = Math.max(0, head - attach.back);
          const options = { session: attach.tree ? 's-root' : name, tree: attach.tree, from, until };
          attached.push({ options, reading: collect(readEvents(ledger, options)) });
        }
        end(await ledger.position());
        for (const { options, reading } of attached) {
          const { tree = false, from = 0, session } = options;
          const whole = await readNow(ledger, { session, tree });
          const expected = whole.filter(({ seq, cursor = 0 }) => (tree ? cursor > from : seq >= from));
          expect(await reading).toEqual(expected);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('sees a break in the chain of events by the link to the one before', async () => {
    await using ledger = memoryLedger();
    await twoTurns(ledger);
    const whole = await readNow(ledger, { session: 's-root', tree: true });
    for (const lost of whole.keys()) {
      const seen = new Map<string, number>();
      const gaps = whole.toSpliced(lost, 1).filter(({ session, seq, prev }) => {
        const isGap = prev !== (seen.get(session) ?? 0);
        seen.set(session, seq);
        return isGap;
      });
      const isLast = !whole.slice(lost + 1).some(({ session }) => session === whole[lost]?.session);
      expect(gaps).toHaveLength(isLast ? 0 : 1);
    }
  });
});

/** Nothing comes after the end of a turn. */
function sealed(types: readonly RecordType[]): readonly RecordType[] {
  const end = types.indexOf('turn.closed');
  return end < 0 ? types : types.slice(0, end + 1);
}
