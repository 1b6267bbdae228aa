import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FailureKind } from '../../src/model/adapter.ts';
import { call, delta, finish, text, usage, weather } from '../support/chat-chunks.ts';
import { expectSilence } from '../support/hear-noise.ts';
import { playReply, textOf } from '../support/run-step.ts';
import {
  breakOff,
  type Reply,
  raw,
  reset,
  type SseServer,
  sse,
  sseWithoutDone,
  startSseServer,
  status,
} from '../support/sse-server.ts';

let server: SseServer;
beforeAll(async () => {
  server = await startSseServer();
});
afterAll(() => server[Symbol.asyncDispose]());
expectSilence();

interface Failing {
  readonly title: string;
  readonly reply: Reply;
  readonly type?: 'truncated' | 'failed';
  readonly kind: FailureKind;
  readonly detail?: string;
  readonly retryable: boolean;
  readonly text?: string;
  readonly phase?: 'connect';
}

const MALFORMED = { kind: 'malformed-response', retryable: true } as const;
const CUT = { ...MALFORMED, type: 'truncated' } as const;

const FAILING: readonly Failing[] = [
  {
    title: 'calls without any name',
    reply: sse([call({ index: 0, id: 'c1', args: '{}' }), finish('tool_calls')]),
    ...MALFORMED,
    detail: 'chunk-shape',
  },
  {
    title: 'the legacy function_call delta',
    reply: sse([delta({ function_call: { name: 'one', arguments: '{}' } }), finish('function_call')]),
    ...MALFORMED,
    detail: 'empty',
  },
  {
    title: 'MA-14 no finish and no usage',
    reply: sse([...text('par')]),
    ...CUT,
    detail: 'no-finish',
    text: 'par',
  },
  {
    title: 'MA-14 no finish and no text',
    reply: sse([delta({ reasoning_content: 'hm' }), usage()]),
    ...CUT,
    detail: 'no-finish',
  },
  {
    title: 'MA-14 no finish and an open call',
    reply: sseWithoutDone([...text('a'), call({ index: 0, id: 'c1', name: 'one', args: '{"a' }), usage()]),
    ...CUT,
    detail: 'no-finish',
    text: 'a',
  },
  {
    title: 'MA-14 no finish and a call that looks whole',
    reply: sse([...text('a'), weather('c1', 'Rome', 0), usage()]),
    ...CUT,
    detail: 'no-finish',
    text: 'a',
  },
  {
    title: 'MA-14 content filter',
    reply: sse([...text('par'), finish('content_filter')]),
    kind: 'content-filter',
    retryable: false,
    text: 'par',
  },
  {
    title: 'a refusal',
    reply: sse([delta({ refusal: 'I cannot.' }), finish('stop')]),
    kind: 'content-filter',
    retryable: false,
    text: 'I cannot.',
  },
  {
    title: 'insufficient_system_resource',
    reply: sse([...text('par'), finish('insufficient_system_resource')]),
    kind: 'overloaded',
    retryable: true,
    text: 'par',
  },
  {
    title: 'MA-14 the reason error',
    reply: sse([...text('par'), finish('error')]),
    kind: 'provider-error',
    retryable: true,
    text: 'par',
  },
  {
    title: 'an error object with a numeric code',
    reply: sse([...text('par'), { error: { message: 'busy', code: 503 } }]),
    kind: 'overloaded',
    retryable: true,
    text: 'par',
  },
  {
    title: 'an error object with a type',
    reply: sse([{ error: { message: 'slow down', type: 'rate_limit_error' } }]),
    kind: 'rate-limited',
    retryable: true,
  },
  {
    title: 'an error object with words only',
    reply: sse([{ error: { message: 'Internal server error' } }]),
    kind: 'provider-error',
    retryable: true,
  },
  {
    title: 'an overflow as an error object',
    reply: sse([{ error: { message: 'the request exceeds the available context size', code: 400 } }]),
    kind: 'context-overflow',
    retryable: false,
  },
  {
    title: 'an error with choices',
    reply: sse([
      ...text('par'),
      { ...delta({ content: '' }), error: { code: 400, message: 'Token limit reached' } },
    ]),
    kind: 'invalid-request',
    retryable: false,
    text: 'par',
  },
  {
    title: 'an error as a string',
    reply: sse([{ error: 'The model is overloaded' }]),
    kind: 'overloaded',
    retryable: true,
  },
  {
    title: 'a flat error',
    reply: sse([
      {
        object: 'error',
        message: "This model's maximum context length is 4096 tokens",
        type: 'BadRequestError',
        code: 400,
      },
    ]),
    kind: 'context-overflow',
    retryable: false,
  },
  {
    title: 'an error and then a finish with a lost call',
    reply: sse([{ error: { message: 'boom', code: 500 } }, finish('tool_calls')]),
    kind: 'provider-error',
    retryable: true,
  },
  {
    title: 'a line of JSON without choices',
    reply: sse([{ ping: 1 }, ...text('a'), finish('stop')]),
    ...MALFORMED,
    detail: 'chunk-shape',
    text: 'a',
  },
  {
    title: 'a line that is not JSON',
    reply: sse(['oops', ...text('a'), finish('stop')]),
    ...MALFORMED,
    detail: 'chunk-shape',
    text: 'a',
  },
  {
    title: 'the role user in a delta',
    reply: sse([delta({ role: 'user', content: 'a' }), finish('stop')]),
    ...MALFORMED,
    detail: 'chunk-shape',
  },
  {
    title: 'the role tool in a delta',
    reply: sse([delta({ role: 'tool', content: 'a' }), finish('stop')]),
    ...MALFORMED,
    detail: 'chunk-shape',
  },
  { title: 'an empty body', reply: raw(''), ...CUT, detail: 'no-finish' },
  { title: 'only [DONE]', reply: sse([]), ...CUT, detail: 'no-finish' },
  { title: 'JSON with status 200', reply: status(200, { id: 'x', choices: [] }), ...CUT, detail: 'not-sse' },
  { title: 'HTML with status 200', reply: status(200, '<html>sign in</html>'), ...CUT, detail: 'not-sse' },
  {
    title: 'empty content and stop',
    reply: sse([delta({ content: '' }), finish('stop')]),
    ...MALFORMED,
    detail: 'empty',
  },
  {
    title: 'thinking only and stop',
    reply: sse([delta({ reasoning_content: 'hm' }), finish('stop')]),
    ...MALFORMED,
    detail: 'empty',
  },
  {
    title: 'no content with status 204',
    reply: (response) => void response.writeHead(204).end(),
    ...MALFORMED,
    detail: 'chunk-shape',
    phase: 'connect',
  },
  {
    title: 'a connection broken in the middle',
    reply: breakOff(text('par')),
    kind: 'network',
    retryable: true,
    text: 'par',
  },
  {
    title: 'a connection reset before headers',
    reply: reset,
    kind: 'network',
    retryable: true,
    phase: 'connect',
  },
];

describe('responses that do not', () => {
  it.each(FAILING)('$title', async (row) => {
    const { outcome, requests } = await playReply(server, row.reply);
    expect(outcome).toMatchObject({
      type: row.type ?? 'failed',
      failure: { kind: row.kind, retryable: row.retryable, phase: row.phase ?? 'stream' },
    });
    expect(requests).toBe(1);
    if (row.detail !== undefined) expect(outcome).toMatchObject({ failure: { detail: row.detail } });
    expect(textOf(outcome)).toBe(row.text ?? '');
    expect(outcome.report.calls).toEqual([]);
    expect(outcome.report.content.filter((part) => part.type === 'call')).toEqual([]);
  });
});
