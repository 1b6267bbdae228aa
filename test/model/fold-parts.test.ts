import type { wrapLanguageModel } from 'ai';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { fromAiSdk } from '../../src/model/from-ai-sdk.ts';
import type { StreamPart } from '../../src/model/language-model.ts';
import { fakeModel, STOP, streamOf, textParts, USAGE } from '../support/fake-language-model.ts';
import { expectSilence } from '../support/hear-noise.ts';
import { runStep } from '../support/run-step.ts';

expectSilence();

type SdkModel = ReturnType<typeof wrapLanguageModel>;
type SdkStream = Awaited<ReturnType<SdkModel['doStream']>>['stream'];
type SdkPart = SdkStream extends ReadableStream<infer Part> ? Part : never;

/** Every part a provider may send, and what an observer sees of one. */
const PARTS: { readonly [T in SdkPart['type']]: { part: StreamPart & { type: T }; event?: string } } = {
  'stream-start': {
    part: { type: 'stream-start', warnings: [{ type: 'unsupported', feature: 'topK' }] },
    event: 'warning',
  },
  'response-metadata': { part: { type: 'response-metadata', id: 'r1', modelId: 'f-1-0101' } },
  'text-start': { part: { type: 'text-start', id: '1' } },
  'text-delta': { part: { type: 'text-delta', id: '1', delta: 'a' }, event: 'text-delta' },
  'text-end': { part: { type: 'text-end', id: '1' } },
  'reasoning-start': { part: { type: 'reasoning-start', id: '1' } },
  'reasoning-delta': { part: { type: 'reasoning-delta', id: '1', delta: 'a' }, event: 'reasoning-delta' },
  'reasoning-end': { part: { type: 'reasoning-end', id: '1' } },
  'tool-input-start': { part: { type: 'tool-input-start', id: '1', toolName: 'one' }, event: 'tool-input' },
  'tool-input-delta': { part: { type: 'tool-input-delta', id: '1', delta: '{' } },
  'tool-input-end': { part: { type: 'tool-input-end', id: '1' } },
  'tool-call': {
    part: { type: 'tool-call', toolCallId: '1', toolName: 'one', input: '{}' },
    event: 'tool-call',
  },
  'tool-result': {
    part: { type: 'tool-result', toolCallId: '1', toolName: 'search', result: { hits: 1 } },
    event: 'provider-tool-result',
  },
  'tool-approval-request': { part: { type: 'tool-approval-request', approvalId: 'a', toolCallId: '1' } },
  source: { part: { type: 'source', sourceType: 'url', id: 's', url: 'https://x.test' } },
  file: {
    part: { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([1, 2, 3]) } },
  },
  'reasoning-file': {
    part: { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
  },
  custom: { part: { type: 'custom', kind: 'fake.thing', providerMetadata: { fake: { x: 1 } } } },
  finish: { part: STOP as Extract<StreamPart, { type: 'finish' }> },
  ping: { part: { type: 'ping' } },
  raw: { part: { type: 'raw', rawValue: {} } },
  error: { part: { type: 'error', error: new Error('boom') } },
};

const play = (...parts: StreamPart[]) => runStep(fromAiSdk(fakeModel(() => streamOf(parts))));

describe('the parts of the interface', () => {
  it('are those listed here, no more and no fewer', () => {
    expectTypeOf<keyof typeof PARTS>().toEqualTypeOf<SdkPart['type']>();
    expectTypeOf<StreamPart['type']>().toEqualTypeOf<SdkPart['type']>();
    expect(Object.keys(PARTS)).toHaveLength(22);
  });

  it.each(Object.entries(PARTS))('%s is taken without complaint', async (_, { part, event }) => {
    const { events, outcome } = await play(part, ...textParts('t'), STOP);
    const own = events.filter((one) => one.type !== 'text-delta' || one.text !== 't');
    expect(own.map(({ type }) => type)).toEqual(event === undefined ? [] : [event]);
    expect(outcome.report.warnings.join()).not.toContain('not understood');
  });

  it('of a newer version are warned of', async () => {
    const { outcome } = await play({ type: 'hologram' } as never, ...textParts('t'), STOP);
    expect(outcome).toMatchObject({ type: 'completed' });
    expect(outcome.report.warnings).toEqual(['a part of kind hologram was not understood']);
  });
});

