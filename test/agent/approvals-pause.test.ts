import { describe, expect, it } from 'vitest';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { requestOf, startApprovalRun } from '../support/approval-run.ts';
import { LEDGER_KINDS } from '../support/ledgers.ts';
import { lastResults } from '../support/requests.ts';
import { eventsOf, ofType } from '../support/run-events.ts';

const approve = { decision: 'approve' } as const;
const script = () => [reply().call('del', { id: 'a' }), reply().text('Done.')];
const pause = { run: { onApproval: 'pause' } } as const;

describe.each(LEDGER_KINDS)('runs that pause for approval (%s)', (kind) => {
  it('end as paused with what is asked, and go on after the decision with a resume', async () => {
    const { runtime, run, agent, spy, model, finish } = await startApprovalRun(kind, script(), pause);
    const paused = await run.result;
    expect(paused).toMatchObject({ status: 'paused', reason: 'approval', calls: [], steps: 1, toolCalls: 1 });
    const pending = await runtime.approvals.pending();
    expect(paused.status === 'paused' && paused.approvals).toMatchObject([{ ...pending[0] }]);
    await runtime.approvals.decide(pending[0]?.id ?? '', approve);
    expect(spy.entries).toEqual([]);
    expect(model.requests).toHaveLength(1);
    const { result, records } = await finish(runtime.resume(agent, run.sessionId));
    expect(result).toMatchObject({ status: 'completed', text: 'Done.', steps: 2, toolCalls: 1 });
    expect(ofType(records, 'turn.paused').map(({ data }) => data.reason)).toEqual(['approval']);
    expect(ofType(records, 'turn.opened')).toHaveLength(1);
    expect(lastResults(model, 1)).toEqual(['del a']);
  });

  it('T9 [pay, ask, ask] surfaces both requests at once and pays once over pauses and resumes', async () => {
    const step = reply().call('pay', { id: 'a' }).call('ask', { id: 'b' }).call('ask', { id: 'c' });
    const { runtime, run, agent, spy, model, finish } = await startApprovalRun(
      kind,
      [step, reply().text('Done.')],
      {
        ...pause,
        tools: (tools) => [tools.tool('pay'), tools.tool('ask', undefined, { needsApproval: true })],
      },
    );
    expect(await run.result).toMatchObject({ status: 'paused', approvals: { length: 2 } });
    for (const { id } of await runtime.approvals.pending()) {
      await runtime.approvals.decide(id, approve);
      await runtime.resume(agent, run.sessionId, { onApproval: 'pause' }).result;
    }
    expect((await finish()).records.at(-1)?.type).toBe('turn.closed');
    expect(spy.entries.map(({ toolName, id }) => `${toolName} ${id}`)).toEqual(['pay a', 'ask b', 'ask c']);
    expect(lastResults(model, 1)).toEqual(['pay a', 'ask b', 'ask c']);
    expect(model.requests).toHaveLength(2);
  });

  it('pause only when nothing else of the step runs', async () => {
    const gate = createGate();
    const { run, ledger } = await startApprovalRun(
      kind,
      [reply().call('del', { id: 'a' }).call('slow', { id: 'b' })],
      {
        ...pause,
        tools: (spy) => [
          spy.tool('del', undefined, { needsApproval: true }),
          spy.tool('slow', async () => {
            await gate.pass();
            return 'slow b';
          }),
        ],
      },
    );
    await gate.reached;
    await requestOf(run);
    expect(ofType(await ledger.read(run.sessionId), 'turn.paused')).toEqual([]);
    gate.open();
    expect((await run.result).status).toBe('paused');
    const types = (await ledger.read(run.sessionId)).map(({ type }) => type);
    expect(types.indexOf('tool.settled')).toBeLessThan(types.indexOf('turn.paused'));
  });

  it('go on waiting where nothing was decided before the resume', async () => {
    const { runtime, run, agent, finish } = await startApprovalRun(kind, script(), pause);
    await run.result;
    const again = runtime.resume(agent, run.sessionId, { onApproval: 'pause' });
    expect((await again.result).status).toBe('paused');
    const resumed = runtime.resume(agent, run.sessionId);
    const [request] = await runtime.approvals.pending();
    await runtime.approvals.decide(request?.id ?? '', approve);
    const { result, records } = await finish(resumed);
    expect(result.status).toBe('completed');
    // The same request all along.
    expect(ofType(records, 'permission.requested')).toHaveLength(1);
  });

  it('may be resumed and decided at once, in either order', async () => {
    const first = await startApprovalRun(kind, script(), pause);
    await first.run.result;
    const [request] = await first.runtime.approvals.pending();
    const resumed = first.runtime.resume(first.agent, first.run.sessionId);
    const deciding = first.runtime.approvals.decide(request?.id ?? '', approve);
    expect((await first.finish(resumed)).result.status).toBe('completed');
    await deciding;
  });

  it('decide some, deny others: a partial decision pauses again with the rest', async () => {
    const step = reply().call('del', { id: 'a' }).call('wipe', { id: 'b' });
    const { runtime, run, agent, spy, model, finish } = await startApprovalRun(
      kind,
      [step, reply().text('Done.')],
      pause,
    );
    await run.result;
    const [del, wipe] = await runtime.approvals.pending();
    await runtime.approvals.decide(wipe?.id ?? '', approve);
    const again = await runtime.resume(agent, run.sessionId, { onApproval: 'pause' }).result;
    expect(again).toMatchObject({ status: 'paused', approvals: [{ id: del?.id }] });
    expect(spy.entries.map(({ toolName }) => toolName)).toEqual(['wipe']);
    await runtime.approvals.decide(del?.id ?? '', { decision: 'deny', reason: 'No.' });
    const { result } = await finish(runtime.resume(agent, run.sessionId, { onApproval: 'pause' }));
    expect(result.status).toBe('completed');
    expect(lastResults(model, 1)).toEqual([expect.stringContaining('No.'), 'wipe b']);
  });

  it('pause with calls that wait for their place behind the one that asks, in order', async () => {
    const step = reply().call('del', { id: 'a' }).call('look', { id: 'b' });
    const { runtime, run, agent, spy, finish } = await startApprovalRun(kind, [step, reply().text('Done.')], {
      ...pause,
      agent: { limits: { toolConcurrency: 1 } },
    });
    expect((await run.result).status).toBe('paused');
    expect(spy.entries).toEqual([]);
    const [request] = await runtime.approvals.pending();
    await runtime.approvals.decide(request?.id ?? '', approve);
    const { result } = await finish(runtime.resume(agent, run.sessionId));
    expect(result.status).toBe('completed');
    expect(spy.entries.map(({ toolName }) => toolName)).toEqual(['del', 'look']);
  });

  it('restored requests that wait for a place can be decided in any order', async () => {
    const step = reply().call('del', { id: 'a' }).call('wipe', { id: 'b' });
    const { runtime, run, agent, spy, finish } = await startApprovalRun(
      kind,
      [step, reply().text('Done.')],
      pause,
    );
    await run.result;
    const [del, wipe] = await runtime.approvals.pending();
    const narrow = { ...agent, limits: { toolConcurrency: 1 } };
    const resumed = runtime.resume(narrow, run.sessionId);
    await runtime.approvals.decide(wipe?.id ?? '', approve);
    await runtime.approvals.decide(del?.id ?? '', approve);
    expect((await finish(resumed)).result.status).toBe('completed');
    expect(spy.entries.map(({ toolName }) => toolName)).toEqual(['del', 'wipe']);
  });

  it('a cancel right after a resume ends the open requests with their turn', async () => {
    const step = reply().call('del', { id: 'a' }).call('wipe', { id: 'b' });
    const { runtime, run, agent, spy, finish } = await startApprovalRun(kind, [step], pause);
    await run.result;
    const resumed = runtime.resume(agent, run.sessionId);
    resumed.cancel('never mind');
    const { result, records } = await finish(resumed);
    expect(ofType(records, 'permission.cancelled')).toHaveLength(2);
    expect(ofType(records, 'turn.closed')[0]?.data.status).toBe('cancelled');
    expect(await runtime.approvals.pending()).toEqual([]);
    expect(result.status).toBe('cancelled');
    expect(spy.entries).toEqual([]);
  });

  it('abandoning a paused turn ends its requests', async () => {
    const { runtime, run, spy, finish } = await startApprovalRun(kind, script(), pause);
    await run.result;
    const [request] = await runtime.approvals.pending();
    await runtime.abandon(run.sessionId, 'nobody is interested');
    const { records } = await finish();
    expect(await runtime.approvals.pending()).toEqual([]);
    expect(ofType(records, 'permission.cancelled')).toHaveLength(1);
    expect(ofType(records, 'turn.closed')[0]?.data.status).toBe('interrupted');
    await expect(runtime.approvals.decide(request?.id ?? '', approve)).rejects.toMatchObject({
      code: 'approval-settled',
    });
    expect(spy.entries).toEqual([]);
  });

  it('tell events and hooks of a pause and of what was decided meanwhile, once each', async () => {
    const fired: string[] = [];
    const note = (name: string) => () => void fired.push(name);
    const { runtime, run, agent } = await startApprovalRun(kind, script(), {
      ...pause,
      runtime: {
        hooks: {
          onApprovalRequested: note('requested'),
          onApprovalResolved: note('resolved'),
          onPermissionRequested: note('asked'),
          onPermissionGranted: note('granted'),
          onToolCallReceived: note('received'),
          onTurnPaused: note('paused'),
          onTurnResumed: note('resumed'),
        },
      },
    });
    await run.result;
    expect(fired).toEqual(['received', 'asked', 'requested', 'paused']);
    const [request] = await runtime.approvals.pending();
    await runtime.approvals.decide(request?.id ?? '', approve);
    await runtime.resume(agent, run.sessionId).result;
    expect(fired.slice(4)).toEqual(['resumed', 'resolved', 'granted']);
    const kinds = (await eventsOf(run, { from: 1 })).map(({ type }) => type);
    for (const type of ['turn.paused', 'approval.requested']) {
      expect(kinds.filter((one) => one === type)).toHaveLength(1);
    }
  });
});
