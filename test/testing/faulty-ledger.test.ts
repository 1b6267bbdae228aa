import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import type { NewRecord, SessionIdentity } from '../../src/ledger/records.ts';
import { settlePromises } from '../../src/testing/fake-clock.ts';
import type { Fault } from '../../src/testing/fault-points.ts';
import { createFaultPoints } from '../../src/testing/fault-points.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';
import { faultyModel } from '../../src/testing/faulty-model.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';

const SESSION: SessionIdentity = { session: 's-a', root: 's-a', agent: 'a' };
const steering = (id: string): NewRecord => ({ type: 'steering.accepted', data: { id, text: id } });
const closing: NewRecord = { type: 'session.closed', data: { reason: 'done' } };

/** What became of three appends: two of steering and one that closes. */
async function threeAppends(faults: readonly Fault[]) {
  const inner = memoryLedger();
  const ledger = faultyLedger(inner, faults);
  const writer = await ledger.acquire(SESSION);
  const results: string[] = [];
  for (const batch of [[steering('one')], [steering('two')], [closing]]) {
    try {
      const result = await writer.append(writer.head.seq, batch);
      results.push(result.type === 'rejected' ? result.reason : result.type);
    } catch {
      results.push('thrown');
    }
  }
  return { results, stored: (await inner.read('s-a')).map(({ type }) => type), writer, ledger };
}

describe('faultyLedger', () => {
  it('passes everything through without a fault', async () => {
    const { results, stored, ledger } = await threeAppends([]);
    expect(results).toEqual(['committed', 'committed', 'committed']);
    expect(stored).toEqual(['steering.accepted', 'steering.accepted', 'session.closed']);
    expect(ledger.faults.passed).toEqual([
      'acquire',
      'append:steering.accepted',
      'append:steering.accepted',
      'append:session.closed',
    ]);
  });

  it.each<[string, Fault, readonly string[], number]>([
    [
      'before the second append of a type',
      { at: 'append', record: 'steering.accepted', skip: 1, action: { type: 'fail' } },
      ['committed', 'thrown', 'committed'],
      2,
    ],
    [
      'after an append is durable',
      { at: 'append', record: 'steering.accepted', when: 'after', action: { type: 'fail' } },
      ['thrown', 'committed', 'committed'],
      3,
    ],
    [
      'at every append',
      { at: 'append', every: true, action: { type: 'fail' } },
      ['thrown', 'thrown', 'thrown'],
      0,
    ],
    [
      'at the third operation of any kind',
      { at: 'any', skip: 2, action: { type: 'fail' } },
      ['committed', 'thrown', 'committed'],
      2,
    ],
    [
      'as a rejection',
      { at: 'append', action: { type: 'reject', reason: 'fenced' } },
      ['fenced', 'committed', 'committed'],
      2,
    ],
  ])('fires %s', async (_, fault, results, stored) => {
    const ran = await threeAppends([fault]);
    expect(ran.results).toEqual(results);
    expect(ran.stored).toHaveLength(stored);
  });

  it.each(['before', 'after'] as const)(
    'loses the writer with an unknown outcome %s the commit',
    async (when) => {
      const fault: Fault = { at: 'append', skip: 1, when, action: { type: 'indeterminate' } };
      const { results, stored, writer, ledger } = await threeAppends([fault]);
      expect(results).toEqual(['committed', 'indeterminate', 'fenced']);
      expect(stored).toHaveLength(when === 'before' ? 1 : 2);
      expect(writer.lost.aborted).toBe(true);
      const next = await ledger.acquire(SESSION);
      expect(next.epoch).toBeGreaterThan(writer.epoch);
    },
  );

  it('pauses at a gate', async () => {
    const gate = createGate();
    const running = threeAppends([{ at: 'append', skip: 1, when: 'after', action: { type: 'pause', gate } }]);
    await gate.reached;
    gate.open();
    expect((await running).results).toEqual(['committed', 'committed', 'committed']);
  });

  it('runs what a test wants to happen there', async () => {
    const seen: string[] = [];
    await threeAppends([
      { at: 'append', record: 'session.closed', action: { type: 'call', run: () => seen.push('x') } },
    ]);
    expect(seen).toEqual(['x']);
  });

  it('frees a session too that the process died in the middle of being given', async () => {
    const inner = memoryLedger();
    const gate = createGate();
    const slow = Object.assign(Object.create(inner) as typeof inner, {
      acquire: async (identity: SessionIdentity) => {
        const writer = await inner.acquire(identity);
        await gate.pass();
        return writer;
      },
    });
    const ledger = faultyLedger(slow, [{ at: 'position', action: { type: 'halt' } }]);
    void ledger.acquire(SESSION);
    await gate.reached;
    void ledger.position();
    gate.open();
    await settlePromises();
    await expect(inner.acquire(SESSION)).resolves.toMatchObject({ epoch: 2 });
  });

  it('halts like a process that died, and frees its sessions', async () => {
    const inner = memoryLedger();
    const ledger = faultyLedger(inner, [{ at: 'append', skip: 1, when: 'after', action: { type: 'halt' } }]);
    const writer = await ledger.acquire(SESSION);
    await writer.append(0, [steering('one')]);
    const answers: unknown[] = [];
    void writer.append(1, [steering('two')]).then((answer) => answers.push(answer));
    await settlePromises();
    void ledger.read('s-a').then((answer) => answers.push(answer));
    void ledger.acquire(SESSION).then((answer) => answers.push(answer));
    await settlePromises();
    expect([answers, ledger.faults.isHalted]).toEqual([[], true]);
    await using next = await inner.acquire(SESSION);
    expect((await inner.read('s-a')).length).toBe(2);
    expect(next.epoch).toBe(2);
  });

  it('puts a fault at one record of a tail', async () => {
    const inner = memoryLedger();
    const ledger = faultyLedger(inner, [{ at: 'tail', skip: 1, action: { type: 'fail' } }]);
    const writer = await ledger.acquire(SESSION);
    await writer.append(0, [steering('one'), steering('two')]);
    const seen: number[] = [];
    const reading = (async () => {
      for await (const { pos } of ledger.tail(0, new AbortController().signal)) seen.push(pos);
    })();
    await expect(reading).rejects.toMatchObject({ code: 'fault-injected' });
    expect(seen).toEqual([1]);
  });
});

