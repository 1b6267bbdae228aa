import { describe, expect, it } from 'vitest';
import { createChildPermits } from '../../src/agent/child-permits.ts';
import { type Agent, defineAgent } from '../../src/agent/define-agent.ts';
import type { LimitOptions } from '../../src/limits.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { lastResults } from '../support/requests.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { playSwarm } from '../support/swarm-run.ts';
import { createToolSpy } from '../support/tool-spy.ts';

/** Agents in a chain, each asking the next and then ending. */
function chain(names: readonly string[], limits?: LimitOptions) {
  const models = new Map<string, ReturnType<typeof scriptedModel>>();
  let below: Agent<unknown> | undefined;
  for (const name of names.toReversed()) {
    const ask = below === undefined ? [] : [reply().call(`ask_${below.name}`, { task: 'go' })];
    const model = scriptedModel({ script: [...ask, reply().text(`${name} is done.`)] });
    models.set(name, model);
    below = defineAgent({
      name,
      instructions: 'Ask.',
      model,
      agents: below === undefined ? [] : [below],
      ...(limits === undefined || name !== names[0] ? {} : { limits }),
    });
  }
  const root = below as Agent<unknown>;
  return { root, requestsOf: (name: string) => models.get(name)?.requests.length ?? 0, models };
}

/** A lead that asks `count` children in one step. */
function fan(count: number, limits: LimitOptions) {
  const gates = Array.from({ length: count }, () => createGate());
  const children = gates.map(
    (gate, at) => scriptedAgent([reply().wait(gate).text(`Answer ${at}.`)], { name: `c${at}` }).agent,
  );
  const step = children.reduce((made, { name }) => made.call(`ask_${name}`, { task: 'go' }), reply());
  const { agent, model } = scriptedAgent([step, reply().text('Done.')], {
    name: 'lead',
    agents: children,
    limits,
  });
  return { lead: agent, model, gates };
}

describe('depth', () => {
  it.each([0, 1, 2])('GS-04 T16 a limit of %i levels is exact, and the result names it', async (depth) => {
    const { root, requestsOf, models } = chain(['a', 'b', 'c', 'd'], { depth });
    const { runtime, recordsOf } = await playSwarm();
    expect(await runtime.run(root, 'Go.').result).toMatchObject({ status: 'completed' });
    expect(['a', 'b', 'c', 'd'].filter((name) => requestsOf(name) > 0)).toHaveLength(depth + 1);
    const last = models.get(['a', 'b', 'c', 'd'][depth] ?? '');
    expect(last === undefined ? '' : lastResults(last, 1)[0]).toContain('depth-limit');
    expect((await recordsOf('budget.exceeded')).map(({ data }) => data)).toMatchObject([{ budget: 'depth' }]);
    expect(
      (await recordsOf('tool.settled')).find(({ data }) => data.result !== undefined)?.data.result,
    ).toMatchObject({
      code: 'depth-limit',
      path: ['a', 'b', 'c', 'd'].slice(0, depth + 2),
    });
  });

  it('GS-04 is what the run says where that is less', async () => {
    const { root, requestsOf } = chain(['a', 'b', 'c']);
    const { runtime } = await playSwarm();
    await runtime.run(root, 'Go.', { budget: { depth: 1 } }).result;
    expect([requestsOf('b'), requestsOf('c')]).toEqual([2, 0]);
  });

  it('only narrows on the way down', async () => {
    const leaf = scriptedAgent([reply().text('Leaf.')], { name: 'leaf' });
    const mid = scriptedAgent([reply().call('ask_leaf', { task: 'x' }), reply().text('Mid.')], {
      name: 'mid',
      agents: [leaf.agent],
      limits: { depth: 9 },
    });
    const { agent: root } = scriptedAgent([reply().call('ask_mid', { task: 'x' }), reply().text('Root.')], {
      name: 'root',
      agents: [mid.agent],
      limits: { depth: 1 },
    });
    const { runtime } = await playSwarm();
    await runtime.run(root, 'Go.').result;
    expect(leaf.model.requests).toHaveLength(0);
    expect(lastResults(mid.model, 1)[0]).toContain('depth-limit');
  });
});

