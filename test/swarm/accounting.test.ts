import { describe, expect, it } from 'vitest';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { adds, factsOf, factsSeen, item, resultsIn, runtimeOf, team, wakeIn, yields } from './team.ts';

describe('usage of a swarm', () => {
  it('is counted by agent over the whole tree', async () => {
    const { swarm } = team({
      lead: [
        adds(item('A'), item('B')).usage(100, 10),
        yields().usage(100, 10),
        reply().text('Done.').usage(50, 5),
      ],
      worker: (task) => reply().text(task).usage(7, 3),
    });
    const { runtime, ledger } = runtimeOf(swarm);
    const result = await runtime.run(swarm, 'Go.').result;
    expect(result.usage).toMatchObject({
      total: { inputTokens: 264, outputTokens: 31 },
      byAgent: {
        lead: { inputTokens: 250, outputTokens: 25 },
        worker: { inputTokens: 14, outputTokens: 6 },
      },
    });
    const spent = (await factsOf(ledger, 'node.finished')).map(({ data }) => data.spent);
    expect(spent).toMatchObject(Array(2).fill({ steps: 1, toolCalls: 0, usage: { inputTokens: 7 } }));
  });
});

describe('bounds of a swarm', () => {
  it('GS-12 fail the works beyond the agents of the run, and no others', async () => {
    const { swarm, lead, worker } = team({
      mode: 'swarm',
      lead: [adds(item('A'), item('B'), item('C')), yields(), yields(), reply().text('Done.')],
    });
    const { runtime } = runtimeOf(swarm);
    const result = await runtime.run(swarm, 'Go.', { budget: { agents: 3 } }).result;
    expect(result).toMatchObject({ status: 'completed' });
    expect(worker.requests).toHaveLength(2);
    expect(wakeIn(lead, 2)['counts']).toMatchObject({ failed: 1 });
    expect(lead.requests.map(({ lastText }) => lastText).join('\n')).toContain('agent-limit');
  });

  it('T16 GS-04 a depth of 0 leaves nobody to give work to', async () => {
    const { swarm, lead } = team({ lead: [adds(item('A')), reply().text('Alone.')], limits: { depth: 0 } });
    const { runtime, ledger } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed', text: 'Alone.' });
    expect(resultsIn(lead, 1)[0]).toContain('depth-limit');
    expect(await factsOf(ledger, 'graph.updated')).toEqual([]);
  });

  it('of steps hold for operators and supervisor together', async () => {
    const { swarm, worker } = team({
      lead: [adds(item('A'), item('B'), item('C')), yields(), reply().text('Done.')],
    });
    const { runtime } = runtimeOf(swarm);
    const result = await runtime.run(swarm, 'Go.', { budget: { steps: 3 } }).result;
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'step-limit' } });
    expect(worker.requests.length).toBeLessThanOrEqual(2);
  });

  it('GS-05 an operator has the tools of its agent, within those the run may use', async () => {
    const spy = createToolSpy();
    const { swarm, worker } = team({
      lead: [adds(item('A')), yields(), reply().text('Done.')],
      workerMore: { tools: [spy.tool('look'), spy.tool('wipe')] },
    });
    const { runtime } = runtimeOf(swarm);
    const boundTools = ['look', 'update_agent_graph', 'yield_agent_graph'];
    await runtime.run(swarm, 'Go.', { boundTools }).result;
    expect(worker.requests[0]?.toolNames).toEqual(['look']);
  });

  it('GS-06 a policy of the supervisor holds for its operators', async () => {
    const spy = createToolSpy();
    const { swarm, worker } = team({
      lead: [adds(item('A')), yields(), reply().text('Done.')],
      leadMore: { permission: ({ toolName }) => (toolName === 'wipe' ? 'deny' : 'allow') },
      worker: (task, _request, index) =>
        index === 0 ? reply().call('wipe', { id: task }) : reply().text('Not allowed.'),
      workerMore: { tools: [spy.tool('wipe')] },
    });
    const { runtime } = runtimeOf(swarm);
    await runtime.run(swarm, 'Go.').result;
    expect(spy.entries).toEqual([]);
    expect(worker.requests[1]?.lastText).toContain('denied');
  });

  it('HK-06 a gate of the runtime stands before each operator, and may change its task', async () => {
    const asked: string[] = [];
    const { swarm, worker } = team({
      lead: [adds(item('A'), item('B')), yields(), yields(), reply().text('Done.')],
    });
    const { runtime, ledger } = runtimeOf(swarm, {
      hooks: {
        beforeChild(subject) {
          asked.push(`${subject.childAgent} ${subject.callId.split('.').slice(1).join('.')}`);
          return subject.input.startsWith('B')
            ? { refuse: 'not B' }
            : { replace: { ...subject, input: 'Changed.' } };
        },
      },
    });
    await runtime.run(swarm, 'Go.').result;
    expect(asked).toEqual(['worker 1.1.0', 'worker 1.1.0']);
    expect(worker.requests.map(({ lastText }) => lastText)).toEqual(['Changed.']);
    expect((await factsOf(ledger, 'node.finished')).map(({ data }) => data.error?.kind).sort()).toEqual([
      'gate-refused',
      undefined,
    ]);
  });
});