it('ends its process at once where it crashes', async () => {
  const child = spawn(process.execPath, [fileURLToPath(new URL('crash-child.ts', import.meta.url))]);
  const printed = text(child.stdout);
  const [, signal] = await once(child, 'exit');
  expect([await printed, signal]).toEqual(['alive;', 'SIGKILL']);
});

async function collect<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describe('faultyModel', () => {
  const request = { messages: [], tools: [], toolChoice: { type: 'auto' as const }, settings: {} };
  const options = { signal: new AbortController().signal };

  it('counts together with a ledger that shares its faults', async () => {
    const faults = createFaultPoints([]);
    const ledger = faultyLedger(memoryLedger(), faults);
    const model = faultyModel(scriptedModel({ script: [reply().text('a')] }), faults);
    await ledger.position();
    const stream = model.step(request, options);
    for await (const event of stream.events) expect(event).toEqual({ type: 'text-delta', text: 'a' });
    expect((await stream.outcome).type).toBe('completed');
    expect(faults.passed).toEqual(['position', 'model-request', 'model-event', 'model-outcome']);
  });

  it('holds a request before it is sent', async () => {
    const gate = createGate();
    const inner = scriptedModel({ script: [reply().text('a')] });
    const model = faultyModel(inner, [{ at: 'model-request', action: { type: 'pause', gate } }]);
    const stream = model.step(request, options);
    const events = collect(stream.events);
    await gate.reached;
    expect(inner.requests).toEqual([]);
    gate.open();
    expect(await events).toHaveLength(1);
    expect(inner.requests).toHaveLength(1);
  });

  it('breaks like a broken adapter', async () => {
    const model = faultyModel(scriptedModel({ script: [] }), [
      { at: 'model-request', action: { type: 'fail' } },
    ]);
    const stream = model.step(request, options);
    await expect(collect(stream.events)).rejects.toMatchObject({ code: 'fault-injected' });
    await expect(stream.outcome).rejects.toMatchObject({ code: 'fault-injected' });
  });
});
