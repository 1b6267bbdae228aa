import { describe, expect, it } from 'vitest';
import type { Model, PromptMessage, StepEvent, StepOutcome, StepRequest } from '../../src/model/adapter.ts';
import { createGate } from '../../src/testing/gate.ts';
import { failure, httpResponse, reply, resetConnection, silence } from '../../src/testing/reply.ts';
import type { ScriptedResponse } from '../../src/testing/script.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';

const hello: PromptMessage = { role: 'user', content: [{ type: 'text', text: 'hello' }] };

function request(messages: readonly PromptMessage[] = [hello], more: Partial<StepRequest> = {}): StepRequest {
  return { messages, tools: [], toolChoice: { type: 'auto' }, settings: {}, ...more };
}

async function run(model: Model, asked = request(), signal = new AbortController().signal) {
  const stream = model.step(asked, { signal });
  const events: StepEvent[] = [];
  for await (const event of stream.events) events.push(event);
  return { events, outcome: await stream.outcome };
}

async function outcomeOf(...script: readonly ScriptedResponse[]): Promise<StepOutcome> {
  return (await run(scriptedModel({ script }))).outcome;
}

describe('scriptedModel', () => {
  it('streams what its script says', async () => {
    const model = scriptedModel({
      script: [
        reply()
          .reasoning('hm', { signature: 's' })
          .text('Two', { chars: 2 })
          .call('look', { at: 'x' })
          .call('look', '{"at":', { id: 'mine' })
          .usage(10, 4, { reasoning: 1, cacheRead: 3 }),
      ],
      price: { input: 1_000_000, output: 2_000_000, cacheRead: 0 },
    });
    const { events, outcome } = await run(model);
    expect(events.map((event) => ('text' in event ? event.text : event.type))).toEqual([
      'hm',
      'Tw',
      'o',
      'tool-input',
      'tool-input',
      'tool-call',
      'tool-call',
    ]);
    expect(outcome).toMatchObject({
      type: 'completed',
      finish: { reason: 'tool-calls', raw: 'tool_calls' },
      report: {
        content: [
          { type: 'reasoning', text: 'hm', providerMetadata: { scripted: { signature: 's' } } },
          { type: 'text', text: 'Two' },
          { type: 'call', ordinal: 0 },
          { type: 'call', ordinal: 1 },
        ],
        calls: [
          { ordinal: 0, wireId: 'call_1', toolName: 'look', input: '{"at":"x"}' },
          { ordinal: 1, wireId: 'mine', toolName: 'look', input: '{"at":' },
        ],
        usage: { inputTokens: 10, outputTokens: 4, cacheReadTokens: 3, reasoningTokens: 1, costUsd: 15 },
      },
    });
    model.assertPlayedOut();
  });

  it.each([
    ['an answer without usage', reply().text('x'), { type: 'completed', finish: { reason: 'stop' } }],
    ['a cut answer', reply().call('a').finish('length'), { type: 'completed', finish: { reason: 'length' } }],
    [
      'a strange reason',
      reply().text('x').finish('eos'),
      { type: 'completed', finish: { reason: 'other', raw: 'eos' } },
    ],
    [
      'no reason, with usage',
      reply().text('x').usage(1, 1).finish(null),
      { type: 'completed', finish: { reason: 'other' } },
    ],
    [
      'no reason at all',
      reply().text('x').finish(null),
      { type: 'truncated', failure: { detail: 'no-finish' } },
    ],
    ['nothing', reply(), { type: 'failed', failure: { kind: 'malformed-response', detail: 'empty' } }],
    ['a refusal', reply().refusal('no'), { type: 'failed', failure: { kind: 'content-filter' } }],
    [
      'a broken connection',
      reply().text('x').destroy(),
      { type: 'failed', failure: { kind: 'network', phase: 'stream' } },
    ],
    ['a reset', resetConnection(), { type: 'failed', failure: { kind: 'network', phase: 'connect' } }],
    [
      'a failure, word for word',
      failure({ kind: 'rate-limited', detail: 'quota', retryable: false, retryAfterMs: 5, status: 429 }),
      {
        type: 'failed',
        failure: { kind: 'rate-limited', detail: 'quota', retryable: false, retryAfterMs: 5 },
      },
    ],
    [
      'a failure in the middle',
      reply().text('x').error({ kind: 'overloaded', message: 'later' }),
      { type: 'failed', failure: { kind: 'overloaded', message: 'later', phase: 'stream' } },
    ],
    ['what only exists as bytes', reply().raw('x'), { type: 'failed', failure: { kind: 'invalid-request' } }],
    ['an HTTP answer', httpResponse(200), { type: 'failed', failure: { kind: 'invalid-request' } }],
  ] as const)('ends as a provider would for %s', async (_, response, expected) => {
    expect(await outcomeOf(response)).toMatchObject(expected);
  });

  it('keeps the text of an answer that failed', async () => {
    const outcome = await outcomeOf(reply().text('half').destroy());
    expect(outcome.report).toMatchObject({
      content: [{ type: 'text', text: 'half' }],
      emitted: { text: true },
    });
  });

  it.each([
    ['silence', silence()],
    ['a stall', reply().text('x').stall()],
    ['a gate', reply().wait(createGate())],
  ])('ends as aborted when its signal does so during %s', async (_, response) => {
    const controller = new AbortController();
    const model = scriptedModel({ script: [response] });
    const running = run(model, request(), controller.signal);
    const seen = await model.arrived(0);
    controller.abort();
    expect((await running).outcome.type).toBe('aborted');
    await seen.ended;
    expect(seen.aborted).toBe(true);
  });

  it('waits at a gate in the middle of an answer', async () => {
    const gate = createGate();
    const model = scriptedModel({ script: [reply().text('a').wait(gate).text('b')] });
    const running = run(model);
    await gate.reached;
    expect(gate.waiting).toBe(1);
    gate.open();
    const { outcome } = await running;
    expect(outcome.report.content).toEqual([{ type: 'text', text: 'ab' }]);
    expect(model.requests[0]?.aborted).toBe(false);
  });

  it('shows scripts the request in plain words', async () => {
    const asked = request(
      [
        hello,
        { role: 'assistant', content: [{ type: 'call', wireId: 'c', toolName: 'look', args: { at: 1 } }] },
        {
          role: 'tool',
          results: [{ wireId: 'c', toolName: 'look', output: { type: 'text', text: 'seen' } }],
        },
      ],
      {
        system: 'Be brief.',
        tools: [{ name: 'look', description: '', inputSchema: { type: 'object' } }],
        toolChoice: { type: 'none' },
      },
    );
    const model = scriptedModel({
      modelId: 'm',
      script: ({ lastText, system, toolNames, toolChoice, model }) =>
        reply().text([lastText, system, toolNames, toolChoice, model].join('|')),
    });
    const { outcome } = await run(model, asked);
    expect(outcome.report.content).toEqual([{ type: 'text', text: 'seen|Be brief.|look|none|m' }]);
    expect(model.requests[0]?.messages).toEqual([
      { role: 'user', text: 'hello', calls: [] },
      { role: 'assistant', text: '', calls: [{ id: 'c', name: 'look', args: { at: 1 } }] },
      { role: 'tool', text: 'seen', calls: [], callId: 'c' },
    ]);
    expect(model.requests[0]?.request).toBe(asked);
  });

  it('refuses a conversation that a strict provider refuses', async () => {
    const model = scriptedModel({ script: [reply().text('x')] });
    const broken: PromptMessage = {
      role: 'assistant',
      content: [{ type: 'call', wireId: 'c', toolName: 'look', args: {} }],
    };
    const { outcome } = await run(model, request([hello, broken]));
    expect(outcome).toMatchObject({
      type: 'failed',
      failure: { kind: 'invalid-request', message: expect.stringContaining('no result for "c"') },
    });
    await run(model);
    expect(() => model.assertPlayedOut()).toThrow(
      expect.objectContaining({ code: 'script-unplayed', message: expect.stringContaining('request 0') }),
    );
  });

  it('proves that it was played to its end and not beyond', async () => {
    const model = scriptedModel({ script: [reply().text('x')] });
    expect(() => model.assertPlayedOut()).toThrow(/1 of 1/);
    await run(model);
    model.assertPlayedOut();
    expect((await run(model)).outcome).toMatchObject({ failure: { message: 'the script holds no answer' } });
    expect(() => model.assertPlayedOut()).toThrow(/no answer for request 1/);
  });

  it('sends nothing for a request that is aborted before it begins', async () => {
    const model = scriptedModel({ script: [reply().text('x')] });
    expect((await run(model, request(), AbortSignal.abort())).outcome.type).toBe('aborted');
    expect(model.requests).toEqual([]);
  });

  it('reports what its script threw', async () => {
    const cause = new TypeError('in the script');
    const model = scriptedModel({ script: [reply().wait(() => Promise.reject(cause))] });
    expect((await run(model)).outcome.type).toBe('failed');
    expect(() => model.assertPlayedOut()).toThrow(expect.objectContaining({ cause }));
  });
});