describe('blocks', () => {
  it('stand in the order they were opened, though their deltas interleave', async () => {
    const { outcome } = await play(
      { type: 'reasoning-start', id: 'r' },
      { type: 'text-start', id: 'a' },
      { type: 'text-start', id: 'b' },
      { type: 'text-delta', id: 'b', delta: 'B' },
      { type: 'text-delta', id: 'a', delta: 'A' },
      { type: 'reasoning-delta', id: 'r', delta: 'R' },
      { type: 'text-delta', id: 'b', delta: 'b' },
      { type: 'text-end', id: 'b' },
      STOP,
    );
    expect(outcome.report.content).toEqual([
      { type: 'reasoning', text: 'R' },
      { type: 'text', text: 'A' },
      { type: 'text', text: 'Bb' },
    ]);
  });

  it('that share an id one after the other are two', async () => {
    const { outcome } = await play(...textParts('a'), ...textParts('b'), STOP);
    expect(outcome.report.content).toEqual([
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ]);
  });

  it('keep metadata of start, deltas and end, the later key winning', async () => {
    const { outcome } = await play(
      { type: 'reasoning-start', id: 'r', providerMetadata: { p: { a: 1, b: 1 } } },
      { type: 'reasoning-delta', id: 'r', delta: 'R', providerMetadata: { p: { b: 2 } } },
      { type: 'reasoning-end', id: 'r', providerMetadata: { p: { signature: 'sig' }, q: {} } },
      ...textParts('t'),
      STOP,
    );
    expect(outcome.report.content[0]).toEqual({
      type: 'reasoning',
      text: 'R',
      providerMetadata: { p: { a: 1, b: 2, signature: 'sig' } },
    });
    expect(outcome.report.emitted).toEqual({
      text: true,
      reasoning: true,
      toolActivity: false,
      metadata: true,
    });
  });

  it('without text are kept for their metadata only', async () => {
    const { outcome } = await play(
      { type: 'text-start', id: 'x' },
      { type: 'text-end', id: 'x' },
      { type: 'reasoning-start', id: 'r', providerMetadata: { p: { redacted: 'x' } } },
      { type: 'reasoning-end', id: 'r' },
      ...textParts('t'),
      STOP,
    );
    expect(outcome.report.content).toEqual([
      { type: 'reasoning', text: '', providerMetadata: { p: { redacted: 'x' } } },
      { type: 'text', text: 't' },
    ]);
  });

  it('are followed by the sources they cite', async () => {
    const source = { type: 'source', sourceType: 'url', id: 's', url: 'https://x.test' } as const;
    const { outcome } = await play(
      { type: 'text-start', id: 'x' },
      { type: 'text-delta', id: 'x', delta: 'a' },
      { type: 'text-end', id: 'x', citations: [{ source, startIndex: 0, endIndex: 1 }] },
      STOP,
    );
    expect(outcome.report.content[1]).toEqual({
      type: 'source',
      source: { sourceType: 'url', id: 's', url: 'https://x.test', startIndex: 0, endIndex: 1 },
    });
  });

  it('hold what JSON can hold of metadata', async () => {
    const metadata = { p: { when: new Date(0), none: undefined, deep: { ok: true } } } as never;
    const { outcome } = await play(
      { type: 'text-start', id: 't', providerMetadata: metadata },
      ...textParts('a').slice(1),
      STOP,
    );
    expect(outcome.report.content).toEqual([
      {
        type: 'text',
        text: 'a',
        providerMetadata: { p: { when: '1970-01-01T00:00:00.000Z', deep: { ok: true } } },
      },
    ]);
  });

  it('hold bytes as base64', async () => {
    const { outcome } = await play(PARTS.file.part, STOP);
    expect(outcome).toMatchObject({ type: 'completed' });
    expect(outcome.report.content).toEqual([
      { type: 'file', mediaType: 'image/png', source: { type: 'base64', data: 'AQID' } },
    ]);
  });
});

