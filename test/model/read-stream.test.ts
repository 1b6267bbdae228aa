import { getEventListeners } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StepEvent } from '../../src/model/adapter.ts';
import { fromAiSdk } from '../../src/model/from-ai-sdk.ts';
import type { StreamPart } from '../../src/model/language-model.ts';
import { openaiCompatible } from '../../src/model/open-ai-compatible.ts';
import { delta, finish, text, weather } from '../support/chat-chunks.ts';
import { fakeModel, STOP, streamOf, textParts } from '../support/fake-language-model.ts';
import { expectSilence } from '../support/hear-noise.ts';
import { request, runStep, textOf } from '../support/run-step.ts';
import {
  breakOff,
  raw,
  type SseServer,
  silence,
  sse,
  stall,
  startSseServer,
  status,
} from '../support/sse-server.ts';

expectSilence();

const compatible = (server: SseServer, options: { byteActivity?: boolean } = {}) =>
  openaiCompatible({ baseURL: `${server.origin}/v1`, model: 'm-1', ...options });

describe('an abort', () => {
  it('in the middle keeps the partial text and closes the connection', async () => {
    await using server = await startSseServer();
    server.script(stall(text('par')));
    const controller = new AbortController();
    const stream = compatible(server).step(request(), { signal: controller.signal });
    const seen: StepEvent[] = [];
    for await (const event of stream.events) {
      seen.push(event);
      controller.abort();
    }
    const outcome = await stream.outcome;
    expect(seen).toEqual([{ type: 'text-delta', text: 'par' }]);
    expect(outcome.type).toBe('aborted');
    expect(textOf(outcome)).toBe('par');
    await server.clientLeft();
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  it('before headers closes the connection', async () => {
    await using server = await startSseServer();
    const arrived = Promise.withResolvers<void>();
    server.script(() => arrived.resolve());
    const controller = new AbortController();
    const step = runStep(compatible(server), request(), { signal: controller.signal });
    await arrived.promise;
    controller.abort();
    expect((await step).outcome.type).toBe('aborted');
    await server.clientLeft();
  });

  it('before the step sends nothing', async () => {
    await using server = await startSseServer();
    const { events, outcome } = await runStep(compatible(server), request(), {
      signal: AbortSignal.abort('why'),
    });
    expect(events).toEqual([]);
    expect(outcome).toMatchObject({ type: 'aborted', report: { content: [], calls: [] } });
    expect(server.requests).toEqual([]);
  });

  it('with any reason is an abort', async () => {
    await using server = await startSseServer();
    for (const reason of [new Error('x'), new DOMException('t', 'TimeoutError'), 'text', 7, null]) {
      server.script(stall(text('par')));
      const controller = new AbortController();
      const stream = compatible(server).step(request(), { signal: controller.signal });
      for await (const _ of stream.events) controller.abort(reason);
      expect((await stream.outcome).type).toBe('aborted');
    }
  });

  it('ends the wait for a model that ignores it, and cancels what comes late', async () => {
    const late = Promise.withResolvers<ReadableStream<StreamPart>>();
    const cancelled = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const model = fakeModel(() => {
      asked.resolve();
      return late.promise;
    });
    const controller = new AbortController();
    const step = runStep(fromAiSdk(model), request(), { signal: controller.signal });
    await asked.promise;
    controller.abort();
    expect((await step).outcome.type).toBe('aborted');
    late.resolve(new ReadableStream({ cancel: () => cancelled.resolve() }));
    await cancelled.promise;
  });

  it('ends the wait for a part that never comes', async () => {
    const controller = new AbortController();
    const stream = fromAiSdk(fakeModel(() => streamOf(textParts('par').slice(0, 2), 'open'))).step(
      request(),
      {
        signal: controller.signal,
      },
    );
    for await (const _ of stream.events) queueMicrotask(() => controller.abort());
    const outcome = await stream.outcome;
    expect(outcome.type).toBe('aborted');
    expect(textOf(outcome)).toBe('par');
  });

  it('MA-17 wins over a response that was read to its end', async () => {
    const odd: StreamPart = { ...STOP, finishReason: { unified: 'other', raw: 'eos' } } as StreamPart;
    const controller = new AbortController();
    const stream = fromAiSdk(fakeModel(() => streamOf([...textParts('a'), odd]))).step(request(), {
      signal: controller.signal,
    });
    for await (const event of stream.events) if (event.type === 'warning') controller.abort();
    expect((await stream.outcome).type).toBe('aborted');
  });

  it('leaves the calls of the response out', async () => {
    const call: StreamPart = { type: 'tool-call', toolCallId: 'c', toolName: 'one', input: '{}' };
    const controller = new AbortController();
    const stream = fromAiSdk(fakeModel(() => streamOf([call], 'open'))).step(request(), {
      signal: controller.signal,
    });
    for await (const _ of stream.events) controller.abort();
    const outcome = await stream.outcome;
    expect(outcome.report).toMatchObject({ calls: [], content: [], emitted: { toolActivity: true } });
  });
});

describe('a reader that leaves', () => {
  it('closes the connection and ends the step as aborted', async () => {
    await using server = await startSseServer();
    server.script(stall(text('a', 'b')));
    const { signal } = new AbortController();
    const stream = compatible(server).step(request(), { signal });
    for await (const _ of stream.events) break;
    expect((await stream.outcome).type).toBe('aborted');
    await server.clientLeft();
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('ends a wait that is under way', async () => {
    const { events, outcome } = fromAiSdk(fakeModel(() => streamOf([], 'open'))).step(request(), {
      signal: new AbortController().signal,
    });
    const reader = events[Symbol.asyncIterator]();
    const waiting = reader.next();
    await reader.return?.();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect((await outcome).type).toBe('aborted');
  });

  it('before it began sends nothing', async () => {
    const model = fakeModel(() => streamOf([STOP]));
    const { events, outcome } = fromAiSdk(model).step(request(), { signal: new AbortController().signal });
    await events[Symbol.asyncIterator]().return?.();
    expect((await outcome).type).toBe('aborted');
    expect(model.calls).toEqual([]);
  });
});

describe('events', () => {
  const step = (model = fakeModel(() => streamOf([...textParts('a'), STOP]))) =>
    fromAiSdk(model).step(request(), { signal: new AbortController().signal });

  it('can be taken once', () => {
    const { events } = step();
    events[Symbol.asyncIterator]();
    expect(() => events[Symbol.asyncIterator]()).toThrow(expect.objectContaining({ code: 'stream-misuse' }));
  });

  it('cannot be asked for twice at once', async () => {
    const reader = step().events[Symbol.asyncIterator]();
    const first = reader.next();
    await expect(reader.next()).rejects.toMatchObject({ code: 'stream-misuse' });
    expect((await first).value).toEqual({ type: 'text-delta', text: 'a' });
  });

  it('send the request when they are first asked for', async () => {
    const model = fakeModel(() => streamOf([STOP]));
    const { events } = step(model);
    expect(model.calls).toHaveLength(0);
    await events[Symbol.asyncIterator]().next();
    expect(model.calls).toHaveLength(1);
  });

  it('all come before the outcome settles', async () => {
    const { events, outcome } = step();
    const order: string[] = [];
    const settled = outcome.then(() => order.push('outcome'));
    for await (const event of events) order.push(event.type);
    await settled;
    expect(order).toEqual(['text-delta', 'outcome']);
  });
});

describe('onActivity', () => {
  it('MA-13 is called for every part, shown or not', async () => {
    const parts: StreamPart[] = [
      { type: 'stream-start', warnings: [] },
      { type: 'ping' },
      { type: 'raw', rawValue: 1 },
      ...textParts('a', ''),
      STOP,
    ];
    let count = 0;
    const { events } = await runStep(fromAiSdk(fakeModel(() => streamOf(parts))), request(), {
      onActivity: () => count++,
    });
    expect(events).toHaveLength(1);
    expect(count).toBe(parts.length);
  });

  it('is not called for comments, unless byteActivity asks for it', async () => {
    await using server = await startSseServer();
    const [chunk] = text('a');
    const commented = raw(
      `: working\n\ndata: ${JSON.stringify(chunk)}\n\ndata: ${JSON.stringify(finish('stop'))}\n\n`,
    );
    const counts: number[] = [];
    for (const byteActivity of [false, true]) {
      server.script(commented);
      let count = 0;
      await runStep(compatible(server, { byteActivity }), request(), { onActivity: () => count++ });
      counts.push(count);
    }
    const [parts = 0, withBytes = 0] = counts;
    // stream-start, response-metadata, text-start, text-delta, text-end, finish
    expect(parts).toBe(6);
    expect(withBytes).toBeGreaterThan(parts);
  });

  it('that throws ends the step and reaches the reader', async () => {
    const { signal } = new AbortController();
    const stream = fromAiSdk(fakeModel(() => streamOf(textParts('a'), 'open'))).step(request(), {
      signal,
      onActivity: () => {
        throw new TypeError('mine');
      },
    });
    await expect(stream.events[Symbol.asyncIterator]().next()).rejects.toThrow('mine');
    expect((await stream.outcome).type).toBe('aborted');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('a model that does not keep to its interface', () => {
  it.each([[undefined], [null], ['text'], [{ odd: true }], [new Error('boom')]])(
    'and breaks with %o fails',
    async (error) => {
      const { outcome } = await runStep(fromAiSdk(fakeModel(() => streamOf(textParts('a'), { error }))));
      expect(outcome).toMatchObject({ type: 'failed', failure: { kind: 'provider-error', phase: 'stream' } });
      expect(textOf(outcome)).toBe('a');
    },
  );

  it.each([[undefined], ['text'], [new Error('boom')]])('and throws %o fails', async (error) => {
    const { outcome } = await runStep(fromAiSdk(fakeModel(() => Promise.reject(error))));
    expect(outcome).toMatchObject({ type: 'failed', failure: { kind: 'provider-error', phase: 'connect' } });
  });

  it('and streams what is no part fails', async () => {
    const nothing = [null] as unknown as StreamPart[];
    const { outcome } = await runStep(fromAiSdk(fakeModel(() => streamOf(nothing))));
    expect(outcome).toMatchObject({
      type: 'failed',
      failure: { kind: 'malformed-response', detail: 'chunk-shape' },
    });
  });

  it('and breaks after its end has completed', async () => {
    const { outcome } = await runStep(
      fromAiSdk(fakeModel(() => streamOf([...textParts('a'), STOP], { error: new Error('late') }))),
    );
    expect(outcome).toMatchObject({ type: 'completed', finish: { reason: 'stop' } });
  });

  it('and never says that it ended is cut', async () => {
    const { outcome } = await runStep(fromAiSdk(fakeModel(() => streamOf(textParts('a')))));
    expect(outcome).toMatchObject({ type: 'truncated', failure: { detail: 'no-finish' } });
  });
});

describe('2,000 steps of all kinds on one signal', () => {
  let server: SseServer;
  beforeAll(async () => {
    server = await startSseServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('leave no listener', async () => {
    const { signal } = new AbortController();
    const model = compatible(server);
    const replies = [
      sse([...text('a'), finish('stop')]),
      sse([weather('c', 'Rome', 0), finish('tool_calls')]),
      status(500),
      raw(''),
      breakOff(text('a')),
      stall(text('a')),
    ];
    for (let step = 0; step < 2_000; step++) {
      const reply = replies[step % replies.length] ?? silence;
      server.script(reply);
      const stream = model.step(request(), { signal });
      for await (const _ of stream.events) if (step % replies.length === 5) break;
      await stream.outcome;
    }
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(server.requests).toHaveLength(2_000);
  }, 120_000);

  it('and nobody reading on while the connection breaks stays quiet', async () => {
    server.script(breakOff([...text('a'), delta({ content: 'b' })]));
    const reader = compatible(server)
      .step(request(), { signal: new AbortController().signal })
      .events[Symbol.asyncIterator]();
    expect((await reader.next()).value).toEqual({ type: 'text-delta', text: 'a' });
    await new Promise((resolve) => setImmediate(resolve));
    await reader.return?.();
  });
});
