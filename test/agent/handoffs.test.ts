import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Agent, defineAgent } from '../../src/agent/define-agent.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts';
import { LEDGER_KINDS } from '../support/ledgers.ts';
import { lastResults } from '../support/requests.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { playSwarm, swarmOn } from '../support/swarm-run.ts';
import { createToolSpy } from '../support/tool-spy.ts';

/** Two agents that always hand over to each other. */
function pingPong(handoffs: number, rounds: number) {
  const passing = (to: string) =>
    Array.from({ length: rounds }, () => reply().call(`transfer_to_${to}`, { message: 'yours' }));
  const make = (name: string, to: string): readonly [Agent<unknown>, ScriptedModel] => {
    const model = scriptedModel({ script: passing(to) });
    const instructions = 'Pass it on.';
    return [defineAgent({ name, instructions, model, handoffs: [to], limits: { handoffs } }), model];
  };
  const [ping, pingModel] = make('ping', 'pong');
  const [pong, pongModel] = make('pong', 'ping');
  return { ping, pong, requests: () => pingModel.requests.length + pongModel.requests.length };
}

describe.each(LEDGER_KINDS)('handoffs (%s)', (kind) => {
  it('T15 are taken once in a step, after its other calls; a second one is told so', async () => {
    const spy = createToolSpy();
    const other = scriptedAgent([], { name: 'other' });
    const billing = scriptedAgent([reply().text('Paid.').usage(5, 1)], { name: 'billing' });
    const model = scriptedModel({
      script: [
        reply()
          .call('transfer_to_billing', { message: 'They want to pay.' })
          .call('look', { id: 'a' })
          .call('transfer_to_other', { message: 'x' })
          .usage(9, 2),
      ],
    });
    const triage = defineAgent({
      name: 'triage',
      instructions: 'Sort.',
      model,
      tools: [spy.tool('look')],
      handoffs: [billing.agent, other.agent],
    });
    const { runtime, records, recordsOf } = await playSwarm(kind);
    const run = runtime.run(triage, 'Hello.');
    expect(await run.result).toMatchObject({
      status: 'completed',
      output: 'Paid.',
      text: 'Paid.',
      stopReason: 'end-turn',
      steps: 2,
      toolCalls: 3,
      usage: { byAgent: { triage: { inputTokens: 9 }, billing: { inputTokens: 5 } } },
    });
    expect(billing.model.requests[0]?.messages.map(({ role, text }) => [role, text])).toEqual([
      ['user', 'They want to pay.'],
    ]);
    expect(other.model.requests).toHaveLength(0);
    const all = await records();
    const settled = all.filter(({ type }) => type === 'tool.settled' || type === 'tool.refused');
    expect(settled.map(({ data }) => ('toolName' in data ? data.toolName : ''))).toEqual([
      'look',
      'transfer_to_billing',
      'transfer_to_other',
    ]);
    expect(settled.at(-1)).toMatchObject({
      type: 'tool.refused',
      data: { text: expect.stringContaining('not taken') },
    });
    expect((await recordsOf('handoff.taken')).map(({ data }) => data.to)).toEqual(['billing']);
    expect((await recordsOf('handoff.refused')).map(({ data }) => data)).toEqual([
      { to: 'other', reason: 'not-taken' },
    ]);
    expect((await recordsOf('turn.closed')).map(({ data }) => [data.status, data.stopReason])).toEqual([
      ['handed-off', 'handoff'],
      ['completed', 'end-turn'],
    ]);
    const [root, next] = await runtime.sessions.list();
    expect(next).toMatchObject({ parentId: root?.sessionId, rootId: run.sessionId, agent: 'billing' });
  });

  it('wait for calls that wait for a person, also over a resume', async () => {
    const spy = createToolSpy();
    const billing = scriptedAgent([reply().text('Paid.')], { name: 'billing' });
    const triage = defineAgent({
      name: 'triage',
      instructions: 'Sort.',
      model: scriptedModel({
        script: [reply().call('transfer_to_billing', { message: 'pay' }).call('del', { id: 'a' })],
      }),
      tools: [spy.tool('del', undefined, { needsApproval: true })],
      handoffs: [billing.agent],
    });
    const { runtime, ledger } = await playSwarm(kind);
    const run = runtime.run(triage, 'Hello.', { onApproval: 'pause' });
    const paused = await run.result;
    expect(paused).toMatchObject({ status: 'paused', reason: 'approval' });
    expect(billing.model.requests).toHaveLength(0);
    const second = swarmOn(ledger);
    const [open] = await second.runtime.approvals.pending();
    await second.runtime.approvals.decide(open?.id ?? '', { decision: 'approve' });
    const resumed = await second.runtime.resume(triage, run.sessionId).result;
    expect(resumed).toMatchObject({ status: 'completed', output: 'Paid.', steps: 2 });
    expect(spy.entries).toHaveLength(1);
  });

  it('are followed by a resume of the root, to where the run was left', async () => {
    const spy = createToolSpy();
    const billing = scriptedAgent([reply().call('pay', { id: 'a' }), reply().text('Paid.').usage(4, 1)], {
      name: 'billing',
      tools: [spy.tool('pay', undefined, { needsApproval: true })],
    });
    const { agent, model } = scriptedAgent(
      [reply().call('transfer_to_billing', { message: 'pay' }).usage(6, 1)],
      { name: 'triage' },
    );
    const triage = defineAgent({ ...agent.definition, handoffs: ['billing'] });
    const { runtime, ledger } = await playSwarm(kind, { agents: [triage, billing.agent] });
    const run = runtime.run(triage, 'Hello.', { onApproval: 'pause' });
    const paused = await run.result;
    expect(paused).toMatchObject({
      status: 'paused',
      approvals: [{ toolName: 'pay', agentPath: ['triage', 'billing'] }],
      steps: 2,
    });
    expect((await runtime.recover(run.sessionId)).map(({ agent: name }) => name)).toEqual(['billing']);
    expect(await runtime.run(triage, 'Again.', { sessionId: run.sessionId }).result).toMatchObject({
      status: 'failed',
      error: { kind: 'turn-open' },
    });
    const second = swarmOn(ledger, { agents: [triage, billing.agent] });
    const [open] = await second.runtime.approvals.pending({ sessionId: run.sessionId });
    await second.runtime.approvals.decide(open?.id ?? '', { decision: 'approve' });
    expect(await second.runtime.resume('triage', run.sessionId).result).toMatchObject({
      status: 'completed',
      output: 'Paid.',
      steps: 3,
      usage: { byAgent: { triage: { inputTokens: 6 } } },
    });
    expect(spy.entries).toHaveLength(1);
    expect(model.requests).toHaveLength(1);
  });
});

