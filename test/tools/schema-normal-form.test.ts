import { Ajv } from 'ajv';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/ledger/content.ts';
import { toJsonSchema } from '../../src/tools/json-schema.ts';

describe('the normal form', () => {
  const leaf: fc.Arbitrary<JsonObject> = fc.oneof(
    fc.constantFrom<JsonObject>(
      { type: 'string' },
      { type: 'integer' },
      { type: ['number', 'null'] },
      { type: 'boolean' },
      { const: 'a' },
      { enum: [1, 'a', null] },
      { not: { type: 'string' } },
      { not: {} },
      { $ref: '#/$defs/shared' },
      { $ref: '#/$defs/shared', maxLength: 1 },
      { $ref: '#' },
    ),
    fc.record({ type: fc.constant('number'), minimum: fc.integer({ min: -2, max: 2 }) }),
  );
  const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.record({ type: fc.constant('array'), items: tie('schema') }),
      fc.record({
        type: fc.constant('array'),
        prefixItems: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
      }),
      fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }), title: fc.constant('t') }),
      fc.record(
        {
          type: fc.constant('object'),
          properties: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('schema')),
          required: fc.subarray(['a', 'b']),
          additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
        },
        { requiredKeys: ['type'] },
      ),
    ),
  }));
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom('a', 'ab', 1, 0, 1.5, true, null),
      fc.array(tie('any'), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), tie('any')),
    ),
  })).any;

  it('allows every value of a property that the schema allows', async () => {
    const { Ajv2020 } = await import('ajv/dist/2020.js');
    const options = { strict: false, logger: false, meta: false, validateSchema: false } as const;
    let allowed = 0;
    fc.assert(
      fc.property(schema, fc.array(value, { minLength: 10, maxLength: 10 }), (p, values) => {
        const source = {
          type: 'object',
          properties: { p },
          $defs: { shared: { type: ['string', 'array'] } },
        };
        const given = new Ajv2020(options).compile(source);
        const normal = new Ajv(options).compile(toJsonSchema(source, 'probe'));
        for (const fit of values.map((one) => ({ p: one })).filter((one) => given(one))) {
          allowed += 1;
          expect(normal(fit)).toBe(true);
        }
      }),
      { numRuns: 200 },
    );
    expect(allowed).toBeGreaterThan(100);
  });

  it('allows every value that a union of closed forms at the root allows', async () => {
    const { Ajv2020 } = await import('ajv/dist/2020.js');
    const options = { strict: false, logger: false, meta: false, validateSchema: false } as const;
    const form = fc.record({
      type: fc.constant('object'),
      properties: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), leaf, { minKeys: 1 }),
      required: fc.subarray(['a', 'b']),
      additionalProperties: fc.constant(false),
    });
    const input = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), value);
    let allowed = 0;
    fc.assert(
      fc.property(
        fc.constantFrom('anyOf', 'oneOf'),
        fc.array(form, { minLength: 2, maxLength: 4 }),
        fc.array(input, { minLength: 20, maxLength: 20 }),
        (keyword, forms, inputs) => {
          const source = { [keyword]: forms, $defs: { shared: { type: ['string', 'array'] } } };
          const given = new Ajv2020(options).compile(source);
          const fits = inputs.filter((one) => given(one));
          if (fits.length === 0) return;
          const normal = new Ajv(options).compile(toJsonSchema(source, 'probe'));
          allowed += fits.length;
          for (const fit of fits) expect(normal(fit)).toBe(true);
        },
      ),
      { numRuns: 200 },
    );
    expect(allowed).toBeGreaterThan(100);
  });

  it('holds only keywords that providers accept, at any depth', () => {
    fc.assert(
      fc.property(schema, (p) => {
        const text = JSON.stringify(
          toJsonSchema({ type: 'object', properties: { p }, $defs: { shared: { type: 'string' } } }, 'probe'),
        );
        expect(text).not.toMatch(/"(?:\$ref|\$defs|oneOf|not|prefixItems|propertyNames)":/);
      }),
      { numRuns: 500 },
    );
  });
});
