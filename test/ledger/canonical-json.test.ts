import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalCopy, canonicalJson } from '../../src/ledger/canonical-json.ts';

/** JSON values with keys of every kind: any text, digits, names that objects have already. */
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('\ud800', 'a\udfff', '\u2028', '"\\'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(
      fc.oneof(
        fc.string({ maxLength: 3 }),
        fc.nat(20).map(String),
        fc.constantFrom('__proto__', 'toJSON', '01'),
      ),
      tie('value'),
      { maxKeys: 5, noNullPrototype: true },
    ),
  ),
})).value;

describe('canonical JSON', () => {
  test.each([
    [{ b: 1, a: [true, null, 'x'] }, '{"a":[true,null,"x"],"b":1}'],
    [{ '10': 1, '9': 2, a: 3, '-': 4 }, '{"-":4,"10":1,"9":2,"a":3}'],
    [
      { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\u{1f600}': 5, '\u0080': 6, '\u00f6': 7 },
      '{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}',
    ],
    [[333333333.3333333, 1e30, 4.5, 2e-3, 1e-27, -0], '[333333333.3333333,1e+30,4.5,0.002,1e-27,0]'],
    [{ a: undefined, b: { c: undefined } }, '{"b":{}}'],
    [{ text: '\ud800' }, '{"text":"\\ud800"}'],
    ['plain', '"plain"'],
  ])('writes %j in the one way', (value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  test('equal values have equal texts in whatever order their keys were set', () => {
    fc.assert(
      fc.property(json, (value) => void expect(canonicalJson(reversed(value))).toBe(canonicalJson(value))),
    );
  });

  test('a text is read back as the value', () => {
    fc.assert(
      fc.property(json, (value) => {
        const back: unknown = JSON.parse(canonicalJson(value));
        expect(canonicalJson(back)).toBe(canonicalJson(value));
        expect(back).toStrictEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test('keys stand in code unit order at every level', () => {
    fc.assert(fc.property(json, (value) => void expect(canonicalJson(value)).toBe(sortedText(value))));
  });

  test('a copy equals what its text is parsed to and shares nothing', () => {
    fc.assert(
      fc.property(json, (value) => {
        const copy = canonicalCopy(value);
        expect(JSON.stringify(copy)).toBe(JSON.stringify(JSON.parse(canonicalJson(value))));
        if (typeof value === 'object' && value !== null) expect(copy).not.toBe(value);
      }),
    );
  });

  const cycle: unknown[] = [];
  cycle.push(cycle);
  test.each([
    ['not a number', Number.NaN],
    ['infinity', { a: Number.POSITIVE_INFINITY }],
    ['a bigint', [1n]],
    ['a function', { toJSON: () => 'x' }],
    ['a symbol', Symbol('x')],
    ['undefined', undefined],
    ['a hole', new Array(2)],
    ['a date', new Date(0)],
    ['a map', new Map()],
    ['a boxed text', Object('x')],
    ['a cycle', cycle],
  ])('refuses %s', (_, value) => {
    expect(() => canonicalJson(value)).toThrow(expect.objectContaining({ code: 'invalid-record' }));
  });

  test('refuses more levels than allowed, and takes as many', () => {
    const nested = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);
    expect(canonicalJson(nested(64), 64)).toBe(JSON.stringify(nested(64)));
    expect(() => canonicalJson(nested(65), 64)).toThrow(/levels of nesting/);
    expect(() => canonicalJson(nested(100_000))).toThrow(/levels of nesting/);
  });

  test('takes objects without a prototype', () => {
    expect(canonicalJson(Object.assign(Object.create(null), { a: 1 }))).toBe('{"a":1}');
  });
});

/** The same value with the keys of each object set in the opposite order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, inner]) => [key, reversed(inner)])
      .reverse(),
  );
}

/** The definition, spelled out. */
function sortedText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedText).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${sortedText(Reflect.get(value, key))}`);
  return `{${members.join(',')}}`;
}