describe('agents of a run', () => {
  it.each([
    ['limits', { limits: 2, budget: undefined }],
    ['budget', { limits: 64, budget: 2 }],
  ] as const)(
    'T16 are bounded exactly by %s, over children that start together',
    async (_, { limits, budget }) => {
      const { lead, model, gates } = fan(3, { agents: limits });
      for (const gate of gates) gate.open();
      const { runtime, ledger, recordsOf } = await playSwarm();
      const run = runtime.run(lead, 'Go.', budget === undefined ? {} : { budget: { agents: budget } });
      expect(await run.result).toMatchObject({ status: 'completed' });
      expect(await ledger.sessions(run.sessionId)).toHaveLength(2);
      const results = lastResults(model, 1);
      expect(results[0]).toBe('Answer 0.');
      for (const text of results.slice(1)) expect(text).toContain('agent-limit');
      expect((await recordsOf('child.intended')).map(({ data }) => data.agent)).toEqual(['c0']);
    },
  );
});

describe('children at once', () => {
  it('TR-07 are as many as the limit, the next wait in order', async () => {
    const { lead, model, gates } = fan(4, { fanOut: 2 });
    const { runtime } = await playSwarm();
    const run = runtime.run(lead, 'Go.');
    await Promise.all([gates[0]?.reached, gates[1]?.reached]);
    expect(gates.map(({ waiting }) => waiting)).toEqual([1, 1, 0, 0]);
    gates[1]?.open();
    await gates[2]?.reached;
    expect(gates.map(({ waiting }) => waiting)).toEqual([1, 0, 1, 0]);
    gates[2]?.open();
    await gates[3]?.reached;
    for (const gate of gates) gate.open();
    expect(await run.result).toMatchObject({ status: 'completed' });
    expect(lastResults(model, 1)).toEqual(['Answer 0.', 'Answer 1.', 'Answer 2.', 'Answer 3.']);
  });

  it('TR-07 T16 refuse what the queue cannot take, and all where none may be at work', async () => {
    const { lead, model, gates } = fan(3, { fanOut: 1, fanOutQueue: 1 });
    for (const gate of gates) gate.open();
    const { runtime } = await playSwarm();
    await runtime.run(lead, 'Go.').result;
    expect(lastResults(model, 1)).toMatchObject([
      'Answer 0.',
      'Answer 1.',
      expect.stringContaining('fan-out-limit'),
    ]);
    const none = fan(1, { fanOut: 0 });
    await runtime.run(none.lead, 'Go.').result;
    expect(lastResults(none.model, 1)[0]).toContain('fan-out-limit');
  });

  it('TR-07 GS-17 a child that waits never starts once its run is stopped', async () => {
    const { lead, gates } = fan(3, { fanOut: 1 });
    const { runtime, recordsOf } = await playSwarm();
    const run = runtime.run(lead, 'Go.');
    await gates[0]?.reached;
    run.cancel();
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    expect((await recordsOf('child.intended')).map(({ data }) => data.agent)).toEqual(['c0']);
    expect(await recordsOf('tool.settled')).toHaveLength(3);
  });

  it('TR-07 a waiter that gives up leaves no place behind', async () => {
    const permits = createChildPermits(1, 10);
    const never = new AbortController();
    const first = await permits.enter(never.signal);
    const leaves = new AbortController();
    const second = permits.enter(leaves.signal);
    const third = permits.enter(never.signal);
    leaves.abort();
    expect(await second).toEqual({ type: 'aborted' });
    if (first.type === 'permit') first.release();
    const given = await third;
    expect(given.type).toBe('permit');
    const fourth = permits.enter(never.signal);
    if (given.type === 'permit') {
      given.release();
      given.release();
    }
    expect((await fourth).type).toBe('permit');
  });
});

