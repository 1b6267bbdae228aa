import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/ledger/content.ts';
import { coerceArguments } from '../../src/tools/argument-coercion.ts';

function coerce(value: JsonValue, schema: JsonObject): JsonValue | undefined {
  return coerceArguments({ v: value }, { type: 'object', properties: { v: schema } }, [['v']]).args['v'];
}

describe('coerceArguments', () => {
  it.each<[JsonValue, JsonObject, JsonValue]>([
    ['5', { type: 'integer' }, 5],
    ['-1.5e3', { type: 'number' }, -1500],
    ['true', { type: 'boolean' }, true],
    ['False', { type: 'boolean' }, false],
    ['5', { type: ['integer', 'null'] }, 5],
    ['5', { anyOf: [{ type: 'integer' }, { type: 'null' }] }, 5],
    ['2', { enum: [1, 2] }, 2],
    ['true', { const: true }, true],
    ['[1,2]', { type: 'array', items: { type: 'integer' } }, [1, 2]],
    ['["1"]', { type: 'array', items: { type: 'integer' } }, [1]],
    ['{"n":"1"}', { type: 'object', properties: { n: { type: 'number' } } }, { n: 1 }],
    [['1', 'x'], { type: 'array', items: { type: 'number' } }, [1, 'x']],
    [['1', '2'], { type: 'array', items: [{ type: 'string' }, { type: 'number' }] }, ['1', 2]],
    [{ a: '1' }, { type: 'object', additionalProperties: { type: 'number' } }, { a: 1 }],
    [
      { kind: 'b', n: '1' },
      {
        anyOf: [
          { type: 'object', properties: { kind: { const: 'a' }, n: { type: 'boolean' } } },
          { type: 'object', properties: { kind: { const: 'b' }, n: { type: 'number' } } },
        ],
      },
      { kind: 'b', n: 1 },
    ],
  ])('reads %j as %j asks', (value, schema, expected) => {
    expect(coerce(value, schema)).toEqual(expected);
  });

  it.each<[string, JsonValue, JsonObject]>([
    ['a number for a string', 5, { type: 'string' }],
    ['several types', '5', { type: ['integer', 'string'] }],
    ['a union of types', '5', { anyOf: [{ type: 'integer' }, { type: 'boolean' }] }],
    ['no type', '5', {}],
    ['a fraction for an integer', '5.5', { type: 'integer' }],
    ['words', 'five', { type: 'integer' }],
    ['a number with blanks', ' 5', { type: 'integer' }],
    ['hexadecimal', '0x10', { type: 'integer' }],
    ['leading zeros', '007', { type: 'integer' }],
    ['thousands', '1,000', { type: 'integer' }],
    ['nothing', '', { type: 'integer' }],
    ['more than a number holds', '1e400', { type: 'number' }],
    ['digits a number would lose', '12345678901234567890', { type: 'integer' }],
    ['yes for true', 'yes', { type: 'boolean' }],
    ['1 for true', 1, { type: 'boolean' }],
    ['an object for an array', '{"a":1}', { type: 'array' }],
    ['text for an array', 'a, b', { type: 'array' }],
    ['cut JSON', '[1,', { type: 'array' }],
    ['JSON that reaches a prototype', '{"__proto__":{"a":1}}', { type: 'object' }],
    [
      'a union no property tells apart',
      { n: '1' },
      {
        anyOf: [
          { type: 'object', properties: { n: { type: 'number' } } },
          { type: 'object', properties: { n: { type: 'boolean' } } },
        ],
      },
    ],
  ])('leaves %s', (_, value, schema) => {
    expect(coerce(value, schema)).toEqual(value);
  });

  it('looks only where something is wrong', () => {
    const schema = { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } };
    const { args, changed } = coerceArguments({ a: '1', b: '2' }, schema, [['b']]);
    expect(args).toEqual({ a: '1', b: 2 });
    expect(changed).toEqual([['b']]);
  });

  it('looks everywhere below what is wrong', () => {
    const schema = { type: 'object', properties: { a: { type: 'number' } } };
    expect(coerceArguments({ a: '1' }, schema, [[]]).args).toEqual({ a: 1 });
  });

  it('never changes what it is given, and only turns strings into something else', () => {
    const schema = fc.constantFrom<JsonObject>(
      { type: 'integer' },
      { type: 'boolean' },
      { type: 'array', items: { type: 'number' } },
      { type: 'object', additionalProperties: { type: 'boolean' } },
      {},
    );
    const value = fc.jsonValue({ maxDepth: 3 }).filter((one) => !JSON.stringify(one).includes('__proto__'));
    fc.assert(
      fc.property(value, schema, (given, asked) => {
        // A JSON value of fast-check is one of ours.
        const before = structuredClone(given) as JsonValue;
        const after = coerce(before, asked);
        expect(before).toEqual(given);
        if (typeof given !== 'object' && typeof given !== 'string') expect(after).toEqual(given);
      }),
    );
  });
});
