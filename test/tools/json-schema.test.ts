import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isSwarmError } from '../../src/errors.ts';
import type { JsonObject } from '../../src/ledger/content.ts';
import { describeFields, toJsonSchema } from '../../src/tools/json-schema.ts';
import type { InputSchema } from '../../src/tools/tool.ts';

const wire = (schema: InputSchema) => toJsonSchema(schema, 'probe');
const property = (schema: JsonObject, rest: JsonObject = {}) => {
  const { properties } = wire({ type: 'object', properties: { p: schema }, ...rest });
  return (properties as JsonObject)['p'];
};

function refusal(schema: InputSchema): string {
  try {
    return JSON.stringify(wire(schema));
  } catch (error) {
    return isSwarmError(error, 'unusable-schema') ? error.message : String(error);
  }
}

describe('toJsonSchema of a zod schema', () => {
  it('brings a discriminated union to the wire as one object without oneOf or $schema', () => {
    const schema = wire(
      z.discriminatedUnion('kind', [
        z.object({ kind: z.literal('circle'), radius: z.number() }),
        z.object({ kind: z.literal('square'), side: z.number(), name: z.string().optional() }),
      ]),
    );
    expect(JSON.stringify(schema)).not.toMatch(/oneOf|anyOf|\$schema/);
    expect(schema).toMatchObject({
      type: 'object',
      properties: {
        kind: { type: 'string', enum: ['circle', 'square'] },
        radius: { type: 'number' },
        side: { type: 'number' },
        name: { type: 'string' },
      },
      required: ['kind'],
    });
    expect(schema['description']).toContain('{ kind: "circle", radius }');
    expect(schema['description']).toContain('{ kind: "square", side, name? }');
  });

  it('writes a nested union as anyOf', () => {
    const schema = wire(
      z.object({
        shape: z.discriminatedUnion('k', [z.object({ k: z.literal(1) }), z.object({ k: z.literal(2) })]),
      }),
    );
    expect(JSON.stringify(schema)).not.toContain('oneOf');
    expect(schema).toMatchObject({
      properties: { shape: { anyOf: [{ type: 'object' }, { type: 'object' }] } },
    });
  });

  it('drops the bounds of exact integers and keeps real ones', () => {
    expect(wire(z.object({ a: z.int(), b: z.int().min(0).max(9) }))['properties']).toEqual({
      a: { type: 'integer' },
      b: { type: 'integer', minimum: 0, maximum: 9 },
    });
  });

  it('drops propertyNames of a record', () => {
    expect(wire(z.object({ r: z.record(z.string(), z.number()) }))['properties']).toEqual({
      r: { type: 'object', additionalProperties: { type: 'number' } },
    });
  });

  it('asks for what comes in, not for what comes out', () => {
    const schema = wire(
      z.object({ n: z.string().transform(Number), d: z.number().default(3), at: z.date().optional() }),
    );
    expect(schema).toEqual({
      type: 'object',
      properties: { n: { type: 'string' }, d: { type: 'number', default: 3 }, at: {} },
      required: ['n'],
    });
  });

  it('leaves out a property that can have no value', () => {
    expect(wire(z.object({ a: z.string(), never: z.never().optional() }))['properties']).toEqual({
      a: { type: 'string' },
    });
  });

  it('ends a recursive schema in an object of any shape', () => {
    const node = z.object({
      value: z.number(),
      get children() {
        return z.array(node);
      },
    });
    expect(wire(node)['properties']).toEqual({
      value: { type: 'number' },
      children: { type: 'array', items: { type: 'object' } },
    });
  });

  it('unites the parts of an intersection', () => {
    expect(wire(z.intersection(z.object({ a: z.string() }), z.object({ b: z.number() })))).toEqual({
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'number' } },
      required: ['a', 'b'],
    });
  });

  it.each([z.string(), z.array(z.string()), z.union([z.string(), z.number()]), z.never()])(
    'refuses a root that is no object, naming the tool',
    (schema) => {
      expect(refusal(schema)).toMatch(/tool probe is unusable: it allows no(?:thing| object)/);
    },
  );

  it('takes the object form of a root that also allows others', () => {
    expect(wire(z.union([z.string(), z.object({ a: z.string() })]))).toEqual({
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
    });
  });
});

