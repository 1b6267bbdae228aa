import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Reply, reply } from '../../src/testing/reply.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { LEDGER_KINDS, type LedgerKind } from '../support/ledgers.ts';
import { playTurn } from '../support/played-turn.ts';
import { callIdsOf, lastResults } from '../support/requests.ts';
import { ofType } from '../support/run-events.ts';
import { createToolSpy } from '../support/tool-spy.ts';

const BAD = { id: 7 };
const GOOD = { id: 'a' };

interface Row {
  readonly why: string;
  readonly steps: readonly Reply[];
  readonly toolCalls?: number;
  /** Codes of all refusals, in the order of the calls. */
  readonly codes: readonly string[];
  /** What the result of the last of them says. */
  readonly says: string;
}

/** Each last call has its own reason and reasons further down the order. */
const ROWS: readonly Row[] = [
  {
    why: 'an exclusive step before wrong arguments',
    steps: [reply().call('look', GOOD).call('alone', BAD)],
    codes: ['exclusive-step'],
    says: 'must be the only call of its step',
  },
  {
    why: 'an exclusive step before a used-up budget',
    steps: [reply().call('alone', GOOD).call('look', GOOD)],
    toolCalls: 0,
    codes: ['tool-call-budget', 'exclusive-step'],
    says: 'look did not run',
  },
  {
    why: 'wrong arguments before a loop',
    steps: [reply().call('look', BAD), reply().call('look', BAD), reply().call('look', BAD)],
    codes: ['invalid-arguments', 'invalid-arguments', 'invalid-arguments'],
    says: 'id',
  },
  {
    why: 'a loop before an unknown name',
    steps: [reply().call('lokk', GOOD), reply().call('lokk', GOOD), reply().call('lokk', GOOD)],
    codes: ['unknown-tool', 'unknown-tool', 'loop-gate'],
    says: 'failed several times in a row',
  },
  {
    why: 'an unknown name before a used-up budget',
    steps: [reply().call('lokk', GOOD)],
    toolCalls: 0,
    codes: ['unknown-tool'],
    says: 'lokk',
  },
  {
    why: 'a used-up budget before a denial',
    steps: [reply().call('look', GOOD)],
    toolCalls: 0,
    codes: ['tool-call-budget'],
    says: 'the toolCalls budget of this run is used up',
  },
  {
    why: 'an answer that was cut before wrong arguments',
    steps: [reply().call('look', BAD).finish('length')],
    codes: ['cut-off'],
    says: 'cut off',
  },
];

/** Plays a row with a policy that would deny every call it is asked about. */
async function play(kind: LedgerKind, row: Row) {
  const entered: string[] = [];
  const asked: string[] = [];
  const made = (name: string, exclusive = false) =>
    defineTool({
      name,
      description: name,
      inputSchema: z.object({ id: z.string() }),
      exclusive,
      execute: () => entered.push(name),
    });
  const budget = row.toolCalls === undefined ? {} : { budget: { toolCalls: row.toolCalls } };
  const played = await playTurn(kind, [...row.steps, reply().text('Done.')], {
    agent: {
      tools: [made('look'), made('alone', true)],
      permission: ({ toolName }) => {
        asked.push(toolName);
        return 'deny';
      },
    },
    run: budget,
  });
  return { ...played, entered, asked };
}

describe.each(LEDGER_KINDS)('refusals (%s)', (kind) => {
  it.each(ROWS)('TR-01 a call is refused for the first reason in order: $why', async (row) => {
    const { model, result, entered, records } = await play(kind, row);
    const refused = ofType(records, 'tool.refused')
      .filter(({ data }) => data.code !== 'denied')
      .sort((a, b) => ((a.call ?? '') < (b.call ?? '') ? -1 : 1));
    expect(refused.map(({ data }) => data.code)).toEqual(row.codes);
    expect(lastResults(model, row.steps.length).at(-1)).toContain(row.says);
    expect(entered).toEqual([]);
    expect(result.status).toBe('completed');
  });

  it.each(ROWS)('TR-01 each refusal is a pair without an operation id: $why', async (row) => {
    const { model, records } = await play(kind, row);
    const called = ofType(records, 'tool.called').map((record) => record.call);
    const refused = ofType(records, 'tool.refused');
    expect(refused.map((record) => record.call).sort()).toEqual(called.sort());
    expect(JSON.stringify(refused)).not.toContain('operationId');
    expect(records.filter(({ type }) => type === 'tool.dispatched' || type === 'tool.settled')).toEqual([]);
    const last = callIdsOf(model.requests.at(-1)?.messages ?? []);
    expect(last.answered).toEqual(last.called);
    expect(last.called).toHaveLength(called.length);
  });

  it('TR-01 policies are asked last, about the calls that nothing else refused', async () => {
    const row = ROWS[0] as Row;
    const { asked, records } = await play(kind, row);
    expect(asked).toEqual(['look']);
    expect(
      ofType(records, 'tool.refused')
        .map(({ data }) => data.code)
        .sort(),
    ).toEqual(['denied', 'exclusive-step']);
  });

  it.each([
    ['before', reply().call('alone', GOOD).call('look', GOOD), ['alone'], 'look'],
    ['after', reply().call('look', GOOD).call('alone', GOOD), ['look'], 'alone'],
    ['between others', reply().call('look', GOOD).call('alone', GOOD).call('look', BAD), ['look'], 'alone'],
  ] as const)(
    'TR-05 of a step with an exclusive tool %s only the first runs',
    async (_, step, ran, other) => {
      const spy = createToolSpy();
      const { model } = await playTurn(kind, [step, reply().text('Done.')], {
        agent: { tools: [spy.tool('look'), spy.tool('alone', undefined, { exclusive: true })] },
      });
      expect(spy.entries.map(({ toolName }) => toolName)).toEqual(ran);
      const text = lastResults(model, 1)[1];
      expect(text).toContain(`${other} did not run`);
      expect(text).toContain('send it again in a later step');
    },
  );
});
