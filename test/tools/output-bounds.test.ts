import { describe, expect, it } from 'vitest';
import type { ToolOutput } from '../../src/ledger/content.ts';
import { DEFAULT_LIMITS, resolveLimits } from '../../src/limits.ts';
import { type MaterializedOutput, materializeOutput, statusOf } from '../../src/tools/output-bounds.ts';
import { toolNamed } from './bound-tool.ts';

const plain = toolNamed('probe');
const materialize = (value: unknown): MaterializedOutput => materializeOutput(plain, value, DEFAULT_LIMITS);
const shown = (output: ToolOutput) => ({ output, stored: undefined, truncated: false });

describe('materializeOutput', () => {
  it.each(['', 'plain', ' spaced \n', '{"error":"x"}', '\u001b[31mred'])(
    'gives the string %j verbatim',
    (text) => {
      expect(materialize(text)).toEqual(shown({ type: 'text', text }));
    },
  );

  it('makes a text that is no error of undefined', () => {
    expect(materialize(undefined)).toEqual(shown({ type: 'text', text: '(no output)' }));
  });

  it.each([
    null,
    0,
    false,
    [],
    {},
    { a: [1, 'x', null] },
    { error: '' },
    { error: 7 },
    { error: null },
    [{ error: 'x' }],
  ])('gives %j as JSON', (value) => {
    expect(materialize(value)).toEqual(shown({ type: 'json', value }));
  });

  it('makes an error of an object with a non-empty error text', () => {
    expect(materialize({ error: 'not found' })).toEqual(shown({ type: 'error', text: 'not found' }));
    expect(materialize({ error: 'not found', code: 404 })).toEqual(
      shown({ type: 'error', text: 'not found\n{"code":404}' }),
    );
  });

  it('makes an error of a returned Error', () => {
    expect(materialize(new RangeError('too far')).output).toEqual({
      type: 'error',
      text: 'RangeError: too far',
    });
  });

  it('TR-09 redacts and cuts errors a tool returns, and keeps no other copy of them', () => {
    const { output, stored, full } = materialize({ error: `sk-${'a1B2'.repeat(12)} ${'x'.repeat(9_000)}` });
    expect(output.type === 'error' && output.text.length).toBe(4_000);
    expect(JSON.stringify(output)).not.toContain('a1B2a1B2');
    expect([stored, full]).toEqual([undefined, undefined]);
  });

  it('says success or error by the output', () => {
    expect(statusOf(materialize('x').output)).toBe('success');
    expect(statusOf(materialize(undefined).output)).toBe('success');
    expect(statusOf(materialize({ error: 'x' }).output)).toBe('error');
  });

  it('gives text and images as content', () => {
    const content = {
      type: 'content',
      parts: [
        { type: 'text', text: 'A chart.' },
        { type: 'image', mediaType: 'image/png', source: { type: 'base64', data: 'iVBORw0K' } },
      ],
    } as const;
    expect(materialize(content).output).toEqual(content);
    expect(materialize({ type: 'content', parts: [{ type: 'video' }] }).output.type).toBe('json');
  });
});

