import { describe, expect, it } from 'vitest';
import { sqliteLedger } from '../../src/ledger/sqlite-ledger.ts';
import { createRuntime } from '../../src/runtime.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import type { Verdict } from '../../src/tools/permission.ts';
import { requestOf, requestsOf, startApprovalRun } from '../support/approval-run.ts';
import { LEDGER_KINDS, ledgerPath } from '../support/ledgers.ts';
import { lastResults } from '../support/requests.ts';
import { eventSeen, ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';

const del = (id: string) => reply().call('del', { id });
const done = () => reply().text('Done.');

describe.each(LEDGER_KINDS)('how long a decision holds (%s)', (kind) => {
  it('scope call: the same call is asked about again', async () => {
    const { runtime, run, finish } = await startApprovalRun(kind, [del('a'), del('a'), done()]);
    for (const nth of [1, 2]) {
      const { data } = await eventSeen(run, 'approval.requested', nth);
      await runtime.approvals.decide(data.request, { decision: 'approve', scope: 'call' });
    }
    const { records } = await finish();
    expect(ofType(records, 'permission.requested')).toHaveLength(2);
  });

  it('scope turn: like calls of later steps run unasked, those of the next turn are asked about', async () => {
    const { runtime, run, agent, spy, finish } = await startApprovalRun(kind, [
      del('a'),
      del('a'),
      done(),
      del('a'),
      done(),
    ]);
    await runtime.approvals.decide(await requestOf(run), { decision: 'approve', scope: 'turn' });
    await finish();
    expect(spy.entries).toHaveLength(2);
    const next = runtime.run(agent, 'Again.', { sessionId: run.sessionId });
    await runtime.approvals.decide(await requestOf(next), { decision: 'deny' });
    await finish(next);
    expect(spy.entries).toHaveLength(2);
  });

  it('scope turn: a turn that waited behind it is asked for itself', async () => {
    const { runtime, run, agent, spy, finish } = await startApprovalRun(kind, [
      del('a'),
      done(),
      del('a'),
      done(),
    ]);
    const id = await requestOf(run);
    const next = runtime.run(agent, 'Next.', { sessionId: run.sessionId });
    await runtime.approvals.decide(id, { decision: 'approve', scope: 'turn' });
    await runtime.approvals.decide(await requestOf(next), { decision: 'deny' });
    await finish(next);
    expect(spy.entries).toHaveLength(1);
  });

  it('scope session: like calls of later turns run unasked, others are asked about', async () => {
    const { runtime, run, agent, spy, finish } = await startApprovalRun(kind, [
      del('a'),
      done(),
      reply().call('del', { id: 'a' }).call('del', { id: 'b' }),
      done(),
    ]);
    await runtime.approvals.decide(await requestOf(run), { decision: 'approve', scope: 'session' });
    await finish();
    const next = runtime.run(agent, 'Again.', { sessionId: run.sessionId });
    const id = await requestOf(next);
    const [pending] = await runtime.approvals.pending();
    expect(pending?.input).toEqual({ id: 'b' });
    await runtime.approvals.decide(id, { decision: 'deny' });
    await finish(next);
    expect(spy.entries.map((entry) => entry.id)).toEqual(['a', 'a']);
  });

  it('scope session: another session knows nothing of it', async () => {
    const { runtime, run, agent, finish } = await startApprovalRun(kind, [
      del('a'),
      done(),
      del('a'),
      done(),
    ]);
    await runtime.approvals.decide(await requestOf(run), { decision: 'approve', scope: 'session' });
    await finish();
    const other = runtime.run(agent, 'Go.');
    await runtime.approvals.decide(await requestOf(other), { decision: 'deny' });
    expect((await other.result).status).toBe('completed');
  });

  it('a denial that holds for the turn denies like calls unasked, with its reason', async () => {
    const { runtime, run, spy, model, finish } = await startApprovalRun(kind, [del('a'), del('a'), done()]);
    const decision = { decision: 'deny', scope: 'turn', reason: 'Hands off.' } as const;
    await runtime.approvals.decide(await requestOf(run), decision);
    const { records } = await finish();
    expect(ofType(records, 'permission.requested')).toHaveLength(1);
    expect(lastResults(model, 2)[0]).toContain('Hands off.');
    expect(spy.entries).toEqual([]);
  });

  it('tools that name one approval scope share its decisions, whatever their arguments', async () => {
    const { runtime, run, spy, finish } = await startApprovalRun(
      kind,
      [reply().call('open', { id: 'a' }), reply().call('click', { id: 'b' }), done()],
      {
        tools: (spies) => [
          spies.tool('open', undefined, { needsApproval: true, approvalScope: 'browser' }),
          spies.tool('click', undefined, { needsApproval: true, approvalScope: 'browser' }),
        ],
      },
    );
    await runtime.approvals.decide(await requestOf(run), { decision: 'approve', scope: 'turn' });
    await finish();
    expect(spy.entries.map((entry) => entry.toolName)).toEqual(['open', 'click']);
  });

  it('a tool whose decisions are not remembered stays parked, whatever scope it shares', async () => {
    const { runtime, run, finish } = await startApprovalRun(
      kind,
      [reply().call('open', { id: 'a' }).call('pay', { id: 'a' }), done()],
      {
        tools: (spies) => [
          spies.tool('open', undefined, { needsApproval: true, approvalScope: 'shop' }),
          spies.tool('pay', undefined, { needsApproval: true, approvalScope: 'shop', rememberable: false }),
        ],
      },
    );
    const [open = '', pay = ''] = await requestsOf(run, 2);
    await runtime.approvals.decide(open, { decision: 'approve', scope: 'turn' });
    expect(await runtime.approvals.pending()).toMatchObject([{ id: pay, rememberable: false }]);
    await runtime.approvals.decide(pay, { decision: 'deny' });
    await finish();
  });

  it('a remembered approval never outranks a policy that denies', async () => {
    let forbidden = false;
    const { runtime, run, spy, finish } = await startApprovalRun(kind, [del('a'), del('a'), done()], {
      runtime: { permission: () => (forbidden ? 'deny' : 'allow') },
    });
    const id = await requestOf(run);
    forbidden = true;
    await runtime.approvals.decide(id, { decision: 'approve', scope: 'session' });
    await finish();
    expect(spy.entries).toHaveLength(1);
  });

  it('a decision made while a policy thinks about a like call covers it', async () => {
    const thinking = createGate();
    let asked = 0;
    const { runtime, run, spy, finish } = await startApprovalRun(
      kind,
      [reply().call('del', { id: 'a' }).call('del', { id: 'a' }), done()],
      {
        runtime: {
          permission: async (): Promise<Verdict> => {
            asked += 1;
            if (asked === 2) await thinking.pass();
            return 'allow';
          },
        },
      },
    );
    await thinking.reached;
    await runtime.approvals.decide(await requestOf(run), { decision: 'approve', scope: 'turn' });
    thinking.open();
    const { records } = await finish();
    expect(ofType(records, 'permission.requested')).toHaveLength(1);
    expect(spy.entries).toHaveLength(2);
  });

  it('a decision for the turn made while it is paused settles the other requests of its scope', async () => {
    const step = reply().call('del', { id: 'a' }).call('del', { id: 'a' }).call('del', { id: 'b' });
    const { runtime, run, agent, spy, finish } = await startApprovalRun(kind, [step, done()], {
      run: { onApproval: 'pause' },
    });
    const paused = await run.result;
    expect(paused).toMatchObject({ status: 'paused', approvals: { length: 3 } });
    const [first, , third] = await runtime.approvals.pending();
    await runtime.approvals.decide(first?.id ?? '', { decision: 'approve', scope: 'turn' });
    expect((await runtime.approvals.pending()).map(({ id }) => id)).toEqual([third?.id]);
    await runtime.approvals.decide(third?.id ?? '', { decision: 'deny' });
    const { result } = await finish(runtime.resume(agent, run.sessionId));
    expect(result.status).toBe('completed');
    expect(spy.entries.map((entry) => entry.id)).toEqual(['a', 'a']);
  });

  it('a decision for the turn holds after a pause and resume of that turn', async () => {
    const { runtime, run, agent, spy, finish } = await startApprovalRun(kind, [del('a'), del('a'), done()], {
      run: { onApproval: 'pause' },
    });
    await run.result;
    const [request] = await runtime.approvals.pending();
    await runtime.approvals.decide(request?.id ?? '', { decision: 'approve', scope: 'turn' });
    const { result } = await finish(runtime.resume(agent, run.sessionId, { onApproval: 'pause' }));
    expect(result.status).toBe('completed');
    expect(spy.entries).toHaveLength(2);
  });
});

describe('how long a decision holds (sqlite, restarted)', () => {
  it('scope session: like calls run unasked after a restart', async () => {
    const path = await ledgerPath();
    const spy = createToolSpy();
    const { agent } = scriptedAgent([del('a'), done(), del('a'), done()], {
      tools: [spy.tool('del', undefined, { needsApproval: true })],
    });
    const first = createRuntime({ ledger: sqliteLedger({ path }) });
    const run = first.run(agent, 'Go.');
    await first.approvals.decide(await requestOf(run), { decision: 'approve', scope: 'session' });
    await run.result;
    await first.close();
    await using second = createRuntime({ ledger: sqliteLedger({ path }) });
    const next = second.run(agent, 'Again.', { sessionId: run.sessionId, onApproval: 'pause' });
    expect((await next.result).status).toBe('completed');
    expect(spy.entries).toHaveLength(2);
  });
});
