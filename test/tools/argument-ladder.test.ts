import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../../src/ledger/content.ts';
import { climbLadder, type LadderOptions, type LadderOutcome } from '../../src/tools/argument-ladder.ts';
import type { InputSchema } from '../../src/tools/tool.ts';
import { boundWith } from './bound-tool.ts';

const file = z.object({ path: z.string(), limit: z.int().default(5), all: z.boolean().optional() });

function climb(
  input: string,
  schema: InputSchema = file,
  options: Partial<LadderOptions> = {},
): Promise<LadderOutcome> {
  return climbLadder(input, boundWith(schema), { open: false, ...options });
}

const ok = (args: JsonObject, ...repaired: string[]) => ({ type: 'ok', args, repaired });

describe('TR-04 the ladder', () => {
  it('takes arguments that fit as they are and fills in no default', async () => {
    expect(await climb('{"path":"a.txt"}')).toEqual(ok({ path: 'a.txt' }));
  });

  it('keeps fields the schema would drop', async () => {
    expect(await climb('{"path":"a","extra":1}')).toEqual(ok({ path: 'a', extra: 1 }));
  });

  it('keeps what the schema would transform', async () => {
    expect(await climb('{"n":"7"}', z.object({ n: z.string().transform(Number) }))).toEqual(ok({ n: '7' }));
  });

  it('gives frozen arguments', async () => {
    const outcome = await climb('{"path":"a","deep":{"x":[1]}}');
    expect(outcome.type === 'ok' && Object.isFrozen((outcome.args['deep'] as JsonObject)['x'])).toBe(true);
  });

  it.each(['', ' ', '\n\t '])('makes an empty object of %j', async (input) => {
    expect(await climb(input, z.object({}))).toEqual(ok({}, 'blank'));
  });

  it('checks what it made of a blank', async () => {
    expect(await climb('')).toMatchObject({
      type: 'invalid',
      kept: {},
      message: expect.stringContaining('path: is required'),
    });
  });

  it('unwraps an object inside a string, once', async () => {
    const once = JSON.stringify('{"path":"a"}');
    expect(await climb(once)).toEqual(ok({ path: 'a' }, 'unwrapped'));
    expect(await climb(JSON.stringify(once))).toMatchObject({ type: 'invalid', kept: {} });
  });

  it.each(['[1]', 'null', '7', 'true', '"text"', '"[1]"', '"null"'])(
    'refuses %s, which is no object',
    async (input) => {
      expect(await climb(input)).toMatchObject({ type: 'invalid', kept: {} });
    },
  );

  it('coerces strings where the schema is unambiguous, and says so', async () => {
    expect(await climb('{"path":"a","limit":"7","all":"true"}')).toEqual(
      ok({ path: 'a', limit: 7, all: true }, 'coerced limit', 'coerced all'),
    );
  });

  it('coerces nothing that the schema takes as it is', async () => {
    const schema = z.object({ n: z.coerce.number(), m: z.number() });
    expect(await climb('{"n":"1","m":"2"}', schema)).toEqual(ok({ n: '1', m: 2 }, 'coerced m'));
  });

  it('keeps what was sent where coercion does not help', async () => {
    expect(await climb('{"path":"a","limit":"7.5"}')).toMatchObject({
      type: 'invalid',
      kept: { path: 'a', limit: '7.5' },
      repaired: [],
    });
    expect(await climb('{"limit":"7"}')).toMatchObject({ type: 'invalid', kept: { limit: '7' } });
  });

  it('coerces for a JSON Schema as for zod', async () => {
    const schema = {
      type: 'object',
      properties: { n: { $ref: '#/$defs/n' } },
      $defs: { n: { type: 'integer' } },
    };
    expect(await climb('{"n":"7"}', schema)).toEqual(ok({ n: 7 }, 'coerced n'));
  });

  it('parses but checks nothing for a tool nobody knows', async () => {
    expect(await climbLadder('{"a":1}', undefined, { open: false })).toEqual(ok({ a: 1 }));
    expect(await climbLadder('{"a":', undefined, { open: false })).toMatchObject({
      type: 'invalid',
      kept: {},
    });
  });

  it.each([
    ['{"__proto__":{"admin":true},"path":"a"}', /forbidden key/],
    ['{"constructor":{"prototype":{}},"path":"a"}', /forbidden key/],
    ['{"path":"a","n":1e400}', /n is not a finite number/],
    ['{"path":"a","id":12345678901234567890}', /id is an integer too large/],
    [`{"path":${'['.repeat(50_000)}${']'.repeat(50_000)}}`, /levels deep/],
    [`{"path":"${'x'.repeat(1_048_577)}"}`, /over 1048576 bytes/],
  ])('refuses hostile arguments', async (input, reason) => {
    expect(await climb(input)).toMatchObject({
      type: 'invalid',
      kept: {},
      message: expect.stringMatching(reason),
    });
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });
});

