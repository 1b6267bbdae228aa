import { describe, expect, it, onTestFinished } from 'vitest';
import { sqliteLedger } from '../../src/ledger/sqlite-ledger.ts';
import { createRuntime } from '../../src/runtime.ts';
import { reply } from '../../src/testing/reply.ts';
import type { Script } from '../../src/testing/script.ts';
import { scriptedServer } from '../../src/testing/scripted-server.ts';
import { violationsOf } from '../invariants/session.ts';
import { requestsOf } from '../support/approval-run.ts';
import { startProgram } from '../support/child-process.ts';
import { ledgerPath } from '../support/ledgers.ts';
import { ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';

const approve = { decision: 'approve' } as const;

/** Two runtimes on one file: what one knows, the other learns from the ledger alone. */
async function twoRuntimes(script: Script) {
  const path = await ledgerPath();
  const spy = createToolSpy();
  const { model, agent } = scriptedAgent(script, {
    tools: [spy.tool('del', undefined, { needsApproval: true })],
  });
  const options = { agents: { worker: agent } };
  const owner = createRuntime({ ...options, ledger: sqliteLedger({ path }) });
  const other = createRuntime({ ...options, ledger: sqliteLedger({ path }) });
  onTestFinished(async () => {
    await owner.close();
    await other.close();
  });
  return { path, spy, model, agent, owner, other };
}

const script = () => [reply().call('del', { id: 'a' }).call('del', { id: 'b' }), reply().text('Done.')];

describe('approvals over runtimes (sqlite)', () => {
  it('a second runtime sees and decides what the first one waits for', async () => {
    const { agent, owner, other, spy } = await twoRuntimes(script());
    const run = owner.run(agent, 'Go.');
    const ids = await requestsOf(run, 2);
    expect((await other.approvals.pending()).map(({ id }) => id)).toEqual(ids);
    await other.approvals.decide(ids[1] ?? '', approve);
    await other.approvals.decide(ids[0] ?? '', { decision: 'deny', reason: 'from elsewhere' });
    expect((await run.result).status).toBe('completed');
    expect(spy.entries.map(({ id }) => id)).toEqual(['b']);
    const records = await other.sessions.read(run.sessionId);
    expect(violationsOf({ records })).toEqual([]);
    // The owner wrote the decision: nobody else wrote into its session.
    expect(new Set(records.map(({ epoch }) => epoch)).size).toBe(1);
  });

  it('a second runtime gets the errors of the first', async () => {
    const { agent, owner, other } = await twoRuntimes(script());
    const run = owner.run(agent, 'Go.');
    const [a = '', b = ''] = await requestsOf(run, 2);
    const edit = { decision: 'approve', editedInput: { id: 7 } } as const;
    await expect(other.approvals.decide(a, edit)).rejects.toMatchObject({ code: 'approval-edit-invalid' });
    await expect(other.approvals.decide(`${a}x`, approve)).rejects.toMatchObject({
      code: 'unknown-approval',
    });
    await other.approvals.decide(a, approve);
    await other.approvals.decide(a, approve);
    await expect(other.approvals.decide(a, { decision: 'deny' })).rejects.toMatchObject({
      code: 'approval-conflict',
    });
    await owner.approvals.decide(b, approve);
    await run.result;
    await expect(other.approvals.decide(b, { decision: 'deny' })).rejects.toMatchObject({
      code: 'approval-conflict',
    });
  });

  it('both may decide at the same time: one decision is made', async () => {
    const { agent, owner, other, spy } = await twoRuntimes(script());
    const run = owner.run(agent, 'Go.');
    const [a = '', b = ''] = await requestsOf(run, 2);
    const answers = await Promise.allSettled([
      owner.approvals.decide(a, approve),
      other.approvals.decide(a, { decision: 'deny' }),
    ]);
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await owner.approvals.decide(b, { decision: 'deny' });
    await run.result;
    const records = await owner.sessions.read(run.sessionId);
    expect(ofType(records, 'permission.decided')).toHaveLength(2);
    expect(spy.entries).toHaveLength(answers[0].status === 'fulfilled' ? 1 : 0);
  });

  it('a paused run is decided by one runtime and resumed by another', async () => {
    const { agent, owner, other, spy } = await twoRuntimes(script());
    const run = owner.run(agent, 'Go.', { onApproval: 'pause' });
    expect((await run.result).status).toBe('paused');
    const [a, b] = await other.approvals.pending();
    await other.approvals.decide(a?.id ?? '', { decision: 'approve', editedInput: { id: 'c' } });
    await owner.approvals.decide(b?.id ?? '', approve);
    const resumed = await other.resume('worker', run.sessionId).result;
    expect(resumed.status).toBe('completed');
    expect(spy.entries.map(({ id }) => id).sort()).toEqual(['b', 'c']);
  });

  it('a session that another runtime has at work is not resumed', async () => {
    const { agent, owner, other, spy } = await twoRuntimes(script());
    const run = owner.run(agent, 'Go.');
    const [a = '', b = ''] = await requestsOf(run, 2);
    const stolen = await other.resume(agent, run.sessionId).result;
    expect(stolen).toMatchObject({ status: 'failed', error: { kind: 'session-owned-elsewhere' } });
    await owner.approvals.decide(a, approve);
    await owner.approvals.decide(b, approve);
    expect((await run.result).status).toBe('completed');
    expect(spy.entries).toHaveLength(2);
  });

  it('a recorded decision outranks the policy of a later process', async () => {
    const { path, agent, owner, spy } = await twoRuntimes(script());
    const run = owner.run(agent, 'Go.', { onApproval: 'pause' });
    await run.result;
    const [a, b] = await owner.approvals.pending();
    await owner.approvals.decide(a?.id ?? '', approve);
    await owner.approvals.decide(b?.id ?? '', { decision: 'deny', reason: 'recorded' });
    await owner.close();
    await using later = createRuntime({ ledger: sqliteLedger({ path }), permission: () => 'deny' });
    expect((await later.resume(agent, run.sessionId).result).status).toBe('completed');
    expect(spy.entries.map(({ id }) => id)).toEqual(['a']);
  });

  it('what a gate put in place survives the restart of its process', async () => {
    const path = await ledgerPath();
    const spy = createToolSpy();
    const { agent } = scriptedAgent([reply().call('del', { id: 'a' }), reply().text('Done.')], {
      tools: [spy.tool('del', undefined, { needsApproval: true })],
      hooks: { beforeToolCall: (subject) => ({ replace: { ...subject, input: { id: 'gated' } } }) },
    });
    const first = createRuntime({ ledger: sqliteLedger({ path }) });
    const run = first.run(agent, 'Go.', { onApproval: 'pause' });
    await run.result;
    await first.close();
    await using second = createRuntime({ ledger: sqliteLedger({ path }) });
    const [request] = await second.approvals.pending();
    expect(request?.input).toEqual({ id: 'gated' });
    await second.approvals.decide(request?.id ?? '', approve);
    await second.resume({ ...agent, hooks: undefined }, run.sessionId).result;
    expect(spy.entries.map(({ id }) => id)).toEqual(['gated']);
  });
});

describe('approvals over a killed process (sqlite)', () => {
  const T9 = () => [
    reply().call('pay', { id: 'a' }).call('ask', { id: 'b' }).call('ask', { id: 'c' }),
    reply().text('Done.'),
  ];

  it.each(['wait', 'pause'])(
    'T9 [pay, ask, ask] asks both at once and pays once over a kill (%s)',
    async (mode) => {
      const server = await scriptedServer({ script: T9() });
      onTestFinished(() => server.close());
      const path = await ledgerPath();
      const args = [path, server.baseURL, 's-t9'];
      const first = startProgram('programs/paying-agent.ts', [...args, 'run', mode]);
      const paid = await first.said('entered pay a');
      await first.said(mode === 'pause' ? 'event turn.paused' : 'event tool.settled');
      const decider = createRuntime({ ledger: sqliteLedger({ path }) });
      onTestFinished(() => decider.close());
      await first.said('event approval.requested');
      let pending = await decider.approvals.pending();
      while (pending.length < 2) pending = await decider.approvals.pending();
      expect(pending.map(({ toolName, input }) => [toolName, input])).toEqual([
        ['ask', { id: 'b' }],
        ['ask', { id: 'c' }],
      ]);
      await first.kill();
      const [report] = await decider.recover('s-t9');
      expect(report).toMatchObject({ indeterminate: [], parked: [{ toolName: 'ask' }, { toolName: 'ask' }] });
      await decider.approvals.decide(pending[1]?.id ?? '', approve);
      await decider.approvals.decide(pending[0]?.id ?? '', { decision: 'deny' });
      const second = startProgram('programs/paying-agent.ts', [...args, 'resume']);
      expect(JSON.parse(await second.said('result'))).toMatchObject({ status: 'completed', toolCalls: 3 });
      await second.said('entered ask c');
      await second.ended;
      await expect(second.said('entered pay')).rejects.toThrow('ended without');
      const records = await decider.sessions.read('s-t9');
      expect(ofType(records, 'tool.dispatched').map(({ data }) => data.toolName)).toEqual(['pay', 'ask']);
      expect(paid).toBe(ofType(records, 'tool.settled')[0]?.data.operationId);
      expect(violationsOf({ records })).toEqual([]);
      expect(server.requests).toHaveLength(2);
      server.assertPlayedOut();
    },
  );
});
