import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FinishReason } from '../../src/model/adapter.ts';
import { call, delta, finish, text, usage, weather } from '../support/chat-chunks.ts';
import { expectSilence } from '../support/hear-noise.ts';
import { playReply, textOf } from '../support/run-step.ts';
import {
  type Reply,
  raw,
  type SseServer,
  sse,
  sseWithoutDone,
  startSseServer,
} from '../support/sse-server.ts';

let server: SseServer;
beforeAll(async () => {
  server = await startSseServer();
});
afterAll(() => server[Symbol.asyncDispose]());
expectSilence();

interface Completed {
  readonly title: string;
  readonly reply: Reply;
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly (readonly [name: string, input: string])[];
  readonly reason: FinishReason;
  readonly raw?: string;
  readonly warning?: RegExp;
}

const COMPLETED: readonly Completed[] = [
  {
    title: 'text only',
    reply: sse([...text('Hel', 'lo'), finish('stop'), usage()]),
    text: 'Hello',
    reason: 'stop',
    raw: 'stop',
  },
  {
    title: 'role-only chunks, extra fields and comments',
    reply: raw(
      `: keep-alive\n\ndata: ${JSON.stringify({ ...delta({ role: 'assistant', content: '' }), x: { y: 1 } })}\n\n: again\n\ndata: ${JSON.stringify(delta({ content: 'hi', odd: true }, 'stop'))}\n\ndata: [DONE]\n\n`,
    ),
    text: 'hi',
    reason: 'stop',
  },
  {
    title: 'reasoning_content',
    reply: sse([delta({ reasoning_content: 'hm' }), ...text('a'), finish('stop')]),
    text: 'a',
    reasoning: 'hm',
    reason: 'stop',
  },
  {
    title: 'reasoning',
    reply: sse([delta({ reasoning: 'hm' }), ...text('a'), finish('stop')]),
    text: 'a',
    reasoning: 'hm',
    reason: 'stop',
  },
  {
    title: 'a content array with thinking parts',
    reply: sse([
      delta({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }] }),
      delta({ content: [{ type: 'text', text: 'a' }] }, 'stop'),
    ]),
    text: 'a',
    reasoning: 'hm',
    reason: 'stop',
  },
  {
    title: 'think tags in content stay text',
    reply: sse([...text('<think>hm</think>a'), finish('stop')]),
    text: '<think>hm</think>a',
    reason: 'stop',
  },
  { title: 'white space only', reply: sse([...text(' \n'), finish('stop')]), text: ' \n', reason: 'stop' },
  {
    title: 'parallel calls',
    reply: sse([weather('c1', 'Rome', 0), weather('c2', 'Oslo', 1), finish('tool_calls')]),
    calls: [
      ['weather', '{"city":"Rome"}'],
      ['weather', '{"city":"Oslo"}'],
    ],
    reason: 'tool-calls',
  },
  {
    title: 'fragments that interleave',
    reply: sse([
      call({ index: 0, id: 'c1', name: 'one', args: '{"a"' }),
      call({ index: 1, id: 'c2', name: 'two', args: '{"b"' }),
      call({ index: 0, args: ':1}' }),
      call({ index: 1, args: ':2}' }),
      finish('tool_calls'),
    ]),
    calls: [
      ['one', '{"a":1}'],
      ['two', '{"b":2}'],
    ],
    reason: 'tool-calls',
  },
  {
    title: 'an index that is missing',
    reply: sse([weather('c1', 'Rome'), weather('c2', 'Oslo'), finish('tool_calls')]),
    calls: [
      ['weather', '{"city":"Rome"}'],
      ['weather', '{"city":"Oslo"}'],
    ],
    reason: 'tool-calls',
  },
  {
    title: 'an index that starts at 1',
    reply: sse([weather('c1', 'Rome', 1), finish('tool_calls')]),
    calls: [['weather', '{"city":"Rome"}']],
    reason: 'tool-calls',
  },
  {
    title: 'parallel calls that all have index 0',
    reply: sse([weather('c1', 'Rome', 0), weather('c2', 'Oslo', 0), finish('tool_calls')]),
    calls: [
      ['weather', '{"city":"Rome"}'],
      ['weather', '{"city":"Oslo"}'],
    ],
    reason: 'tool-calls',
  },
  {
    title: 'arguments before the name',
    reply: sse([
      call({ index: 0, id: 'c1', args: '{"a":1' }),
      call({ index: 0, name: 'one', args: '}' }),
      finish('tool_calls'),
    ]),
    calls: [['one', '{"a":1}']],
    reason: 'tool-calls',
  },
  {
    title: 'a name that is repeated',
    reply: sse([
      call({ index: 0, id: 'c1', name: 'one', args: '{"a"' }),
      call({ index: 0, id: 'c1', name: 'one', args: ':1}' }),
      finish('tool_calls'),
    ]),
    calls: [['one', '{"a":1}']],
    reason: 'tool-calls',
  },
  {
    title: 'an id that is repeated with a blank name',
    reply: sse([
      call({ index: 0, id: 'c1', name: 'one', args: '{"a"' }),
      call({ index: 0, id: 'c1', name: '', args: ':1}' }),
      finish('tool_calls'),
    ]),
    calls: [['one', '{"a":1}']],
    reason: 'tool-calls',
  },
  {
    title: 'malformed arguments pass as they came',
    reply: sse([call({ index: 0, id: 'c1', name: 'one', args: '{a:1,}' }), finish('tool_calls')]),
    calls: [['one', '{a:1,}']],
    reason: 'tool-calls',
  },
  {
    title: 'empty arguments pass as they came',
    reply: sse([call({ index: 0, id: 'c1', name: 'one', args: '' }), finish('tool_calls')]),
    calls: [['one', '']],
    reason: 'tool-calls',
  },
  {
    title: 'double-encoded arguments pass as they came',
    reply: sse([call({ index: 0, id: 'c1', name: 'one', args: '"{\\"a\\":1}"' }), finish('tool_calls')]),
    calls: [['one', '"{\\"a\\":1}"']],
    reason: 'tool-calls',
  },
  {
    title: 'arguments as an object become text',
    reply: sse([call({ index: 0, id: 'c1', name: 'one', args: { a: { b: '"' } } }), finish('tool_calls')]),
    calls: [['one', '{"a":{"b":"\\""}}']],
    reason: 'tool-calls',
  },
  {
    title: 'finish stop with calls',
    reply: sse([weather('c1', 'Rome', 0), finish('stop')]),
    calls: [['weather', '{"city":"Rome"}']],
    reason: 'tool-calls',
    raw: 'stop',
  },
  {
    title: 'finish tool_calls without calls',
    reply: sse([...text('done'), finish('tool_calls')]),
    text: 'done',
    reason: 'other',
    raw: 'tool_calls',
    warning: /^missing-calls/,
  },
  { title: 'finish length', reply: sse([...text('cut'), finish('length')]), text: 'cut', reason: 'length' },
  {
    title: 'finish length with calls',
    reply: sse([weather('c1', 'Rome', 0), finish('length')]),
    calls: [['weather', '{"city":"Rome"}']],
    reason: 'length',
  },
  {
    title: 'finish length after thinking only',
    reply: sse([delta({ reasoning_content: 'hm' }), finish('length')]),
    reasoning: 'hm',
    reason: 'length',
  },
  {
    title: 'MA-14 no finish but text and usage',
    reply: sse([...text('4'), usage()]),
    text: '4',
    reason: 'other',
    warning: /^missing-finish/,
  },
  {
    title: 'MA-14 finish null with text and usage, clean end',
    reply: sseWithoutDone([...text('4'), finish(null), usage()]),
    text: '4',
    reason: 'other',
    warning: /^missing-finish/,
  },
  {
    title: 'MA-14 an unknown reason with text',
    reply: sse([...text('a'), finish('eos')]),
    text: 'a',
    reason: 'other',
    raw: 'eos',
    warning: /^unknown-finish/,
  },
  {
    title: 'a last line without a line break',
    reply: raw(`data: ${JSON.stringify(delta({ content: 'a' }, 'stop'))}\n\ndata: [DONE]`),
    text: 'a',
    reason: 'stop',
  },
  {
    title: 'lines that end in carriage return and line feed',
    reply: raw(`data: ${JSON.stringify(delta({ content: 'a' }, 'stop'))}\r\n\r\ndata: [DONE]\r\n\r\n`),
    text: 'a',
    reason: 'stop',
  },
  {
    title: 'lines that end in a carriage return',
    reply: raw(`data: ${JSON.stringify(delta({ content: 'a' }, 'stop'))}\r\rdata: [DONE]\r\r`),
    text: 'a',
    reason: 'stop',
  },
];

describe('responses that complete', () => {
  it.each(COMPLETED)('$title', async (row) => {
    const { events, outcome, requests } = await playReply(server, row.reply);
    expect(outcome).toMatchObject({ type: 'completed', finish: { reason: row.reason } });
    expect(requests).toBe(1);
    expect(textOf(outcome)).toBe(row.text ?? '');
    expect(events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('')).toBe(
      row.text ?? '',
    );
    expect(events.flatMap((event) => (event.type === 'tool-call' ? [event.call] : []))).toEqual(
      outcome.report.calls,
    );
    expect(textOf(outcome, 'reasoning')).toBe(row.reasoning ?? '');
    expect(outcome.report.calls.map(({ toolName, input }) => [toolName, input])).toEqual(row.calls ?? []);
    expect(outcome.report.calls.map(({ ordinal }) => ordinal)).toEqual((row.calls ?? []).map((_, at) => at));
    if (row.raw !== undefined) expect(outcome).toMatchObject({ finish: { raw: row.raw } });
    if (row.warning === undefined) expect(outcome.report.warnings).toEqual([]);
    else expect(outcome.report.warnings).toEqual([expect.stringMatching(row.warning)]);
  });
});