describe('TR-04 a rejection by the ladder', () => {
  it('points to the fault and names the fields', async () => {
    const outcome = await climb('{"path": secret words}');
    expect(outcome).toMatchObject({
      type: 'invalid',
      message:
        'Invalid arguments, probe did not run: the arguments are not JSON: at character 10 a value is expected. Fields: { path, limit?, all? }',
    });
  });

  it('tells the line where there are several', async () => {
    expect(await climb('{\n  "path": "a"\n  "limit": 1\n}')).toMatchObject({
      message: expect.stringContaining('at line 3, character 3 "," or "}" is expected'),
    });
  });

  it('says that cut arguments look cut', async () => {
    expect(await climb('{"path":"a')).toMatchObject({
      message: expect.stringContaining('may have been cut off'),
    });
  });

  it('never quotes a value', async () => {
    const word = 'correct-horse-battery';
    const inputs = fc.constantFrom(
      `{"path": ${word}}`,
      `{"path": "${word}`,
      `{"path": "a", "limit": "${word}"}`,
      `{"limit": "${word}"}`,
      `{"path": {"deep": "${word}"}}`,
      `"${word}"`,
      `${word}`,
      `["${word}"]`,
      `{"path": "${word}\n"}`,
      `{"path": "${word}", "n": 1e999}`,
    );
    await fc.assert(
      fc.asyncProperty(inputs, fc.boolean(), async (input, open) => {
        const outcome = await climb(input, file, { open });
        expect(outcome.type).toBe('invalid');
        expect(JSON.stringify({ ...outcome, kept: {} })).not.toContain(word);
      }),
    );
  });

  it('keeps an object, so that the history can be replayed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.json(), fc.string()), fc.boolean(), async (input, open) => {
        const outcome = await climb(input, file, { open });
        const kept = outcome.type === 'ok' ? outcome.args : outcome.kept;
        expect(Object.prototype.toString.call(kept)).toBe('[object Object]');
        expect(Object.isFrozen(kept)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

describe('repair of the text', () => {
  const repairText = () => '{"path":"repaired"}';

  it('is used for complete text that is no JSON', async () => {
    expect(await climb('{path: "a"}', file, { repairText })).toEqual(ok({ path: 'repaired' }, 'text'));
  });

  it('is off unless it is given', async () => {
    expect(await climb('{path: "a"}')).toMatchObject({ type: 'invalid' });
  });

  it.each(['{"path":"rm -rf /home/user/pro', '{"path":["a"', '{path: {"a"', '{"path":"a\\"'])(
    'never touches the open text %s',
    async (input) => {
      let asked = 0;
      const repair = () => {
        asked += 1;
        return repairText();
      };
      expect(await climb(input, file, { repairText: repair })).toMatchObject({
        type: 'invalid',
        kept: {},
        repaired: [],
      });
      expect(asked).toBe(0);
    },
  );

  it('never touches anything of an answer that was cut', async () => {
    const open = { open: true, repairText };
    expect(await climb('{path: "a"}', file, open)).toMatchObject({ type: 'invalid', kept: {} });
    expect(await climb('', z.object({}), open)).toMatchObject({ type: 'invalid', kept: {} });
    expect(await climb('{"path":"a","limit":"7"}', file, open)).toMatchObject({
      type: 'invalid',
      kept: { path: 'a', limit: '7' },
    });
  });

  it('is not used where the arguments are JSON', async () => {
    expect(await climb('{"path":1}', file, { repairText })).toMatchObject({
      type: 'invalid',
      kept: { path: 1 },
    });
  });

  it.each<[string, LadderOptions['repairText']]>([
    ['gives up', () => undefined],
    [
      'throws',
      () => {
        throw new TypeError('no');
      },
    ],
    ['gives no JSON', () => '{path'],
    ['gives no object', () => '[1]'],
    ['gives something else than a text', () => 7 as never],
  ])('that %s leaves the call refused', async (_, repair) => {
    expect(await climb('{path: "a"}', file, { repairText: repair })).toMatchObject({
      type: 'invalid',
      kept: {},
    });
  });

  it('does not get around the schema', async () => {
    expect(await climb('{path: 1}', file, { repairText: () => '{"path":1}' })).toMatchObject({
      type: 'invalid',
      kept: { path: 1 },
    });
  });
});
