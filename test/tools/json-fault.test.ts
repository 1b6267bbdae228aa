import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findJsonFault, isOpenJson } from '../../src/tools/json-fault.ts';

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const jsonish = fc
  .array(
    fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"',
      '\\',
      '1',
      '-',
      '0',
      '.5',
      'e3',
      'true',
      'null',
      ' ',
      '\n',
    ),
    { maxLength: 12 },
  )
  .map((tokens) => tokens.join(''));

describe('findJsonFault', () => {
  it('finds a fault exactly where JSON.parse refuses', () => {
    fc.assert(
      fc.property(fc.oneof(jsonish, fc.json(), fc.string()), (text) => {
        expect(findJsonFault(text) === undefined).toBe(isJson(text));
      }),
      { numRuns: 3_000 },
    );
  });

  it('finds a fault in JSON that lost or changed a character, exactly where JSON.parse does', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.constantFrom('', 'x', '"', ',', '\n'), (text, at, put) => {
        const index = at % (text.length + 1);
        const changed = text.slice(0, index) + put + text.slice(index + 1);
        expect(findJsonFault(changed) === undefined).toBe(isJson(changed));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['{"cmd": rm -rf}', 8, 'a value'],
    ['{path: 1}', 1, 'a property name in double quotes or "}"'],
    ["{'a': 1}", 1, 'a property name in double quotes or "}"'],
    ['{"a": 1,}', 8, 'a property name in double quotes'],
    ['{"a" 1}', 5, '":"'],
    ['[1 2]', 3, '"," or "]"'],
    ['{"a": 1]', 7, '"," or "}"'],
    ['{} {}', 3, 'nothing more'],
    ['{"a": "x', 8, 'the closing double quote'],
    ['{"a": "C:\\temp\\users"}', 14, 'a known escape after the backslash'],
    ['{"a": "\\q"}', 7, 'a known escape after the backslash'],
    ['{"a": "\\u12"}', 7, 'a known escape after the backslash'],
    ['{"a": "x\ny"}', 8, 'control characters escaped'],
    ['{"a": True}', 6, 'a value'],
    ['{"a": 01}', 6, 'a value'],
    ['', 0, 'a value'],
    ['{', 1, 'a property name in double quotes or "}"'],
  ])('points into %j at %i', (text, offset, expected) => {
    expect(findJsonFault(text)).toEqual({ offset, expected });
  });

  it('reads megabytes of nesting without a stack', () => {
    expect(findJsonFault('['.repeat(1_000_000))).toEqual({ offset: 1_000_000, expected: 'a value or "]"' });
    expect(findJsonFault('['.repeat(300_000) + ']'.repeat(300_000))).toBeUndefined();
  });
});

describe('isOpenJson', () => {
  it('calls every proper beginning of an object or array open', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue())),
        fc.nat(),
        (value, at) => {
          const text = JSON.stringify(value);
          expect(isOpenJson(text)).toBe(false);
          expect(isOpenJson(text.slice(0, 1 + (at % (text.length - 1))))).toBe(true);
        },
      ),
    );
  });

  it.each(['{"cmd":"rm -rf /home/user/pro', '{"a": [1, 2', '{"a": "x\\"', '{"a": {"b": 1}', '"'])(
    'calls %j open',
    (text) => {
      expect(isOpenJson(text)).toBe(true);
    },
  );

  it.each(['{path: 1}', '{"a": 1,}', 'plain words', '{"a": "}"}', '[1 2]'])('calls %j terminated', (text) => {
    expect(isOpenJson(text)).toBe(false);
  });
});