describe('calls', () => {
  const call = (id: string, name: string, extra: object = {}): StreamPart => ({
    type: 'tool-call',
    toolCallId: id,
    toolName: name,
    input: '{}',
    ...extra,
  });

  it('MA-20 that repeat an id are two, told apart by their ordinal', async () => {
    const { outcome } = await play(call('same', 'one'), call('same', 'two'), STOP);
    expect(outcome.report.calls).toMatchObject([
      { ordinal: 0, wireId: 'same', toolName: 'one' },
      { ordinal: 1, wireId: 'same', toolName: 'two' },
    ]);
    expect(outcome.report.content).toEqual([
      { type: 'call', ordinal: 0 },
      { type: 'call', ordinal: 1 },
    ]);
  });

  it('MA-20 that the package calls invalid are reported as they came', async () => {
    const { events, outcome } = await play(call('c', 'nowhere', { invalid: true, input: '{oops' }), STOP);
    expect(outcome.report.calls).toEqual([{ ordinal: 0, wireId: 'c', toolName: 'nowhere', input: '{oops' }]);
    expect(events.map(({ type }) => type)).toEqual(['tool-call']);
  });

  it('keep their metadata', async () => {
    const { outcome } = await play(
      call('c', 'one', { providerMetadata: { google: { thoughtSignature: 's' } } }),
      STOP,
    );
    expect(outcome.report.calls[0]?.providerMetadata).toEqual({ google: { thoughtSignature: 's' } });
    expect(outcome.report.emitted.metadata).toBe(true);
  });

  it('of a provider for itself are items and never calls', async () => {
    const { events, outcome } = await play(
      { type: 'tool-input-start', id: 'p', toolName: 'web', providerExecuted: true },
      call('p', 'web', { providerExecuted: true }),
      { type: 'tool-result', toolCallId: 'p', toolName: 'web', result: { n: 1 }, isError: true },
      ...textParts('a'),
      STOP,
    );
    expect(outcome.report.calls).toEqual([]);
    expect(outcome.report.content.map(({ type }) => type)).toEqual([
      'provider-item',
      'provider-item',
      'text',
    ]);
    expect(events.slice(0, 2)).toEqual([
      { type: 'tool-input', toolName: 'web', providerExecuted: true },
      { type: 'provider-tool-result', toolName: 'web', isError: true },
    ]);
    expect(outcome).toMatchObject({ type: 'completed', finish: { reason: 'stop' } });
    expect(outcome.report.emitted.toolActivity).toBe(true);
  });

  it('at the limit of the output count as cut', async () => {
    const model = fromAiSdk(
      fakeModel(() => streamOf([call('c', 'one'), { ...STOP, usage: USAGE } as StreamPart])),
    );
    const { outcome } = await runStep(model, {
      messages: [],
      tools: [],
      toolChoice: { type: 'auto' },
      settings: { maxOutputTokens: 5 },
    });
    expect(outcome).toMatchObject({ type: 'completed', finish: { reason: 'length' } });
    expect(outcome.report.warnings).toEqual([expect.stringMatching(/^output-limit/)]);
  });
});

describe('an end', () => {
  const ended = (unified: string, raw?: string): StreamPart =>
    ({ type: 'finish', finishReason: { unified, raw }, usage: USAGE }) as StreamPart;

  it.each([
    ['error', undefined, 'provider-error'],
    ['error', 'MALFORMED_FUNCTION_CALL', 'malformed-response'],
    ['content-filter', 'SAFETY', 'content-filter'],
  ])('with the reason %s (%s) is a failure', async (unified, rawReason, kind) => {
    const { outcome } = await play(...textParts('a'), ended(unified, rawReason));
    expect(outcome).toMatchObject({ type: 'failed', failure: { kind } });
  });

  it('with a full window cuts an answer, or says that the request did not fit', async () => {
    const full = ended('other', 'model_context_window_exceeded');
    expect((await play(...textParts('a'), full)).outcome).toMatchObject({
      type: 'completed',
      finish: { reason: 'length' },
    });
    expect((await play(full)).outcome).toMatchObject({
      type: 'failed',
      failure: { kind: 'context-overflow' },
    });
  });

  it.each([
    [[...textParts('a')], 'completed'],
    [[{ type: 'tool-input-start', id: 'i', toolName: 'one' } as StreamPart, ...textParts('a')], 'truncated'],
    [[] as StreamPart[], 'truncated'],
  ])('that the package calls interrupted is a missing one', async (parts, type) => {
    const { outcome } = await play(...parts, ended('interrupted'));
    expect(outcome.type).toBe(type);
  });

  it('keeps the first of several errors, and the usage that came after it', async () => {
    const failing = (code: number): StreamPart => ({ type: 'error', error: { message: 'x', code } });
    const { outcome } = await play(failing(503), failing(401), ended('tool-calls'));
    expect(outcome).toMatchObject({
      type: 'failed',
      failure: { kind: 'overloaded' },
      report: { usage: { inputTokens: 10 } },
    });
  });

  it('asks for no approval of a tool the provider runs', async () => {
    const { outcome } = await play(PARTS['tool-approval-request'].part, STOP);
    expect(outcome).toMatchObject({
      type: 'failed',
      failure: { kind: 'invalid-request', detail: 'provider-approval', retryable: false },
    });
  });

  it('comes early for a response over its bound', async () => {
    const model = fromAiSdk(
      fakeModel(() => streamOf(textParts('x'.repeat(60), 'x'.repeat(60)), 'open')),
      { maxResponseBytes: 100 },
    );
    const { outcome } = await runStep(model);
    expect(outcome).toMatchObject({
      type: 'failed',
      failure: { kind: 'malformed-response', detail: 'too-large' },
    });
  });
});