describe('toJsonSchema of a JSON Schema', () => {
  it('inlines local references of every form', () => {
    const schema = wire({
      $id: 'https://example.org/root.json',
      type: 'object',
      properties: {
        pointer: { $ref: '#/$defs/name' },
        old: { $ref: '#/definitions/a~1b' },
        anchor: { $ref: '#named' },
        absolute: { $ref: 'https://example.org/root.json#/$defs/name', description: 'Own words' },
      },
      $defs: {
        name: { type: 'string', minLength: 1, description: 'A name' },
        other: { $anchor: 'named', type: 'null' },
      },
      definitions: { 'a/b': { type: 'boolean' } },
    });
    expect(schema).toEqual({
      type: 'object',
      properties: {
        pointer: { type: 'string', description: 'A name', minLength: 1 },
        old: { type: 'boolean' },
        anchor: { type: 'null' },
        absolute: { type: 'string', description: 'Own words', minLength: 1 },
      },
    });
  });

  it('inlines a root that is a reference itself', () => {
    const schema = wire({
      $ref: '#/definitions/Input',
      definitions: { Input: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] } },
    });
    expect(schema).toEqual({ type: 'object', properties: { a: { type: 'string' } }, required: ['a'] });
  });

  it.each<[string, JsonObject]>([
    ['of a schema to itself', { type: 'object', properties: { next: { $ref: '#' } } }],
    [
      'through a definition',
      {
        type: 'object',
        properties: { next: { $ref: '#/$defs/a' } },
        $defs: { a: { type: 'object', properties: { next: { $ref: '#/$defs/a' } } } },
      },
    ],
    [
      'of references only',
      {
        type: 'object',
        properties: { next: { $ref: '#/$defs/a' } },
        $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } },
      },
    ],
  ])('ends a cycle %s', (_, schema) => {
    expect(JSON.stringify(wire(schema))).not.toContain('$ref');
  });

  it.each([
    ['https://elsewhere.example/schema.json', /refers to https:\/\/elsewhere/],
    ['#/$defs/missing', /refers to #\/\$defs\/missing/],
    ['#/%', /refers to/],
    ['#/$defs/list/0', /refers to/],
  ])('refuses the reference %s, naming the tool', ($ref, reason) => {
    const schema = { type: 'object', properties: { a: { $ref } }, $defs: { list: ['text'] } };
    expect(refusal(schema)).toMatch(reason);
    expect(refusal(schema)).toContain('tool probe');
  });

  it('refuses references that multiply each other', () => {
    const $defs: Record<string, JsonObject> = { d0: { type: 'string' } };
    for (let level = 1; level < 20; level += 1) {
      const ref = { $ref: `#/$defs/d${level - 1}` };
      $defs[`d${level}`] = { type: 'object', properties: { a: ref, b: ref } };
    }
    expect(refusal({ type: 'object', properties: { a: { $ref: '#/$defs/d19' } }, $defs })).toMatch(
      /more than 10000 schemas/,
    );
  });

  it('refuses nesting that would overflow the stack', () => {
    let schema: JsonObject = { type: 'object' };
    for (let level = 0; level < 50_000; level += 1) schema = { type: 'object', properties: { a: schema } };
    expect(refusal(schema)).toMatch(/levels deep/);
  });

  it('refuses a schema that is a cycle of objects or has accessors', () => {
    const loop: Record<string, unknown> = { type: 'object' };
    loop['properties'] = { a: loop };
    expect(refusal(loop as JsonObject)).toMatch(/refers back/);
    const trap = Object.defineProperty({ type: 'object' }, 'properties', {
      get: () => ({}),
      enumerable: true,
    });
    expect(refusal(trap as JsonObject)).toMatch(/accessor/);
  });

  it('refuses property names that hide characters', () => {
    expect(refusal({ type: 'object', properties: { 'pa\u200bth': {} } })).toMatch(/cannot be seen/);
    expect(refusal({ type: 'object', properties: { ['x'.repeat(300)]: {} } })).toMatch(/over 256 characters/);
  });

  it('cleans the texts a model reads and drops values that hide text', () => {
    const hidden = 'a\u{e0041}\u{e0042}';
    expect(
      property({ type: 'string', description: `see\u202e ${hidden}`, enum: ['ok', hidden], default: hidden }),
    ).toEqual({
      type: 'string',
      description: 'see a',
    });
    expect(JSON.stringify(property({ description: 'x'.repeat(9_000) })).length).toBeLessThan(1_100);
  });

  it.each<[string, JsonObject, JsonObject]>([
    ['not that forbids a value', { not: { const: 1 }, type: 'number' }, { type: 'number' }],
    [
      'conditions',
      JSON.parse('{"if":{},"then":{"minimum":1},"else":false,"type":"number"}'),
      { type: 'number' },
    ],
    [
      'keywords nobody knows',
      { type: 'string', 'x-order': 1, $comment: 'c', readOnly: true },
      { type: 'string' },
    ],
    ['types nobody knows', { type: 'any', minLength: 1 }, { minLength: 1 }],
  ])('leaves out %s', (_, schema, expected) => {
    expect(property(schema)).toEqual(expected);
  });

  it.each<[string, JsonObject, JsonObject]>([
    ['nullable', { type: 'string', nullable: true }, { type: ['string', 'null'] }],
    ['exclusive bounds of draft 4', { minimum: 1, exclusiveMinimum: true }, { exclusiveMinimum: 1 }],
    [
      'prefixItems',
      { prefixItems: [{ type: 'string' }], items: false },
      { items: [{ type: 'string' }], additionalItems: false },
    ],
    ['an array of anything', { type: 'array' }, { type: 'array', items: {} }],
    ['an array of nothing', { type: 'array', items: false }, { type: 'array', items: {}, maxItems: 0 }],
    [
      'oneOf beside anyOf',
      { anyOf: [{ type: 'null' }, {}], oneOf: [{ title: 'A' }, { title: 'B' }] },
      {
        anyOf: [{ type: 'null' }, {}],
        allOf: [{ anyOf: [{ title: 'A' }, { title: 'B' }] }],
      },
    ],
    [
      'a lone allOf with a description',
      { description: 'D', allOf: [{ type: 'string' }] },
      { type: 'string', description: 'D' },
    ],
    ['a union with an impossible member', { anyOf: [{ not: {} }, { type: 'string' }] }, { type: 'string' }],
    ['a set of strings', { enum: ['a', 'b'] }, { type: 'string', enum: ['a', 'b'] }],
  ])('writes %s in draft-7', (_, schema, expected) => {
    expect(property(schema)).toEqual(expected);
  });

  it('unites conditions at the root with the properties beside them', () => {
    expect(
      wire({
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'string' } },
        anyOf: [{ required: ['a'] }, { required: ['b'] }],
        not: { required: ['c'] },
      }),
    ).toEqual({ type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } } });
  });

  it('stays open where one form of a union is open, and closes where all are closed', () => {
    const form = (name: string, rest: JsonObject = {}) => ({
      type: 'object',
      properties: { [name]: {} },
      ...rest,
    });
    const closed = { additionalProperties: false };
    expect(wire({ anyOf: [form('a', closed), form('b')] })).not.toHaveProperty('additionalProperties');
    expect(wire({ anyOf: [form('a', closed), form('b', closed)] })).toMatchObject(closed);
  });

  it('describes every required property', () => {
    expect(wire({ type: 'object', required: ['a', 'a', 7 as never] })).toEqual({
      type: 'object',
      properties: { a: {} },
      required: ['a'],
    });
  });

  it('makes an object with properties of an empty schema', () => {
    expect(wire({})).toEqual({ type: 'object', properties: {} });
  });

  it('writes the same bytes whatever the order of the keywords', () => {
    const one = {
      type: 'object',
      properties: { a: { type: 'string', maxLength: 3, description: 'x' } },
      required: ['a'],
    };
    const other = {
      required: ['a'],
      properties: { a: { description: 'x', maxLength: 3, type: 'string' } },
      type: 'object',
    };
    expect(JSON.stringify(wire(one))).toBe(JSON.stringify(wire(other)));
  });

  it('gives a frozen copy', () => {
    const source = { type: 'object', properties: { a: { type: 'string', enum: ['x'] } } };
    const schema = wire(source);
    source.properties.a.enum.push('y');
    expect(schema).toMatchObject({ properties: { a: { enum: ['x'] } } });
    expect(Object.isFrozen((schema['properties'] as JsonObject)['a'])).toBe(true);
  });
});

describe('describeFields', () => {
  it.each<[InputSchema, string | undefined]>([
    [z.object({ path: z.string(), limit: z.number().optional() }), 'Fields: { path, limit? }'],
    [z.strictObject({}), 'It takes no fields.'],
    [{ type: 'object' }, undefined],
    [{ type: 'object', additionalProperties: { type: 'string' } }, undefined],
    [{ type: 'object', properties: { a: { $ref: '#/gone' } } }, undefined],
  ])('tells the fields a call takes, or nothing', (schema, expected) => {
    expect(describeFields(schema, 'probe')).toBe(expected);
  });
});
