import { describe, expect, it } from 'vitest';
import { createGate } from '../../src/testing/gate.ts';
import {
  failure,
  htmlResponse,
  httpResponse,
  recordedStream,
  reply,
  resetConnection,
  silence,
} from '../../src/testing/reply.ts';
import { scriptByModel } from '../../src/testing/script.ts';
import { scriptedServer } from '../../src/testing/scripted-server.ts';
import { ask, deltasOf, post } from './sse-client.ts';

const CALL = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };

describe('scriptedServer', () => {
  it('plays answers in order and proves it', async () => {
    await using server = await scriptedServer({
      script: [reply().text('Hello world', { deltas: 3 }).usage(7, 3), reply().text('Bye')],
    });
    const first = await ask(server.baseURL);
    expect(deltasOf(first.events)).toEqual([{ content: 'Hell' }, { content: 'o wo' }, { content: 'rld' }]);
    expect(first.events.slice(-3)).toEqual([
      expect.objectContaining({ choices: [{ index: 0, finish_reason: 'stop', delta: {} }] }),
      expect.objectContaining({
        choices: [],
        usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
      }),
      '[DONE]',
    ]);
    expect(first.headers.get('content-type')).toContain('text/event-stream');
    expect(() => server.assertPlayedOut()).toThrow(
      expect.objectContaining({ code: 'script-unplayed', message: expect.stringContaining('1 of 2') }),
    );
    await ask(server.baseURL);
    server.assertPlayedOut();
  });

  it('refuses what the script does not hold, and says so at the end', async () => {
    await using server = await scriptedServer({ script: [] });
    expect((await ask(server.baseURL)).status).toBe(400);
    expect(() => server.assertPlayedOut()).toThrow(expect.objectContaining({ code: 'script-unplayed' }));
  });

  it('lets a function answer by the request', async () => {
    await using server = await scriptedServer({
      script: ({ lastText, toolNames, system }, index) =>
        reply().text(`${index}:${lastText}:${toolNames.join('+')}:${system}`),
    });
    const answer = await ask(server.baseURL, {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'text', text: 'look' }, { type: 'image_url' }] },
      ],
      more: { tools: [{ type: 'function', function: { name: 'a' } }] },
    });
    expect(deltasOf(answer.events)).toEqual([{ content: '0:look[image_url]:a:Be brief.' }]);
  });

  it('keeps the list of each model apart', async () => {
    await using server = await scriptedServer({
      script: scriptByModel({ big: [reply().text('B')], small: [reply().text('s1'), reply().text('s2')] }),
    });
    const texts: unknown[] = [];
    for (const model of ['small', 'big', 'small']) {
      texts.push(deltasOf((await ask(server.baseURL, { model })).events)[0]);
    }
    expect(texts).toEqual([{ content: 's1' }, { content: 'B' }, { content: 's2' }]);
    server.assertPlayedOut();
  });

  it('reports what a script function threw', async () => {
    const cause = new TypeError('in the script');
    await using server = await scriptedServer({
      script: () => {
        throw cause;
      },
    });
    await ask(server.baseURL);
    expect(() => server.assertPlayedOut()).toThrow(expect.objectContaining({ cause }));
  });

  it('answers a client that wants no stream', async () => {
    await using server = await scriptedServer({
      script: [reply().reasoning('hm').text('Looking.').call('look', { at: 'x' }).usage(1, 2)],
    });
    const { text } = await ask(server.baseURL, { stream: false });
    expect(JSON.parse(text)).toMatchObject({
      object: 'chat.completion',
      choices: [
        {
          finish_reason: 'tool_calls',
          message: {
            content: 'Looking.',
            reasoning_content: 'hm',
            tool_calls: [{ id: 'call_1', function: { name: 'look', arguments: '{"at":"x"}' } }],
          },
        },
      ],
      usage: { total_tokens: 3 },
    });
  });

  it('records headers, bodies and order', async () => {
    await using server = await scriptedServer({ script: () => reply().text('ok') });
    const second = server.arrived(1);
    await ask(server.baseURL, { more: { temperature: 0.5 } });
    await ask(server.baseURL, { model: 'n' });
    expect(server.requests.map(({ ordinal, model }) => [ordinal, model])).toEqual([
      [0, 'm'],
      [1, 'n'],
    ]);
    expect(server.requests[0]?.body).toMatchObject({ temperature: 0.5 });
    expect(server.requests[0]?.headers['content-type']).toBe('application/json');
    expect(await second).toBe(server.requests[1]);
    expect(await server.arrived(0)).toBe(server.requests[0]);
  });

  it('waits at a gate in the middle of an answer', async () => {
    const gate = createGate();
    await using server = await scriptedServer({ script: [reply().text('a').wait(gate).text('b')] });
    const response = await post(server.baseURL);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader?.read())?.value).toContain('"a"');
    await gate.reached;
    gate.open();
    expect((await reader?.read())?.value).toContain('"b"');
    await reader?.cancel();
  });

  it('notices a client that goes away', async () => {
    const gate = createGate();
    await using server = await scriptedServer({ script: [reply().text('a').wait(gate), reply().text('b')] });
    const client = new AbortController();
    const answer = ask(server.baseURL, { signal: client.signal });
    await gate.reached;
    client.abort();
    await expect(answer).rejects.toThrow();
    const request = await server.arrived(0);
    await request.ended;
    expect(request.aborted).toBe(true);
    expect(gate.waiting).toBe(0);
    await ask(server.baseURL);
    const other = await server.arrived(1);
    await other.ended;
    expect(other.aborted).toBe(false);
  });

  it('refuses connections once it is closed, even while it hangs', async () => {
    const server = await scriptedServer({ script: [silence()] });
    const answer = ask(server.baseURL);
    const broken = expect(answer).rejects.toThrow();
    await server.arrived(0);
    await server.close();
    await broken;
    await expect(post(server.baseURL)).rejects.toThrow();
  });

  it('answers other paths with 404', async () => {
    await using server = await scriptedServer({ script: [] });
    expect((await fetch(`${server.baseURL}/models`)).status).toBe(404);
    expect(server.requests).toEqual([]);
  });
});

