import { describe, expect, it } from 'vitest';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { violationsOf } from '../invariants/session.ts';
import { requestsOf, startApprovalRun } from '../support/approval-run.ts';
import { LEDGER_KINDS } from '../support/ledgers.ts';
import { callIdsOf, lastResults } from '../support/requests.ts';
import { eventSeen, ofType } from '../support/run-events.ts';

const two = () => [reply().call('del', { id: 'a' }).call('del', { id: 'b' }), reply().text('Done.')];
const approve = { decision: 'approve' } as const;
const deny = { decision: 'deny' } as const;

describe.each(LEDGER_KINDS)('parallel requests for approval (%s)', (kind) => {
  it('T1 two gated calls of a step are decided in any order, run once each, and one request follows', async () => {
    const { runtime, run, spy, model, finish } = await startApprovalRun(kind, two());
    const [a = '', b = ''] = await requestsOf(run, 2);
    await runtime.approvals.decide(b, approve);
    await eventSeen(run, 'tool.settled');
    expect(spy.entries.map(({ id }) => id)).toEqual(['b']);
    await runtime.approvals.decide(a, approve);
    expect((await finish()).result.status).toBe('completed');
    expect(spy.entries.map(({ id }) => id)).toEqual(['b', 'a']);
    expect(model.requests).toHaveLength(2);
    expect(lastResults(model, 1)).toEqual(['del a', 'del b']);
  });

  it('TD-04 requests are presented first in, first out, and both are answerable', async () => {
    const { runtime, run, finish } = await startApprovalRun(kind, two());
    const ids = await requestsOf(run, 2);
    const pending = await runtime.approvals.pending();
    expect(pending.map(({ id }) => id)).toEqual(ids);
    expect(pending.map(({ input }) => input)).toEqual([{ id: 'a' }, { id: 'b' }]);
    await runtime.approvals.decide(ids[1] ?? '', deny);
    expect((await runtime.approvals.pending()).map(({ id }) => id)).toEqual([ids[0]]);
    await runtime.approvals.decide(ids[0] ?? '', approve);
    expect(await runtime.approvals.pending()).toEqual([]);
    expect((await finish()).result.status).toBe('completed');
  });

  it('TD-05 a remembered decision settles the parked requests of its scope, each with a fact of its own', async () => {
    const step = reply()
      .call('del', { id: 'a' })
      .call('del', { id: 'a' })
      .call('del', { id: 'b' })
      .call('wipe', { id: 'a' });
    const { runtime, run, spy, finish } = await startApprovalRun(kind, [step, reply().text('Done.')]);
    const [first = '', same = '', otherInput = '', otherTool = ''] = await requestsOf(run, 4);
    await runtime.approvals.decide(first, { decision: 'approve', scope: 'turn' });
    expect((await runtime.approvals.pending()).map(({ id }) => id)).toEqual([otherInput, otherTool]);
    await runtime.approvals.decide(otherInput, deny);
    await runtime.approvals.decide(otherTool, deny);
    const { records } = await finish();
    const decided = ofType(records, 'permission.decided').map(({ data }) => data);
    expect(decided.slice(0, 2)).toMatchObject([
      { request: first, decision: 'approve', scope: 'turn' },
      { request: same, decision: 'approve', scope: 'call', by: first },
    ]);
    expect(spy.entries.map(({ toolName, id }) => `${toolName} ${id}`)).toEqual(['del a', 'del a']);
  });

  it('TD-05 a decision for one call leaves the others of its scope parked', async () => {
    const { runtime, run, finish } = await startApprovalRun(kind, [
      reply().call('del', { id: 'a' }).call('del', { id: 'a' }),
      reply().text('Done.'),
    ]);
    const [first = '', second = ''] = await requestsOf(run, 2);
    await runtime.approvals.decide(first, approve);
    expect((await runtime.approvals.pending()).map(({ id }) => id)).toEqual([second]);
    await runtime.approvals.decide(second, approve);
    await finish();
  });

  it('TD-05 what may not be remembered stays parked, and an attempt to remember it is refused', async () => {
    const { runtime, run, spy, finish } = await startApprovalRun(
      kind,
      [reply().call('pay', { id: 'a' }).call('pay', { id: 'a' }), reply().text('Done.')],
      { tools: (spy) => [spy.tool('pay', undefined, { needsApproval: true, rememberable: false })] },
    );
    const [first = '', second = ''] = await requestsOf(run, 2);
    await expect(
      runtime.approvals.decide(first, { decision: 'approve', scope: 'turn' }),
    ).rejects.toMatchObject({ code: 'approval-not-rememberable' });
    expect((await runtime.approvals.pending()).map(({ id }) => id)).toEqual([first, second]);
    await runtime.approvals.decide(first, approve);
    expect((await runtime.approvals.pending()).map(({ id }) => id)).toEqual([second]);
    await runtime.approvals.decide(second, approve);
    await finish();
    expect(spy.entries).toHaveLength(2);
  });

  it('TD-07 a denied call does not run, has its error result, and its siblings go on', async () => {
    const { runtime, run, spy, model, finish } = await startApprovalRun(kind, [
      reply().call('look', { id: 'a' }).call('del', { id: 'b' }).call('wipe', { id: 'c' }),
      reply().text('Done.'),
    ]);
    const [del = '', wipe = ''] = await requestsOf(run, 2);
    await runtime.approvals.decide(del, { decision: 'deny', reason: 'Not that one: keep «b».' });
    await runtime.approvals.decide(wipe, approve);
    const { records } = await finish();
    expect(spy.entries.map(({ toolName }) => toolName).sort()).toEqual(['look', 'wipe']);
    const [look, denied, wiped] = lastResults(model, 1);
    expect([look, wiped]).toEqual(['look a', 'wipe c']);
    expect(denied).toContain('Not that one: keep «b».');
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['denied']);
  });

  it('TD-08 a stop while requests are parked cancels every one of them, and none is left', async () => {
    const { runtime, run, spy, finish } = await startApprovalRun(kind, two());
    const ids = await requestsOf(run, 2);
    run.cancel('never mind');
    const { result, records } = await finish();
    expect(result).toMatchObject({ status: 'cancelled', reason: 'never mind' });
    expect(await runtime.approvals.pending()).toEqual([]);
    expect(ofType(records, 'permission.cancelled').map(({ data }) => data.request)).toEqual(ids);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual([
      'turn-ended',
      'turn-ended',
    ]);
    expect(spy.entries).toEqual([]);
    await expect(runtime.approvals.decide(ids[0] ?? '', approve)).rejects.toMatchObject({
      code: 'approval-settled',
    });
  });

  it('T3 an unknown id is a typed error and nothing runs', async () => {
    const { runtime, run, spy, finish } = await startApprovalRun(kind, two());
    const [a = '', b = ''] = await requestsOf(run, 2);
    for (const id of ['nope', '', `${run.sessionId}.1.1.7.ask`, `${a}x`, '../..', 'x'.repeat(10_000)]) {
      await expect(runtime.approvals.decide(id, approve)).rejects.toMatchObject({ code: 'unknown-approval' });
    }
    expect(spy.entries).toEqual([]);
    await runtime.approvals.decide(a, deny);
    await runtime.approvals.decide(b, deny);
    await finish();
    expect(spy.entries).toEqual([]);
  });

  it('T3 the same decision again runs nothing, another one is refused, also at the same time', async () => {
    const { runtime, run, spy, finish } = await startApprovalRun(kind, two());
    const [a = '', b = ''] = await requestsOf(run, 2);
    await Promise.all([runtime.approvals.decide(a, approve), runtime.approvals.decide(a, approve)]);
    await eventSeen(run, 'tool.settled');
    await runtime.approvals.decide(a, approve);
    await expect(runtime.approvals.decide(a, deny)).rejects.toMatchObject({ code: 'approval-conflict' });
    await runtime.approvals.decide(b, approve);
    await finish();
    expect(spy.entries.map(({ id }) => id)).toEqual(['a', 'b']);
    await runtime.approvals.decide(a, approve);
    await expect(runtime.approvals.decide(a, deny)).rejects.toMatchObject({ code: 'approval-conflict' });
    expect(spy.entries).toHaveLength(2);
  });

  it('T5 an ungated sibling runs before the pause, and its result is in the request after it', async () => {
    const { runtime, run, spy, agent, model, ledger } = await startApprovalRun(
      kind,
      [reply().call('look', { id: 'a' }).call('del', { id: 'b' }), reply().text('Done.')],
      { run: { onApproval: 'pause' } },
    );
    const paused = await run.result;
    expect(paused).toMatchObject({ status: 'paused', reason: 'approval', approvals: [{ toolName: 'del' }] });
    expect(spy.entries.map(({ toolName }) => toolName)).toEqual(['look']);
    const [request] = await runtime.approvals.pending();
    await runtime.approvals.decide(request?.id ?? '', approve);
    const result = await runtime.resume(agent, run.sessionId).result;
    expect(result).toMatchObject({ status: 'completed', steps: 2, toolCalls: 2 });
    expect(spy.entries.map(({ toolName }) => toolName)).toEqual(['look', 'del']);
    expect(lastResults(model, 1)).toEqual(['look a', 'del b']);
    expect(violationsOf({ records: await ledger.read(run.sessionId) })).toEqual([]);
  });

  it('T7 over two approvals in a row every call is answered exactly once in each request', async () => {
    const { runtime, run, model, finish } = await startApprovalRun(kind, [
      reply().text('First.', { deltas: 3 }).call('del', { id: 'a' }),
      reply().text('Second.', { deltas: 3 }).call('del', { id: 'b' }),
      reply().text('Done.'),
    ]);
    for (const nth of [1, 2]) {
      const { data } = await eventSeen(run, 'approval.requested', nth);
      await runtime.approvals.decide(data.request, approve);
    }
    expect((await finish()).result.status).toBe('completed');
    expect(model.requests.map(({ violations }) => violations)).toEqual([[], [], []]);
    for (const [nth, { messages }] of model.requests.entries()) {
      const { called, answered } = callIdsOf(messages);
      expect(answered).toEqual(called);
      expect(called).toHaveLength(nth);
    }
  });

  it('a decision made on the event of its request finds it, however early', async () => {
    const { runtime, run, spy, finish } = await startApprovalRun(kind, two());
    const deciding: Promise<void>[] = [];
    for await (const event of run.events()) {
      if (event.type !== 'approval.requested') continue;
      deciding.push(runtime.approvals.decide(event.data.request, approve));
      if (deciding.length === 2) break;
    }
    await Promise.all(deciding);
    expect((await finish()).result.status).toBe('completed');
    expect(spy.entries).toHaveLength(2);
  });

  it('a call that is asked about while another runs does not wait for it', async () => {
    const gate = createGate();
    const { runtime, run, spy, finish } = await startApprovalRun(
      kind,
      [reply().call('slow', { id: 'a' }).call('del', { id: 'b' }), reply().text('Done.')],
      {
        tools: (spy) => [
          spy.tool('slow', () => gate.pass()),
          spy.tool('del', undefined, { needsApproval: true }),
        ],
      },
    );
    await gate.reached;
    const [id = ''] = await requestsOf(run, 1);
    await runtime.approvals.decide(id, approve);
    await eventSeen(run, 'tool.settled');
    expect(spy.entries.map(({ toolName }) => toolName)).toEqual(['slow', 'del']);
    gate.open();
    expect((await finish()).result.status).toBe('completed');
  });
});