describe('TR-08 bounds of a result', () => {
  it('TR-08 cut a text and keep it whole beside', () => {
    const text = 'line\n'.repeat(2_001);
    const { output, stored, truncated, full } = materialize(text);
    expect(output).toEqual({
      type: 'text',
      text: expect.stringMatching(/\n\[truncated: 1 more line, 5 more bytes\. /),
    });
    expect({ stored, truncated, full }).toEqual({ stored: text, truncated: true, full: text });
  });

  it('TR-08 cut JSON as text', () => {
    const value = { rows: Array.from({ length: 20_000 }, (_, n) => n) };
    const { output, stored, truncated, full } = materialize(value);
    expect(output).toEqual({
      type: 'text',
      text: expect.stringMatching(/^\{"rows":\[0,1,2,.*\n\[truncated: /),
    });
    expect({ stored, truncated, full }).toEqual({
      stored: value,
      truncated: true,
      full: JSON.stringify(value),
    });
  });

  it('follow the tool and the limits', () => {
    expect(
      materializeOutput(toolNamed('small', { maxResultBytes: 3 }), 'abcd', DEFAULT_LIMITS).truncated,
    ).toBe(true);
    expect(
      materializeOutput(toolNamed('large', { maxResultBytes: 60_000 }), 'x'.repeat(60_000), DEFAULT_LIMITS),
    ).toMatchObject({ truncated: false });
    const limits = resolveLimits({ tools: { maxResultLines: 1 } });
    expect(materializeOutput(plain, 'a\nb', limits).truncated).toBe(true);
  });

  it('end with the sentence they are given', () => {
    const { output } = materializeOutput(
      toolNamed('small', { maxResultBytes: 3 }),
      'abcd',
      DEFAULT_LIMITS,
      'Read more.',
    );
    expect(output).toEqual({ type: 'text', text: 'abc\n[truncated: 1 more line, 1 more byte. Read more.]' });
  });

  it('hold for the texts of a content result together', () => {
    const image = {
      type: 'image',
      mediaType: 'image/png',
      source: { type: 'base64', data: 'aaaa' },
    } as const;
    const text = (size: number) => ({ type: 'text', text: 'x'.repeat(size) }) as const;
    const { output, truncated } = materialize({
      type: 'content',
      parts: [text(40_000), image, text(40_000)],
    });
    expect(truncated).toBe(true);
    expect(output).toMatchObject({ type: 'content', parts: [{ type: 'text' }, image] });
    expect(JSON.stringify(output).length).toBeLessThan(52_000);
  });

  it('hold for the number of attachments', () => {
    const image = {
      type: 'image',
      mediaType: 'image/png',
      source: { type: 'base64', data: 'aaaa' },
    } as const;
    const { output, truncated } = materialize({
      type: 'content',
      parts: Array.from({ length: 70 }, () => image),
    });
    expect(truncated).toBe(true);
    expect(output.type === 'content' && output.parts).toHaveLength(65);
    expect(JSON.stringify(output)).toContain('6 more attachments left out');
  });
});

describe('TR-11 the own mapping of a tool', () => {
  const rows = { rows: [1, 2, 3], secret: 'internal' };
  const map = (toModelOutput: (output: unknown) => ToolOutput | string, value: unknown = rows) =>
    materializeOutput(toolNamed('probe', { toModelOutput }), value, DEFAULT_LIMITS);

  it('TR-11 decides what the model sees; the result is stored complete', () => {
    expect(map(() => '3 rows')).toEqual({
      output: { type: 'text', text: '3 rows' },
      stored: rows,
      truncated: false,
    });
    const json = { type: 'json', value: { count: 3 } } as const;
    expect(map(() => json)).toEqual({ output: json, stored: rows, truncated: false });
  });

  it('TR-11 is bounded like any result', () => {
    const { output, stored, truncated, full } = map(() => 'x'.repeat(60_000));
    expect(truncated).toBe(true);
    expect(output.type === 'text' && output.text.length).toBeLessThan(52_000);
    expect(stored).toEqual(rows);
    expect(full).toHaveLength(60_000);
  });

  it('may say that the result is an error', () => {
    expect(map(() => ({ type: 'error', text: 'x'.repeat(5_000) })).output).toEqual({
      type: 'error',
      text: `${'x'.repeat(3_999)}…`,
    });
  });

  it.each<[string, (output: unknown) => ToolOutput | string]>([
    [
      'throws',
      () => {
        throw new TypeError('internal');
      },
    ],
    ['gives nonsense', () => ({ type: 'picture' }) as never],
    ['gives nothing', () => undefined as never],
  ])('that %s shows nothing of the result', (_, mapping) => {
    const { output } = map(mapping);
    expect(output.type).toBe('error');
    expect(JSON.stringify(output)).not.toContain('internal');
  });

  it('is not asked about an error', () => {
    let asked = 0;
    map(
      () => {
        asked += 1;
        return 'fine';
      },
      { error: 'broken' },
    );
    expect(asked).toBe(0);
  });
});

describe('hostile results', () => {
  it.each<[string, () => unknown]>([
    [
      'a proxy that throws',
      () =>
        new Proxy(
          {},
          {
            ownKeys: () => {
              throw new TypeError('trap');
            },
          },
        ),
    ],
    [
      'a getter that throws',
      () =>
        Object.defineProperty({}, 'error', {
          enumerable: true,
          get: () => {
            throw new TypeError('trap');
          },
        }),
    ],
    [
      'a toJSON that throws',
      () => ({
        toJSON: () => {
          throw new TypeError('trap');
        },
      }),
    ],
    [
      'a revoked proxy',
      () => {
        const { proxy, revoke } = Proxy.revocable({}, {});
        revoke();
        return proxy;
      },
    ],
    [
      'an Error whose message throws',
      () =>
        Object.defineProperty(new TypeError('x'), 'message', {
          get: () => {
            throw new TypeError('trap');
          },
        }),
    ],
  ])('%s end in an output', (_, value) => {
    expect(['json', 'error', 'text']).toContain(materialize(value()).output.type);
  });
});
