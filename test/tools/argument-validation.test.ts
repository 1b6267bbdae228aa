import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../../src/ledger/content.ts';
import { DEFAULT_LIMITS } from '../../src/limits.ts';
import { snapshotArguments } from '../../src/tools/argument-snapshot.ts';
import type { Validation } from '../../src/tools/binding.ts';
import type { InputSchema } from '../../src/tools/tool.ts';
import { boundWith } from './bound-tool.ts';

function check(schema: InputSchema, args: unknown): Promise<Validation> {
  const snapshot = snapshotArguments(args, DEFAULT_LIMITS.arguments);
  if (snapshot.type === 'rejected') throw new TypeError(snapshot.reason);
  return boundWith(schema).validate(snapshot.args);
}

async function complaint(schema: InputSchema, args: unknown): Promise<string> {
  const validation = await check(schema, args);
  return validation.type === 'invalid' ? validation.message : 'valid';
}

const shapeJson = {
  oneOf: [
    {
      type: 'object',
      properties: { kind: { const: 'circle' }, radius: { type: 'number' } },
      required: ['kind', 'radius'],
    },
    {
      type: 'object',
      properties: { kind: { const: 'square' }, side: { type: 'number' } },
      required: ['kind', 'side'],
    },
  ],
};
const shapeZod = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('circle'), radius: z.number() }),
  z.object({ kind: z.literal('square'), side: z.number() }),
]);

describe('valid arguments', () => {
  it('come back parsed and defaulted by zod', async () => {
    const schema = z.object({ n: z.string().transform(Number), limit: z.number().default(5) });
    expect(await check(schema, { n: '7', dropped: 1 })).toEqual({ type: 'valid', value: { n: 7, limit: 5 } });
  });

  it('come back defaulted by a JSON Schema', async () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'number' }, limit: { type: 'number', default: 5 } },
    };
    expect(await check(schema, { a: 1 })).toEqual({ type: 'valid', value: { a: 1, limit: 5 } });
  });

  it.each<[string, InputSchema]>([
    ['zod', z.object({ list: z.array(z.unknown()), any: z.unknown() })],
    ['JSON Schema', { type: 'object' }],
  ])('TR-03 share nothing with the snapshot (%s)', async (_, schema) => {
    const args: JsonObject = Object.freeze({ list: Object.freeze([1]), any: Object.freeze({ deep: true }) });
    const validation = await boundWith(schema).validate(args);
    const value =
      validation.type === 'valid'
        ? (validation.value as { list: number[]; any: { deep: boolean } })
        : undefined;
    value?.list.push(2);
    if (value !== undefined) value.any.deep = false;
    expect(args).toEqual({ list: [1], any: { deep: true } });
    expect(value).toEqual({ list: [1, 2], any: { deep: false } });
  });

  it('wait for asynchronous refinements', async () => {
    const schema = z.object({ id: z.string().refine(async (id) => id === 'known', 'is not known') });
    expect(await complaint(schema, { id: 'known' })).toBe('valid');
    expect(await complaint(schema, { id: 'other' })).toMatch(/^id: is not known/);
  });

  it.each<[string, InputSchema, unknown]>([
    [
      '2020-12',
      {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        properties: { t: { prefixItems: [{ type: 'string' }], items: false } },
      },
      { t: ['a'] },
    ],
    [
      'draft-7',
      {
        $schema: 'http://json-schema.org/draft-07/schema#',
        type: 'object',
        properties: { t: { items: [{ type: 'string' }], additionalItems: false } },
      },
      { t: ['a'] },
    ],
    [
      'draft-4',
      {
        $schema: 'http://json-schema.org/draft-04/schema#',
        id: 'x',
        type: 'object',
        properties: { t: { type: 'number', minimum: 0, exclusiveMinimum: true } },
      },
      { t: 1 },
    ],
    ['recursive', { type: 'object', properties: { t: { $ref: '#' } } }, { t: { t: {} } }],
    [
      'Python patterns',
      { type: 'object', properties: { t: { type: 'string', pattern: '(?i)^a$' } } },
      { t: 'A' },
    ],
    [
      'unknown formats',
      { type: 'object', properties: { t: { type: 'string', format: 'colour' } } },
      { t: 'red' },
    ],
  ])('are accepted in the dialect %s', async (_, schema, args) => {
    expect(await complaint(schema, args)).toBe('valid');
  });

  it.each<[string, InputSchema, unknown]>([
    [
      '2020-12',
      { type: 'object', properties: { t: { prefixItems: [{ type: 'string' }], items: false } } },
      { t: [1] },
    ],
    [
      'draft-7',
      { type: 'object', properties: { t: { items: [{ type: 'string' }], additionalItems: false } } },
      { t: [1] },
    ],
    [
      'draft-4',
      { id: 'x', type: 'object', properties: { t: { type: 'number', minimum: 0, exclusiveMinimum: true } } },
      { t: 0 },
    ],
    ['recursive', { type: 'object', properties: { t: { $ref: '#' } } }, { t: { t: 1 } }],
  ])('are refused in the dialect %s', async (_, schema, args) => {
    expect(await complaint(schema, args)).toMatch(/^t/);
  });
});

