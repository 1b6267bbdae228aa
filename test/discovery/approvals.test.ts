import { describe, expect, it } from 'vitest';
import { reply } from '../../src/testing/reply.ts';
import type { Script } from '../../src/testing/script.ts';
import { requestsOf, startApprovalRun } from '../support/approval-run.ts';
import { LEDGER_KINDS, type LedgerKind } from '../support/ledgers.ts';
import { callIdsOf, lastResults } from '../support/requests.ts';
import { eventSeen, ofType } from '../support/run-events.ts';
import { searching, toolsOf } from '../support/search-turns.ts';

const done = reply().text('Done.');
const approve = { decision: 'approve' } as const;

/** A run whose `del` is found by search and asks. */
const start = (kind: LedgerKind, script: Script, run: object = {}) =>
  startApprovalRun(kind, script, {
    tools: (spy) => [spy.tool('del', undefined, { defer: 'always', needsApproval: true })],
    run,
  });

const two = () => [searching('del'), reply().call('del', { id: 'A' }).call('del', { id: 'B' }), done];

describe.each(LEDGER_KINDS)('a found tool that asks (%s)', (kind) => {
  it('T1 two calls of it in one step are decided in any order, run once each, and one request follows', async () => {
    const { runtime, run, spy, model, finish } = await start(kind, two());
    const [a = '', b = ''] = await requestsOf(run, 2);
    const pending = await runtime.approvals.pending();
    expect(pending.map(({ id, input }) => [id, input])).toEqual([
      [a, { id: 'A' }],
      [b, { id: 'B' }],
    ]);
    await runtime.approvals.decide(b, approve);
    await eventSeen(run, 'tool.settled', 2);
    expect(spy.entries.map(({ id }) => id)).toEqual(['B']);
    await runtime.approvals.decide(a, approve);
    const { result, records } = await finish();
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(spy.entries.map(({ id }) => id)).toEqual(['B', 'A']);
    expect(model.requests).toHaveLength(3);
    expect(lastResults(model, 2)).toEqual(['del A', 'del B']);
    const ids = callIdsOf(model.requests[2]?.messages ?? []);
    expect(ids.answered).toEqual(ids.called);
    expect(toolsOf(model)).toEqual([['tool_search'], ['tool_search', 'del'], ['tool_search', 'del']]);
    expect(ofType(records, 'tool.dispatched').map(({ data }) => data.toolName)).toEqual([
      'tool_search',
      'del',
      'del',
    ]);
  });

  it('T1 the second decision may come in another process', async () => {
    const { runtime, run, spy, agent, finish, model } = await start(kind, two(), { onApproval: 'pause' });
    const [a = '', b = ''] = await requestsOf(run, 2);
    expect(await run.result).toMatchObject({ status: 'paused', reason: 'approval' });
    await runtime.approvals.decide(b, approve);
    await runtime.approvals.decide(a, approve);
    const { result } = await finish(runtime.resume(agent, run.sessionId));
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(spy.entries.map(({ id }) => id).sort()).toEqual(['A', 'B']);
    expect(model.requests).toHaveLength(3);
    expect(toolsOf(model).at(-1)).toEqual(['tool_search', 'del']);
  });

  it('T1 one of two is denied: it does not run, its sibling does', async () => {
    const { runtime, run, spy, finish, model } = await start(kind, two());
    const [a = '', b = ''] = await requestsOf(run, 2);
    await runtime.approvals.decide(a, { decision: 'deny', reason: 'Keep A.' });
    await runtime.approvals.decide(b, approve);
    expect((await finish()).result.status).toBe('completed');
    expect(spy.entries.map(({ id }) => id)).toEqual(['B']);
    expect(lastResults(model, 2)[0]).toContain('Keep A.');
  });
});

/** What happens around a call, with everything in it that could differ by how its tool became visible. */
async function traceOf(defer: 'never' | 'always') {
  const hooks: string[] = [];
  const note = (hook: string) => (subject: { readonly toolName?: string }) => {
    if (subject.toolName === 'del') hooks.push(hook);
    return undefined;
  };
  const { runtime, run, spy, finish, transitions } = await startApprovalRun(
    'memory',
    [...(defer === 'never' ? [] : [searching('del')]), reply().call('del', { id: 'x' }), done],
    {
      tools: (one) => [
        one.tool(
          'del',
          async ({ id }, ctx) => {
            ctx.progress('half');
            await ctx.artifacts.put('bytes', 'text/plain');
            return `${id}\n`.repeat(3_000);
          },
          { defer, needsApproval: true },
        ),
      ],
      agent: {
        hooks: { beforeToolCall: note('beforeToolCall'), beforeToolExecute: note('beforeToolExecute') },
        permission: () => 'allow',
      },
    },
  );
  const [request = ''] = await requestsOf(run, 1);
  await runtime.approvals.decide(request, approve);
  const { records } = await finish();
  const call = ofType(records, 'tool.called').find(({ data }) => data.toolName === 'del')?.call;
  const ofCall = records.filter((record) => record.call === call);
  const settled = ofType(ofCall, 'tool.settled')[0]?.data;
  return {
    hooks,
    entries: spy.entries.length,
    facts: ofCall.map(({ type }) => type),
    states: transitions.filter(({ id }) => id === call).map(({ from, to, event }) => [from, event, to]),
    settled: { ...settled, operationId: undefined, durationMs: undefined },
  };
}

describe('TS-11 settlement', () => {
  it('is the same for a found tool as for a direct one, fact by fact and state by state', async () => {
    const [direct, found] = [await traceOf('never'), await traceOf('always')];
    expect(found).toEqual(direct);
    expect(direct.facts).toEqual([
      'tool.called',
      'permission.requested',
      'permission.decided',
      'tool.dispatched',
      'tool.progressed',
      'tool.settled',
    ]);
    expect(direct.hooks).toEqual(['beforeToolCall', 'beforeToolExecute']);
    expect(direct.settled.resultRef?.size).toBe(6_000);
  });
});