describe('hard budgets over the tree', () => {
  it('take steps of children before they are dispatched', async () => {
    const { lead, gates } = fan(4, {});
    for (const gate of gates) gate.open();
    const { runtime, recordsOf } = await playSwarm();
    const result = await runtime.run(lead, 'Go.', { budget: { steps: 3 } }).result;
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'step-limit' } });
    expect(await recordsOf('step.opened')).toHaveLength(3);
    expect((await recordsOf('turn.closed')).filter(({ data }) => data.status === 'completed')).toHaveLength(
      2,
    );
  });

  it('count tool calls and tokens of children', async () => {
    const spy = createToolSpy();
    const child = scriptedAgent(
      [
        reply().call('look', { id: 'a' }).call('look', { id: 'b' }).usage(60, 1),
        reply().text('Done.').usage(60, 1),
      ],
      { name: 'child', tools: [spy.tool('look')] },
    );
    const { agent: lead } = scriptedAgent(
      [reply().call('ask_child', { task: 'x' }).usage(10, 1), reply().text('Done.')],
      {
        name: 'lead',
        agents: [child.agent],
      },
    );
    const { runtime } = await playSwarm();
    await runtime.run(lead, 'Go.', { budget: { toolCalls: 2 } }).result;
    expect(spy.entries).toHaveLength(1);
    const again = scriptedAgent(
      [reply().call('ask_more', { task: 'x' }).usage(10, 1), reply().text('Done.')],
      {
        name: 'lead',
        agents: [scriptedAgent([reply().text('More.').usage(90, 1)], { name: 'more' }).agent],
      },
    );
    expect(await runtime.run(again.agent, 'Go.', { budget: { tokens: 100 } }).result).toMatchObject({
      status: 'failed',
      error: { kind: 'token-budget' },
      usage: { total: { inputTokens: 100 } },
    });
  });

  it('hold back requests of children that together could take more tokens than are left', async () => {
    const gates = Array.from({ length: 4 }, () => createGate());
    const children = gates.map((gate, at) =>
      scriptedAgent([reply().wait(gate).text(`Answer ${at}.`).usage(40, 20)], {
        name: `c${at}`,
        settings: { maxOutputTokens: 60 },
      }),
    );
    const step = children.reduce(
      (made, { agent }) => made.call(`ask_${agent.name}`, { task: 'go' }),
      reply(),
    );
    const lead = scriptedAgent([step, reply().text('Never.')], {
      name: 'lead',
      agents: children.map(({ agent }) => agent),
    });
    const { runtime, recordsOf } = await playSwarm();
    const run = runtime.run(lead.agent, 'Go.', { budget: { tokens: 100 } });
    await Promise.race(gates.map(({ reached }) => reached));
    for (const gate of gates) gate.open();
    expect(await run.result).toMatchObject({
      status: 'failed',
      error: { kind: 'token-budget' },
      usage: { reported: { inputTokens: 80, outputTokens: 40 } },
    });
    // Two had room one after the other; the third found nothing left.
    expect(children.map(({ model }) => model.requests.length).toSorted()).toEqual([0, 0, 1, 1]);
    const ends = (await recordsOf('turn.closed')).map(({ data }) => data.error?.kind ?? data.status);
    expect(ends.toSorted()).toEqual([
      'completed',
      'completed',
      'token-budget',
      'token-budget',
      'token-budget',
    ]);
  });

  it('end the wait of a child that is held back when its run is stopped', async () => {
    const gate = createGate();
    const children = [0, 1].map((at) =>
      scriptedAgent([reply().wait(gate).text('Never.').usage(40, 20)], {
        name: `c${at}`,
        settings: { maxOutputTokens: 60 },
      }),
    );
    const lead = scriptedAgent([reply().call('ask_c0', { task: 'x' }).call('ask_c1', { task: 'x' })], {
      name: 'lead',
      agents: children.map(({ agent }) => agent),
    });
    const { runtime, ledger } = await playSwarm();
    const run = runtime.run(lead.agent, 'Go.', { budget: { tokens: 100 } });
    await gate.reached;
    run.cancel();
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    expect(await ledger.listOpen()).toEqual([]);
    expect(children.map(({ model }) => model.requests.length).toSorted()).toEqual([0, 1]);
  });

  it('MA-19 the last step of a child may call nothing, and what it calls is refused', async () => {
    const spy = createToolSpy();
    const child = scriptedAgent([reply().call('look', { id: 'a' }), reply().call('look', { id: 'b' })], {
      name: 'child',
      tools: [spy.tool('look')],
      limits: { steps: 2 },
    });
    const { agent: lead, model } = scriptedAgent(
      [reply().call('ask_child', { task: 'x' }), reply().text('Done.')],
      {
        name: 'lead',
        agents: [child.agent],
      },
    );
    const { runtime, recordsOf } = await playSwarm();
    await runtime.run(lead, 'Go.').result;
    expect(child.model.requests.map(({ request }) => request.toolChoice?.type)).toEqual(['auto', 'none']);
    expect(child.model.requests[1]?.request.tools?.map(({ name }) => name)).toEqual(['look']);
    expect(spy.entries.map(({ id }) => id)).toEqual(['a']);
    expect((await recordsOf('tool.refused')).map(({ data }) => data.code)).toEqual(['tool-choice-none']);
    expect(lastResults(model, 1)[0]).toContain('step-limit');
  });
});