describe('TR-04 a rejection names fields, never values', () => {
  const secret = 'hunter2-s3cret';

  it.each<[string, InputSchema, JsonObject]>([
    ['a wrong type', z.object({ password: z.number() }), { password: secret }],
    [
      'a wrong type in JSON Schema',
      { type: 'object', properties: { password: { type: 'number' } } },
      { password: secret },
    ],
    [
      'a broken pattern',
      { type: 'object', properties: { password: { type: 'string', pattern: '^x' } } },
      { password: secret },
    ],
    ['a wrong constant', { type: 'object', properties: { password: { const: 'x' } } }, { password: secret }],
    [
      'a message of the author',
      z.object({
        password: z.string().refine(() => false, { error: (issue) => `bad: ${String(issue.input)}` }),
      }),
      { password: secret },
    ],
    [
      'a schema that throws',
      z.object({
        password: z.string().transform((text) => {
          throw new TypeError(text);
        }),
      }),
      { password: secret },
    ],
    [
      'a number in a message',
      z.object({
        password: z.number().refine(() => false, { error: (issue) => `not ${String(issue.input)}` }),
      }),
      { password: 4711 },
    ],
  ])('with %s', async (_, schema, args) => {
    const message = await complaint(schema, args);
    expect(message).toMatch(/password|failed on these arguments/);
    expect(message).not.toContain(secret);
    expect(message).not.toContain('4711');
  });

  it.each<[string, InputSchema]>([
    ['zod', z.object({ path: z.string(), limit: z.int(), deep: z.object({ list: z.array(z.boolean()) }) })],
    [
      'JSON Schema',
      {
        type: 'object',
        properties: {
          path: { type: 'string' },
          limit: { type: 'integer' },
          deep: { type: 'object', properties: { list: { type: 'array', items: { type: 'boolean' } } } },
        },
        required: ['path', 'limit', 'deep'],
      },
    ],
  ])('all of them, with their paths (%s)', async (_, schema) => {
    const validation = await check(schema, { limit: 1.5, deep: { list: [true, 'x'] } });
    expect(validation).toMatchObject({ type: 'invalid' });
    const paths = validation.type === 'invalid' ? validation.paths : [];
    expect(paths).toEqual(expect.arrayContaining([['path'], ['limit'], ['deep', 'list', 1]]));
    expect(await complaint(schema, { limit: 1.5, deep: { list: [true, 'x'] } })).toMatch(
      /deep\.list\[1\]: expected boolean/,
    );
  });

  it('and the fields the call takes', async () => {
    const schema = z.strictObject({ path: z.string(), limit: z.number().optional() });
    expect(await complaint(schema, { file: 'x' })).toBe(
      'path: is required, expected string; file: is not a field of this call. Fields: { path, limit? }',
    );
  });

  it.each<[string, InputSchema]>([
    ['zod', shapeZod],
    ['JSON Schema', shapeJson],
  ])('of the form that was meant (%s)', async (_, schema) => {
    const message = await complaint(schema, { kind: 'square', side: 'x' });
    expect(message).toMatch(/^side: expected number\. One of these forms:/);
    expect(message).toContain('{ kind: "circle", radius }');
  });

  it('of each form where none was meant', async () => {
    const message = await complaint(
      {
        anyOf: [
          { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
          { type: 'object', properties: { b: { type: 'string' } }, required: ['b'] },
        ],
      },
      {},
    );
    expect(message).toContain('a: is required (form 1)');
    expect(message).toContain('b: is required (form 2)');
    expect(
      await complaint(z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]), {}),
    ).toContain('b: is required, expected string (form 2)');
  });

  it('of an unknown discriminator, with what it may be', async () => {
    expect(await complaint(shapeZod, { kind: 'hexagon' })).toMatch(
      /^kind: expected one of "circle", "square"\./,
    );
  });
});

describe('hostile arguments', () => {
  it('make bounded messages', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, index) => [`key${index}${'x'.repeat(50)}`, 1]),
    );
    expect((await complaint(z.strictObject({}), many)).length).toBeLessThan(3_500);
    expect((await complaint({ type: 'object', additionalProperties: false }, many)).length).toBeLessThan(
      3_500,
    );
  });

  it('do not hang a pattern that backtracks without end, nor spoil the next call', async () => {
    const strings = { type: 'array', items: { type: 'string', pattern: '^(a+)+$' } };
    const bound = boundWith({ type: 'object', properties: { l: strings } });
    const startedMs = performance.now();
    const hostile = await bound.validate({ l: Array.from({ length: 500 }, () => `${'a'.repeat(60)}!`) });
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    expect(hostile).toMatchObject({ type: 'invalid', message: expect.stringMatching(/^l\[0\]/) });
    expect(await bound.validate({ l: ['a'.repeat(60)] })).toMatchObject({ type: 'valid' });
  });

  it('make one complaint where there would be one for each of many items', async () => {
    const schema = { type: 'object', properties: { l: { type: 'array', items: { type: 'string' } } } };
    const validation = await check(schema, { l: Array.from({ length: 100_000 }, () => 1) });
    expect(validation).toMatchObject({ type: 'invalid', paths: [['l', 0]] });
  });

  it('do not make uniqueItems compare every pair', async () => {
    const schema = {
      type: 'object',
      properties: { l: { type: 'array', uniqueItems: true, items: { type: 'object' } } },
    };
    const items = Array.from({ length: 9_000 }, (_, n) => ({ n }));
    const startedMs = performance.now();
    expect(await complaint(schema, { l: items })).toBe('valid');
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    expect(
      await complaint(schema, {
        l: [
          { n: 1, m: 2 },
          { m: 2, n: 1 },
        ],
      }),
    ).toMatch(/^l: must not hold/);
  });

  it('reach no prototype through a schema', async () => {
    const schema = {
      type: 'object',
      properties: { toString: { type: 'string' }, constructor: { type: 'string' } },
    };
    expect(await complaint(schema, {})).toBe('valid');
    expect(await complaint({ ...schema, required: ['toString'] }, {})).toMatch(/^toString: is required/);
  });
});