describe('limits of handoffs', () => {
  it.each([0, 1, 2, 3])('T16 agents that hand over to each other stop after exactly %i', async (limit) => {
    const { ping, pong, requests } = pingPong(limit, 10);
    const { runtime, recordsOf } = await playSwarm('memory', { agents: [ping, pong] });
    const result = await runtime.run(ping, 'Go.').result;
    const path = Array.from({ length: limit + 2 }, (_, at) => (at % 2 === 0 ? 'ping' : 'pong'));
    expect(result).toMatchObject({
      status: 'failed',
      error: { kind: 'handoff-limit', message: expect.stringContaining(path.join(' > ')) },
    });
    expect(requests()).toBe(limit + 1);
    expect(await recordsOf('handoff.taken')).toHaveLength(limit);
    expect((await recordsOf('handoff.refused')).map(({ data }) => data.reason)).toEqual(['handoff-limit']);
    expect((await recordsOf('budget.exceeded')).map(({ data }) => data)).toEqual([
      { budget: 'handoffs', limit, used: limit },
    ]);
    expect((await runtime.sessions.list()).filter(({ openTurn }) => openTurn !== undefined)).toEqual([]);
  });

  it('throws where a run may come to a name that nobody knows', async () => {
    const leaf = defineAgent({
      name: 'leaf',
      instructions: '',
      model: scriptedModel({ script: [] }),
      handoffs: ['nobody'],
    });
    const { agent } = scriptedAgent([], { name: 'lead', agents: [leaf] });
    const { runtime } = await playSwarm();
    expect(() => runtime.run(agent, 'Go.')).toThrow(
      expect.objectContaining({ code: 'unknown-agent', message: expect.stringContaining('nobody') }),
    );
  });
});

