import { describe, expect, it } from 'vitest';
import { createLiveBus, type LiveDelta, type LivePart } from '../../src/events/live-bus.ts';

const delta = (text: string, session = 's'): LiveDelta => ({
  type: 'text-delta',
  text,
  session,
  step: 's.1.1',
  agentPath: ['a'],
});

async function drain(parts: AsyncIterable<LivePart>): Promise<readonly string[]> {
  const seen: string[] = [];
  for await (const part of parts) seen.push(part.type === 'gap' ? `gap ${part.missed}` : part.text);
  return seen;
}

describe('live bus', () => {
  it('shows a reader what comes after it attached', async () => {
    const bus = createLiveBus();
    bus.publish(delta('before'));
    const parts = bus.read();
    for (const text of ['a', 'b']) bus.publish(delta(text));
    bus.close();
    bus.publish(delta('after'));
    expect(await drain(parts)).toEqual(['a', 'b']);
  });

  it('wakes a reader that waits', async () => {
    const bus = createLiveBus();
    const iterator = bus.read()[Symbol.asyncIterator]();
    const next = iterator.next();
    bus.publish(delta('a'));
    expect(await next).toEqual({ done: false, value: delta('a') });
  });

  it('serves several readers, each what it wants', async () => {
    const bus = createLiveBus();
    const [all, one] = [bus.read(), bus.read({ wants: ({ session }) => session === 'one' })];
    bus.publish(delta('a', 'one'));
    bus.publish(delta('b', 'two'));
    expect(bus.readers).toBe(2);
    bus.close();
    expect([await drain(all), await drain(one), bus.readers]).toEqual([['a', 'b'], ['a'], 0]);
  });

  it('drops the oldest for a slow reader and says how many', async () => {
    const bus = createLiveBus({ maxReaderBacklog: 3 });
    const parts = bus.read();
    for (let at = 0; at < 1_000; at += 1) bus.publish(delta(String(at)));
    const iterator = parts[Symbol.asyncIterator]();
    expect((await iterator.next()).value).toEqual({ type: 'gap', missed: 997 });
    expect((await iterator.next()).value).toEqual(delta('997'));
    bus.publish(delta('1000'));
    bus.publish(delta('1001'));
    bus.close();
    expect(await drain({ [Symbol.asyncIterator]: () => iterator })).toEqual(['gap 1', '999', '1000', '1001']);
  });

  it('keeps order over many turns of a full ring', async () => {
    const bus = createLiveBus({ maxReaderBacklog: 4 });
    const iterator = bus.read()[Symbol.asyncIterator]();
    for (let at = 0; at < 40; at += 3) {
      for (let text = at; text < at + 3; text += 1) bus.publish(delta(String(text)));
      for (let text = at; text < at + 3; text += 1) {
        expect((await iterator.next()).value).toEqual(delta(String(text)));
      }
    }
  });

  it('holds no more than the bound, whatever is published', async () => {
    const bus = createLiveBus({ maxReaderBacklog: 100 });
    const parts = bus.read();
    for (let at = 0; at < 100_000; at += 1) bus.publish(delta(String(at)));
    bus.close();
    const seen = await drain(parts);
    expect(seen).toHaveLength(101);
    expect(seen[0]).toBe('gap 99900');
  });

  it('lets a reader go that breaks', async () => {
    const bus = createLiveBus();
    const parts = bus.read();
    bus.publish(delta('x'));
    for await (const part of parts) {
      expect(part).toEqual(delta('x'));
      break;
    }
    expect(bus.readers).toBe(0);
  });

  it('lets a reader go whose signal aborts, with what it had not read', async () => {
    const bus = createLiveBus();
    const controller = new AbortController();
    const waiting = drain(bus.read({ signal: controller.signal }));
    const behind = bus.read({ signal: controller.signal, wants: ({ text }) => text === 'x' });
    bus.publish(delta('x'));
    controller.abort();
    expect([await waiting, await drain(behind), bus.readers]).toEqual([['x'], [], 0]);
    expect(await drain(bus.read({ signal: controller.signal }))).toEqual([]);
  });

  it('ends at once for who reads after the close', async () => {
    const bus = createLiveBus();
    bus.close();
    expect(await drain(bus.read())).toEqual([]);
  });

  it('refuses more readers than its bound', () => {
    const bus = createLiveBus({ maxReaders: 1 });
    bus.read();
    expect(() => bus.read()).toThrow(expect.objectContaining({ code: 'too-many-readers' }));
  });

  it('refuses to be asked twice at once', async () => {
    const iterator = createLiveBus().read()[Symbol.asyncIterator]();
    void iterator.next();
    await expect(iterator.next()).rejects.toMatchObject({ code: 'stream-misuse' });
  });
});
