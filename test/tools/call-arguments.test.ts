import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../../src/ledger/content.ts';
import { reply } from '../../src/testing/reply.ts';
import { hashArguments } from '../../src/tools/argument-snapshot.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { LEDGER_KINDS } from '../support/ledgers.ts';
import { playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { ofType } from '../support/run-events.ts';

/** A tool that takes anything and says what it got. */
function taker(onInput: (input: JsonObject) => unknown) {
  return defineTool({
    name: 'take',
    description: 'Takes.',
    inputSchema: { type: 'object', additionalProperties: true },
    execute: onInput,
  });
}

function nested(depth: number): JsonObject {
  let value: JsonObject = {};
  for (let level = 1; level < depth; level += 1) value = { in: value };
  return value;
}

describe.each(LEDGER_KINDS)('arguments of a call (%s)', (kind) => {
  it('TR-03 what an implementation does to its input reaches nobody else', async () => {
    const seen: unknown[] = [];
    const args = { list: [1, 2], deep: { a: 'b' } };
    const { records, model } = await playTurn(
      kind,
      [reply().call('take', args).call('take', args), reply().text('Done.')],
      {
        agent: {
          tools: [
            taker((input) => {
              seen.push(structuredClone(input));
              // The type says readonly; an implementation in JavaScript does not read it.
              const own = input as { list: number[]; deep?: unknown };
              own.list.push(3);
              delete own.deep;
              return 'taken';
            }),
          ],
        },
      },
    );
    expect(seen).toEqual([args, args]);
    expect(lastResults(model, 1)).toEqual(['taken', 'taken']);
    for (const { data } of ofType(records, 'tool.called')) expect(data.args).toEqual(args);
    expect(model.requests[1]?.messages[1]?.calls.map((call) => call.args)).toEqual([args, args]);
  });

  it('TR-03 gates, policies and observers share one frozen snapshot that none can change', async () => {
    const attempts: string[] = [];
    const change = (who: string, input: JsonObject) => {
      try {
        (input['deep'] as { a: string }).a = who;
        attempts.push(`${who} changed it`);
      } catch {
        attempts.push(`${who} could not`);
      }
    };
    const got: JsonObject[] = [];
    await playTurn(kind, [reply().call('take', { deep: { a: 'b' } }), reply().text('Done.')], {
      agent: {
        tools: [taker((input) => got.push(input))],
        permission: ({ input }) => {
          change('the policy', input);
          return 'allow';
        },
        hooks: {
          beforeToolCall: ({ input }) => void change('the gate', input),
          beforeToolExecute: ({ input }) => void change('the last gate', input),
        },
      },
    });
    expect(attempts).toEqual(['the gate could not', 'the policy could not', 'the last gate could not']);
    expect(got).toEqual([{ deep: { a: 'b' } }]);
  });

  it('TR-04 ledger, hash and policy have what the ladder made, the implementation the parsed value', async () => {
    const inputSchema = z.object({
      count: z.number().transform((count) => count * 2),
      unit: z.string().default('m'),
    });
    let got: unknown;
    let judged: unknown;
    const { records } = await playTurn(
      kind,
      // A number in quotes: the ladder mends it, and nothing else does.
      [reply().call('measure', { count: '21' }), reply().text('Done.')],
      {
        agent: {
          tools: [
            defineTool({
              name: 'measure',
              description: 'Measures.',
              inputSchema,
              execute(input) {
                got = input;
                return 'measured';
              },
            }),
          ],
          permission: ({ input }) => {
            judged = input;
            return 'allow';
          },
        },
      },
    );
    expect(got).toEqual({ count: 42, unit: 'm' });
    expect(judged).toEqual({ count: 21 });
    const [called] = ofType(records, 'tool.called');
    expect(called?.data.args).toEqual({ count: 21 });
    expect(called?.data.repaired?.length).toBeGreaterThan(0);
    expect(called?.data.argsHash).toBe(hashArguments({ count: 21 }));
    expect(ofType(records, 'tool.dispatched')[0]?.data.argsHash).toBe(hashArguments({ count: 21 }));
  });

  it('TR-04 a rejection names the fields and never a value', async () => {
    const entered: unknown[] = [];
    const { model, records } = await playTurn(
      kind,
      [reply().call('pay', { amount: 'sk-live-4711-secret', to: 12345678 }), reply().text('Done.')],
      {
        agent: {
          tools: [
            defineTool({
              name: 'pay',
              description: 'Pays.',
              inputSchema: z.object({ amount: z.number(), to: z.enum(['alice', 'bob']) }),
              execute: (input) => entered.push(input),
            }),
          ],
        },
      },
    );
    const [text = ''] = lastResults(model, 1);
    expect(text).toContain('amount');
    expect(text).toContain('to');
    expect(text).not.toContain('4711');
    expect(text).not.toContain('12345678');
    expect(ofType(records, 'tool.refused')[0]?.data).toMatchObject({ code: 'invalid-arguments', text });
    expect(entered).toEqual([]);
  });

  it.each([
    ['__proto__', '{"a":{"__proto__":{"admin":true}}}', '__proto__'],
    ['depth 65', JSON.stringify(nested(65)), '64'],
    ['a number that is not finite', '{"a":1e999}', 'finite'],
    ['over 1 MiB', JSON.stringify({ a: 'x'.repeat(1_048_576) }), 'bytes'],
    ['no object', '[1,2]', 'object'],
    ['no JSON', '{"a": what', 'JSON'],
  ])('TR-03 arguments with %s are refused as a pair', async (_, text, says) => {
    const entered: unknown[] = [];
    const { model, records } = await playTurn(kind, [reply().call('take', text), reply().text('Done.')], {
      agent: { tools: [taker((input) => entered.push(input))] },
    });
    expect(entered).toEqual([]);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['invalid-arguments']);
    expect(lastResults(model, 1)[0]).toContain(says);
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });

  it('TR-03 arguments of depth 64 and of exactly 1 MiB run whole', async () => {
    const seen: JsonObject[] = [];
    const deep = nested(64);
    const empty = JSON.stringify({ a: '' }).length;
    const large = { a: 'x'.repeat(1_048_576 - empty) };
    const { records } = await playTurn(
      kind,
      [reply().call('take', deep).call('take', large), reply().text('Done.')],
      {
        agent: {
          tools: [
            taker((input) => {
              seen.push(input);
              return 'taken';
            }),
          ],
        },
      },
    );
    expect(ofType(records, 'tool.refused')).toEqual([]);
    // By hash: a difference of a megabyte would be no help.
    expect(seen.map(hashArguments)).toEqual([deep, large].map(hashArguments));
  });

  it('arguments over 64 KiB leave the record, run whole and are replayed whole', async () => {
    const seen: JsonObject[] = [];
    const large = { text: 'ä'.repeat(50_000) };
    const { model, records } = await playTurn(
      kind,
      [reply().call('take', large), reply().call('take', { text: 'small' }), reply().text('Done.')],
      {
        agent: {
          tools: [
            taker((input) => {
              seen.push(input);
              return 'taken';
            }),
          ],
        },
      },
    );
    expect(seen[0]?.['text']).toBe(large.text);
    const [called] = ofType(records, 'tool.called');
    expect(called?.data).toMatchObject({ args: {}, argsHash: hashArguments(large) });
    expect(called?.data.argsRef?.size).toBe(Buffer.byteLength(JSON.stringify(large)));
    for (const request of model.requests.slice(1)) {
      expect(request.messages[1]?.calls[0]?.args).toEqual(large);
    }
  });
});