describe('a run that was handed over', () => {
  it('steers and cancels the turn under way', async () => {
    const gate = createGate();
    const billing = scriptedAgent(
      [reply().call('wait', { id: 'a' }), reply().text('Paid.').wait(createGate())],
      {
        name: 'billing',
        tools: [createToolSpy().tool('wait', (_, { signal }) => gate.pass(signal))],
      },
    );
    const { agent } = scriptedAgent([reply().call('transfer_to_billing', { message: 'pay' })], {
      name: 'triage',
    });
    const triage = defineAgent({ ...agent.definition, handoffs: [billing.agent] });
    const { runtime } = await playSwarm();
    const run = runtime.run(triage, 'Hello.');
    await gate.reached;
    const steered = run.steer('Hurry.');
    gate.open();
    expect(await steered).toMatchObject({ delivered: true });
    await billing.model.arrived(1);
    expect(JSON.stringify(billing.model.requests[1]?.messages)).toContain('Hurry.');
    await runtime.sessions.steer(run.sessionId, 'Still there?');
    run.cancel('enough');
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'enough' });
  });

  it('is cancelled by its root from outside, and its text goes on', async () => {
    const gate = createGate();
    const billing = scriptedAgent([reply().text('Paying.').wait(gate).text(' Never.')], { name: 'billing' });
    const { agent } = scriptedAgent([reply().call('transfer_to_billing', { message: 'pay' })], {
      name: 'triage',
    });
    const triage = defineAgent({ ...agent.definition, handoffs: [billing.agent] });
    const { runtime } = await playSwarm();
    const run = runtime.run(triage, 'Hello.');
    const text = run.text();
    await gate.reached;
    await runtime.sessions.cancel(run.sessionId, 'from outside');
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'from outside', text: 'Paying.' });
    const parts: string[] = [];
    for await (const part of text) parts.push(part);
    expect(parts.join('')).toBe('Paying.');
  });

  it('yields the parsed output of the last agent', async () => {
    const counting = defineAgent({
      name: 'counting',
      instructions: 'Count.',
      model: scriptedModel({ script: [reply().call('submit_output', { count: 2 })] }),
      output: z.object({ count: z.number() }),
    });
    const { agent } = scriptedAgent([reply().call('transfer_to_counting', { message: 'count' })], {
      name: 'triage',
    });
    const triage = defineAgent({ ...agent.definition, handoffs: [counting] });
    const { runtime } = await playSwarm();
    expect(await runtime.run(triage, 'Hello.').result).toMatchObject({ output: { count: 2 } });
  });

  it('keeps what the agent before may not do from the one after it', async () => {
    const spy = createToolSpy();
    const billing = scriptedAgent([reply().call('pay', { id: 'a' }), reply().text('No.')], {
      name: 'billing',
      tools: [spy.tool('pay')],
    });
    const { agent } = scriptedAgent([reply().call('transfer_to_billing', { message: 'pay' })], {
      name: 'triage',
      permission: ({ toolName }) => (toolName === 'pay' ? 'deny' : 'allow'),
    });
    const triage = defineAgent({ ...agent.definition, handoffs: [billing.agent] });
    const { runtime } = await playSwarm();
    await runtime.run(triage, 'Hello.').result;
    expect(spy.entries).toEqual([]);
    expect(lastResults(billing.model, 1)[0]).toContain('denied');
  });

  it('is refused with more than a fact can hold, and no turn stays open', async () => {
    const billing = scriptedAgent([], { name: 'billing' });
    const { agent, model } = scriptedAgent(
      [reply().call('transfer_to_billing', { message: 'x'.repeat(1_048_550) }), reply().text('Mine, then.')],
      { name: 'triage' },
    );
    const triage = defineAgent({ ...agent.definition, handoffs: [billing.agent] });
    const { runtime } = await playSwarm();
    expect(await runtime.run(triage, 'Hello.').result).toMatchObject({ text: 'Mine, then.' });
    expect(lastResults(model, 1)[0]).toContain('[input-too-large]');
    expect(await runtime.recover()).toEqual([]);
  });
});