describe('an operator that asks a person', () => {
  const asking = () => {
    const spy = createToolSpy();
    return {
      spy,
      ...team({
        lead: (request) =>
          request.messages.length === 1
            ? adds(item('A'))
            : request.lastText.includes('"status":"settled"')
              ? reply().text('Done.')
              : yields(),
        worker: (task, { messages }) =>
          messages.some(({ role }) => role === 'tool')
            ? reply().text('Paid.')
            : reply().call('pay', { id: task }),
        workerMore: { tools: [spy.tool('pay', undefined, { needsApproval: true })] },
      }),
    };
  };

  it('stands in the queue of the root with its path, and a decision goes on with the run', async () => {
    const { swarm, spy, lead } = asking();
    const { runtime, ledger, misfits } = runtimeOf(swarm);
    const run = runtime.run(swarm, 'Go.');
    await factsSeen(ledger, 'permission.requested');
    const pending = await runtime.approvals.pending({ sessionId: run.sessionId });
    expect(pending).toMatchObject([{ toolName: 'pay', agentPath: ['lead', 'worker'], input: { id: 'A' } }]);
    // A supervisor hears that a work is blocked before anybody decides.
    await lead.arrived(2);
    expect(wakeIn(lead, 2)).toMatchObject({ status: 'needs_attention', news: [{ status: 'blocked' }] });
    await runtime.approvals.decide(pending[0]?.id ?? '', { decision: 'approve' });
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(spy.entries).toHaveLength(1);
    expect(misfits).toEqual([]);
  });

  it('pauses the run where the caller wants that, and goes on with it', async () => {
    const { swarm, spy } = asking();
    const { runtime, misfits } = runtimeOf(swarm);
    const run = runtime.run(swarm, 'Go.', { onApproval: 'pause' });
    const paused = await run.result;
    expect(paused).toMatchObject({ status: 'paused', reason: 'approval', approvals: [{ toolName: 'pay' }] });
    const id = paused.status === 'paused' ? paused.approvals[0]?.id : undefined;
    await runtime.approvals.decide(id ?? '', { decision: 'approve' });
    expect(spy.entries).toEqual([]);
    const next = runtime.resume(swarm, run.sessionId, { onApproval: 'pause' });
    expect(await next.result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(spy.entries).toHaveLength(1);
    expect(misfits).toEqual([]);
  });
});

describe('a large swarm', () => {
  it('is a plain store: works that wait cost no machine and no session', async () => {
    const gate = createGate();
    const batches = 10;
    const { swarm } = team({
      lead: (request, index) => {
        if (index < batches) return adds(...Array.from({ length: 32 }, (_, at) => item(`${index}.${at}`)));
        return request.lastText.includes('"status":"settled"') ? reply().text('Done.') : yields();
      },
      worker: (task) => (task === '0.0' ? reply().wait(gate).text(task) : reply().text(task)),
      limits: { agents: 1_000 },
    });
    const { runtime, ledger, transitions } = runtimeOf(swarm);
    const run = runtime.run(swarm, 'Go.');
    await gate.reached;
    gate.open();
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(await factsOf(ledger, 'node.finished')).toHaveLength(32 * batches);
    expect(
      new Set(transitions.filter(({ kind }) => kind === 'graph-supervisor').map(({ id }) => id)).size,
    ).toBe(1);
  });
});
