import { describe, expect, it } from 'vitest';
import { schemaText } from '../../src/tools/search-schema-text.ts';

describe('what a schema says', () => {
  it('is parameter names, their descriptions and the values they may take', () => {
    const schema = {
      type: 'object',
      description: 'the tool again',
      properties: {
        city: { type: 'string', description: 'Where to look' },
        unit: { enum: ['celsius', 'kelvin', 3, null], const: 'celsius' },
      },
    };
    expect(schemaText(schema).split('\n')).toEqual([
      'city',
      'unit',
      'Where to look',
      'celsius',
      'celsius',
      'kelvin',
    ]);
  });

  it('reaches into items, unions, definitions and maps', () => {
    const named = (name: string) => ({ properties: { [name]: {} } });
    const schema = {
      properties: {
        list: { items: named('item'), prefixItems: [named('first')] },
        union: { anyOf: [named('any')], oneOf: [named('one')], allOf: [named('all')] },
      },
      additionalProperties: named('extra'),
      $defs: { shared: named('defined') },
      definitions: { old: named('older') },
      patternProperties: { '^x-': named('pattern') },
    };
    const words = schemaText(schema).split('\n');
    expect(words).toEqual(
      expect.arrayContaining(['item', 'first', 'any', 'one', 'all', 'extra', 'defined', 'older', 'pattern']),
    );
    expect(words).not.toContain('shared');
  });

  it.each([[undefined], [null], ['text'], [42], [true], [[]]])('is nothing for %j', (schema) => {
    expect(schemaText(schema)).toBe('');
  });

  it('is cut for a cyclic, a wide and a long schema', () => {
    const cyclic: Record<string, unknown> = { properties: {} };
    cyclic['items'] = cyclic;
    const wide = {
      properties: Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`p${at}`, {}])),
    };
    const long = { properties: { a: { description: 'word '.repeat(1_000_000) } } };
    expect(schemaText(cyclic)).toBe('');
    expect(schemaText(wide).length).toBeLessThanOrEqual(8_192);
    expect(schemaText(long).length).toBeLessThanOrEqual(8_192);
  });

  it('takes an own property called __proto__ for a parameter and ignores inherited ones', () => {
    const parsed: unknown = JSON.parse('{"properties":{"__proto__":{"description":"odd"}}}');
    expect(schemaText(parsed).split('\n')).toEqual(['__proto__', 'odd']);
    expect(schemaText(Object.create({ properties: { inherited: {} } }))).toBe('');
  });
});