describe('pairing at the server', () => {
  it('refuses a conversation that a strict provider refuses', async () => {
    await using server = await scriptedServer({ script: [reply().text('ok')] });
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: '', tool_calls: [CALL] },
      { role: 'user', content: 'and?' },
    ];
    const answer = await ask(server.baseURL, { messages });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('no result before it for');
    expect(server.requests[0]?.violations).toHaveLength(1);
    await ask(server.baseURL);
    expect(() => server.assertPlayedOut()).toThrow(/strict provider refuses request 0/);
  });

  it('only notes it where the test says so', async () => {
    await using server = await scriptedServer({ script: [reply().text('ok')], violations: 'record' });
    const answer = await ask(server.baseURL, {
      messages: [{ role: 'tool', tool_call_id: 'x', content: '' }],
    });
    expect(answer.status).toBe(200);
    expect(server.requests[0]?.violations).toEqual([
      expect.stringContaining('result for "x" answers no open call'),
    ]);
  });

  it('refuses a body that is no request', async () => {
    await using server = await scriptedServer({ script: [] });
    const response = await fetch(`${server.baseURL}/chat/completions`, { method: 'POST', body: 'nonsense' });
    expect(response.status).toBe(400);
    expect(server.requests[0]).toMatchObject({ body: null, violations: [expect.any(String)] });
  });
});

describe('faults of the connection and the head', () => {
  it.each([
    ['a reset', resetConnection()],
    ['a broken stream', reply().text('half').destroy()],
    ['a network failure', failure({ kind: 'network' })],
  ])('breaks the connection for %s', async (_, response) => {
    await using server = await scriptedServer({ script: [response] });
    await expect(ask(server.baseURL)).rejects.toThrow();
    const request = await server.arrived(0);
    await request.ended;
    expect(request.aborted).toBe(false);
    server.assertPlayedOut();
  });

  it('shows what came before the connection broke', async () => {
    await using server = await scriptedServer({ script: [reply().text('half').destroy()] });
    const response = await post(server.baseURL);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader?.read())?.value).toContain('half');
    await expect(reader?.read()).rejects.toThrow();
  });

  it.each([
    [failure({ kind: 'rate-limited', retryAfterMs: 1_500 }), 429, 'rate_limit_exceeded'],
    [failure({ kind: 'rate-limited', detail: 'quota' }), 429, 'insufficient_quota'],
    [failure({ kind: 'context-overflow' }), 400, 'context_length_exceeded'],
    [failure({ kind: 'auth', status: 403 }), 403, 'invalid_api_key'],
    [failure({ kind: 'overloaded' }), 503, 'overloaded_error'],
    [failure({ kind: 'provider-error' }), 500, 'server_error'],
    [httpResponse(529, { error: { message: 'Overloaded' } }), 529, 'Overloaded'],
    [htmlResponse(502, 'Bad Gateway'), 502, '<title>Bad Gateway</title>'],
    [httpResponse(200, { not: 'a stream' }), 200, '{"not":"a stream"}'],
    [httpResponse(400, [{ error: { message: 'in a list' } }]), 400, 'in a list'],
  ])('answers %j', async (response, status, text) => {
    await using server = await scriptedServer({ script: [response] });
    const answer = await ask(server.baseURL);
    expect(answer.status).toBe(status);
    expect(answer.text).toContain(text);
  });

  it.each(['7', 'Wed, 21 Oct 2026 07:28:00 GMT', 'soon'])('sends Retry-After as given: %s', async (value) => {
    await using server = await scriptedServer({ script: [httpResponse(429, '', { 'retry-after': value })] });
    const answer = await ask(server.baseURL);
    expect([answer.status, answer.text, answer.headers.get('retry-after')]).toEqual([429, '', value]);
  });

  it('sends Retry-After of a failure in seconds and milliseconds', async () => {
    await using server = await scriptedServer({
      script: [failure({ kind: 'overloaded', retryAfterMs: 1_500 })],
    });
    const { headers } = await ask(server.baseURL);
    expect([headers.get('retry-after'), headers.get('retry-after-ms')]).toEqual(['2', '1500']);
  });

  it('ends without a word for a malformed response', async () => {
    await using server = await scriptedServer({ script: [failure({ kind: 'malformed-response' })] });
    expect((await ask(server.baseURL)).text).toBe('data: [DONE]\n\n');
  });
});

describe('recorded streams', () => {
  it('plays an SSE body byte for byte, cut anywhere', async () => {
    const body = ': ping\r\n\r\ndata: {"choices":[{"delta":{"content":"häh 😀"}}]}\n\ndata: [DONE]\n\n';
    await using server = await scriptedServer({ script: [recordedStream(body).split(1, 3, 2)] });
    expect((await ask(server.baseURL)).text).toBe(body);
  });

  it('frames recorded chunks', async () => {
    await using server = await scriptedServer({ script: [recordedStream('{"a":1}\n{"b":2}\n')] });
    expect((await ask(server.baseURL)).text).toBe('data: {"a":1}\n\ndata: {"b":2}\n\ndata: [DONE]\n\n');
  });
});
