import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toPlainJson } from '../../src/tools/plain-json.ts';

describe('toPlainJson', () => {
  it('changes nothing that is JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(toPlainJson(value)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('gives JSON for anything, without throwing', () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withSparseArray: true,
      withNullPrototype: true,
      withObjectString: true,
    });
    fc.assert(
      fc.property(anything, (value) => {
        const plain = toPlainJson(value);
        expect(JSON.parse(JSON.stringify(plain))).toEqual(plain);
      }),
    );
  });

  it.each<[string, unknown, unknown]>([
    ['a bigint', 12345678901234567890n, '12345678901234567890'],
    ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['no date', new Date(Number.NaN), 'Invalid Date'],
    ['NaN', { n: Number.NaN }, { n: 'NaN' }],
    ['infinity', [Number.NEGATIVE_INFINITY], ['-Infinity']],
    ['a map of texts', new Map([['a', 1]]), { a: 1 }],
    ['a map of objects', new Map([[{ k: 1 }, 'v']]), [[{ k: 1 }, 'v']]],
    ['a set', new Set([1, 'x']), [1, 'x']],
    [
      'an error',
      { e: new RangeError('far', { cause: 'why' }) },
      { e: { name: 'RangeError', message: 'far', cause: 'why' } },
    ],
    ['bytes', { b: new Uint8Array(3) }, { b: '[3 bytes]' }],
    ['a URL', new URL('https://example.org/'), 'https://example.org/'],
    ['a function in an object', { f: () => 1, a: 1 }, { a: 1 }],
    ['a function in an array', [() => 1], [null]],
    ['undefined', { a: undefined, l: [undefined] }, { l: [null] }],
    [
      'a class instance',
      new (class Point {
        x = 1;
      })(),
      { x: 1 },
    ],
  ])('writes %s', (_, value, expected) => {
    expect(toPlainJson(value)).toEqual(expected);
  });

  it('names a cycle, and copies what stands twice', () => {
    const loop: Record<string, unknown> = { a: 1 };
    loop['self'] = [loop];
    expect(toPlainJson(loop)).toEqual({ a: 1, self: ['[circular]'] });
    const shared = { x: 1 };
    expect(toPlainJson([shared, shared])).toEqual([{ x: 1 }, { x: 1 }]);
  });

  it('keeps the rest where one property cannot be read', () => {
    const value = {
      a: 1,
      b: {
        get c() {
          throw new TypeError('trap');
        },
      },
    };
    expect(toPlainJson(value)).toEqual({ a: 1, b: '[unreadable]' });
  });

  it('keeps a key named __proto__ as data', () => {
    const plain = toPlainJson(JSON.parse('{"__proto__":{"admin":true}}'));
    expect(Object.keys(plain as object)).toEqual(['__proto__']);
    expect((plain as { admin?: boolean }).admin).toBeUndefined();
  });

  it('ends nesting of any depth and values that multiply each other', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level += 1) deep = [deep];
    expect(JSON.stringify(toPlainJson(deep))).toContain('[too deep]');
    let wide: unknown = 1;
    for (let level = 0; level < 40; level += 1) wide = [wide, wide];
    const startedMs = performance.now();
    expect(JSON.stringify(toPlainJson(wide))).toContain('[more]');
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });
});
