import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Reply, reply } from '../../src/testing/reply.ts';
import { streamFrames } from '../../src/testing/wire-stream.ts';
import { deltasOf, eventsOf } from './sse-client.ts';

/** The body a server would write, with gates left out. */
function bodyOf(answer: Reply): string {
  let calls = 0;
  const identity = { id: 'x', model: 'm', newCallId: () => `new${calls++}` };
  const decoder = new TextDecoder();
  let body = '';
  for (const frame of streamFrames(answer, identity)) {
    if (frame.type === 'bytes') body += decoder.decode(frame.bytes, { stream: true });
  }
  return body;
}

const deltas = (answer: Reply) => deltasOf(eventsOf(bodyOf(answer)));
const call = (piece: object) => ({ tool_calls: [piece] });

describe('reply', () => {
  it('opens with the role, once', () => {
    const events = eventsOf(bodyOf(reply().text('ab', { chars: 1 })));
    expect(events.slice(0, 2)).toEqual([
      expect.objectContaining({
        choices: [{ index: 0, finish_reason: null, delta: { role: 'assistant', content: 'a' } }],
      }),
      expect.objectContaining({ choices: [{ index: 0, finish_reason: null, delta: { content: 'b' } }] }),
    ]);
  });

  it('leaves the beginning it came from as it was', () => {
    const start = reply().text('a');
    start.text('b');
    expect(deltas(start)).toEqual([{ content: 'a' }]);
  });

  it.each([
    ['reasoning_content', [{ reasoning_content: 'why' }]],
    ['reasoning', [{ reasoning: 'why' }]],
    ['content-parts', [{ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'why' }] }] }]],
    ['think-tags', [{ content: '<think>' }, { content: 'why' }, { content: '</think>' }]],
    [
      'reasoning_details',
      [
        {
          content: '',
          reasoning: 'why',
          reasoning_details: [{ type: 'reasoning.text', text: 'why', format: 'unknown', index: 0 }],
        },
        { content: '', reasoning_details: [{ type: 'reasoning.text', signature: 'sig', index: 0 }] },
      ],
    ],
  ] as const)('speaks the reasoning dialect %s', (dialect, expected) => {
    expect(deltas(reply().reasoning('why', { dialect, signature: 'sig' }))).toEqual(expected);
  });

  it('writes a call in one piece', () => {
    expect(deltas(reply().call('look', { a: 1 }))).toEqual([
      call({ index: 0, id: 'new0', type: 'function', function: { name: 'look', arguments: '{"a":1}' } }),
    ]);
  });

  it('writes parallel calls in fragments, one after another or interleaved', () => {
    const two = [
      { name: 'a', args: '12', fragments: 2 },
      { name: 'b', args: '3', id: 'B' },
    ];
    const a1 = call({ index: 0, id: 'new0', type: 'function', function: { name: 'a', arguments: '1' } });
    const a2 = call({ index: 0, function: { arguments: '2' } });
    const b1 = call({ index: 1, id: 'B', type: 'function', function: { name: 'b', arguments: '3' } });
    expect(deltas(reply().calls(two))).toEqual([a1, a2, b1]);
    expect(deltas(reply().calls(two, { interleaved: true }))).toEqual([a1, b1, a2]);
    expect(deltas(reply().call('a', '12', { fragments: 2 }).call('b', '3', { id: 'B' }))).toEqual([
      a1,
      a2,
      b1,
    ]);
  });

  it.each([
    ['no id', { id: null }, { index: 0, type: 'function', function: { name: 'a', arguments: '{}' } }],
    [
      'an empty id',
      { id: '' },
      { index: 0, id: '', type: 'function', function: { name: 'a', arguments: '{}' } },
    ],
    [
      'no index',
      { index: null, id: 'i' },
      { id: 'i', type: 'function', function: { name: 'a', arguments: '{}' } },
    ],
    [
      'another index',
      { index: 1, id: 'i' },
      { index: 1, id: 'i', type: 'function', function: { name: 'a', arguments: '{}' } },
    ],
    [
      'an object as arguments',
      { argumentsAsObject: true, id: 'i' },
      { index: 0, id: 'i', type: 'function', function: { name: 'a', arguments: {} } },
    ],
    [
      'no name',
      { nameIn: 'never', id: 'i' },
      { index: 0, id: 'i', type: 'function', function: { arguments: '{}' } },
    ],
  ] as const)('writes a call with %s', (_, quirks, expected) => {
    expect(deltas(reply().call('a', {}, quirks))).toEqual([call(expected)]);
  });

  it.each([
    ['every', ['a', 'a']],
    ['first', ['a', undefined]],
    ['blank-after', ['a', '']],
    ['after-arguments', [undefined, undefined, 'a']],
  ] as const)('places the name of a call: %s', (nameIn, expected) => {
    const pieces = deltas(reply().call('a', '{}', { nameIn, fragments: 2 })) as {
      tool_calls: [{ function: { name?: string } }];
    }[];
    expect(pieces.map((piece) => piece.tool_calls[0].function.name)).toEqual(expected);
  });

  it('repeats an id where it is told to, and sends arguments as they are', () => {
    expect(deltas(reply().call('a', '{"x":', { idIn: 'every', id: 'i', fragments: 2 }))).toEqual([
      call({ index: 0, id: 'i', type: 'function', function: { name: 'a', arguments: '{"x' } }),
      call({ index: 0, id: 'i', function: { arguments: '":' } }),
    ]);
    expect(deltas(reply().call('a', '', { id: 'i' }))).toEqual([
      call({ index: 0, id: 'i', type: 'function', function: { name: 'a', arguments: '' } }),
    ]);
  });

  it('writes the function call of old', () => {
    expect(deltas(reply().call('a', '{}', { legacy: true }))).toEqual([
      { function_call: { name: 'a', arguments: '{}' } },
    ]);
  });

  it.each([
    [reply().text('x'), 'stop'],
    [reply().call('a'), 'tool_calls'],
    [reply().call('a').finish('stop'), 'stop'],
    [reply().text('x').finish('eos'), 'eos'],
    [reply().text('x').finish(null), undefined],
    [reply().text('x').error({ kind: 'overloaded' }), undefined],
  ])('ends with the finish reason it is told, or the usual one', (answer, reason) => {
    const reasons = eventsOf(bodyOf(answer)).flatMap((event) => {
      const choice = (event as { choices?: { finish_reason: string | null }[] }).choices?.[0];
      return choice?.finish_reason === undefined ? [] : [choice.finish_reason];
    });
    expect(reasons.filter((one) => one !== null).at(-1)).toBe(reason);
  });

  it.each([
    ['own-chunk', [undefined, undefined, 5]],
    ['finish-chunk', [undefined, 5]],
    ['every-chunk', [5, 5]],
    ['x_groq', [undefined, undefined]],
  ] as const)('reports usage in the place %s', (place, expected) => {
    const events = eventsOf(bodyOf(reply().text('x').usage(2, 3, { place }))).slice(0, -1);
    const totals = events.map((event) => (event as { usage?: { total_tokens: number } }).usage?.total_tokens);
    expect(totals).toEqual(expected);
    expect(JSON.stringify(events)).toContain('"total_tokens":5');
  });

  it('leaves a count empty', () => {
    expect(bodyOf(reply().usage(null, 3))).toContain('"prompt_tokens":null,"completion_tokens":3');
  });

  it.each([
    ['object', 'data: {"error":{"message":"no","type":"overloaded_error","param":null}}\n\n'],
    ['text', 'data: {"error":"no"}\n\n'],
    ['flat', 'data: {"object":"error","message":"no","type":"overloaded_error","code":null}\n\n'],
    ['event', 'event: error\ndata: {"error":{"message":"no","type":"overloaded_error","param":null}}\n\n'],
    ['with-choices', '"error":{"code":503,"message":"no"},"choices":[{"index":0,'],
  ] as const)('reports an error in the dialect %s', (dialect, expected) => {
    const answer = reply().error({ kind: 'overloaded', message: 'no', status: 503 }, dialect);
    expect(bodyOf(answer)).toContain(expected);
  });

  it('writes comments, lines, chunks, bytes and payloads as they are given', () => {
    const answer = reply()
      .comment('zzz')
      .line('not json')
      .chunk({ ping: true })
      .raw('data: half')
      .errorPayload({ message: 'no' }, 'error')
      .withoutDone();
    expect(bodyOf(answer)).toBe(
      ': zzz\n\ndata: not json\n\ndata: {"ping":true}\n\ndata: halfevent: error\ndata: {"message":"no"}\n\n',
    );
  });

  it('cuts a text into deltas that make it up', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1 }),
        fc.integer({ min: 1, max: 9 }),
        fc.boolean(),
        (text, n, byCount) => {
          const parts = deltas(reply().text(text, byCount ? { deltas: n } : { chars: n })) as {
            content: string;
          }[];
          expect(parts.map(({ content }) => content).join('')).toBe(text);
          expect(parts.length).toBeLessThanOrEqual(byCount ? n : text.length);
        },
      ),
    );
  });
});
