import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/agent/define-agent.ts';
import type { Hooks } from '../../src/lifecycle/hooks.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { lastResults } from '../support/requests.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { playSwarm, swarmOn } from '../support/swarm-run.ts';
import { createToolSpy } from '../support/tool-spy.ts';

/** A lead that asks a child once, which makes these calls and ends. */
function leadOf(child: ReturnType<typeof scriptedAgent>['agent'], more: object = {}) {
  return scriptedAgent([reply().call(`ask_${child.name}`, { task: 'x' }), reply().text('Done.')], {
    name: 'lead',
    agents: [child],
    ...more,
  });
}

describe('scopes of parent and child', () => {
  it('GS-03 share nothing, also with two children that have the same tool', async () => {
    const spy = createToolSpy();
    const find = () => [
      reply().call('tool_search', { query: 'zap' }),
      reply().call('zap', { id: 'a' }),
      reply().text('Found.'),
    ];
    const tools = [spy.tool('zap', undefined, { defer: 'always' })];
    const one = scriptedAgent(find(), { name: 'one', tools });
    const two = scriptedAgent([reply().call('zap', { id: 'b' }), reply().text('No.')], {
      name: 'two',
      tools,
    });
    const lead = scriptedAgent(
      [
        reply().call('ask_one', { task: 'x' }).call('ask_two', { task: 'x' }),
        reply().call('zap', { id: 'c' }),
        reply().text('Done.'),
      ],
      { name: 'lead', tools, agents: [one.agent, two.agent] },
    );
    const { runtime } = await playSwarm();
    await runtime.run(lead.agent, 'Go.').result;
    expect(spy.entries.map(({ id }) => id)).toEqual(['a']);
    expect(lastResults(two.model, 1)[0]).toContain('was not loaded');
    expect(lastResults(lead.model, 2)[0]).toContain('was not loaded');
    expect(lead.model.requests[2]?.request.tools?.map(({ name }) => name)).toEqual([
      'tool_search',
      'ask_one',
      'ask_two',
    ]);
  });

  it('T19 keep transcripts of their own: a parent has its messages and one result for each child', async () => {
    const spy = createToolSpy();
    const tools = [spy.tool('zap')];
    const childOf = (name: string) =>
      scriptedAgent(
        [reply().text(`${name} thinks.`).call('zap', { id: name }), reply().text(`${name} ends.`)],
        {
          name,
          tools,
        },
      );
    const [one, two] = [childOf('one'), childOf('two')];
    const lead = scriptedAgent(
      [reply().call('ask_one', { task: 'x' }).call('ask_two', { task: 'y' }), reply().text('Done.')],
      { name: 'lead', agents: [one.agent, two.agent] },
    );
    const { runtime, ledger } = await playSwarm();
    const run = runtime.run(lead.agent, 'Go.');
    await run.result;
    const own = await ledger.read(run.sessionId);
    expect(own.filter(({ type }) => type === 'assistant.message')).toHaveLength(2);
    expect(own.every(({ session, agent }) => session === run.sessionId && agent === 'lead')).toBe(true);
    expect(lastResults(lead.model, 1)).toEqual(['one ends.', 'two ends.']);
    for (const { messages } of lead.model.requests) expect(JSON.stringify(messages)).not.toContain('thinks');
    for (const { messages } of one.model.requests) expect(JSON.stringify(messages)).not.toContain('two');
    for (const { messages } of two.model.requests) expect(JSON.stringify(messages)).not.toContain('one');
  });

  it('give a child the context of the caller, and its own loop gate', async () => {
    const seen: unknown[] = [];
    const spy = createToolSpy();
    const child = scriptedAgent([reply().call('look', { id: 'a' }), reply().text('Seen.')], {
      name: 'child',
      tools: [spy.tool('look', (_, ctx) => seen.push([ctx.context, ctx.agentPath]))],
    });
    const lead = leadOf(child.agent);
    const { runtime } = await playSwarm();
    await runtime.run(lead.agent, 'Go.', { context: { user: 7 } }).result;
    expect(seen).toEqual([[{ user: 7 }, ['lead', 'child']]]);
  });
});

describe('ceilings', () => {
  it('GS-05 hold a child to its own tools within those of its parents, and are hashed when it is opened', async () => {
    const spy = createToolSpy();
    const leaf = scriptedAgent([reply().text('Leaf.')], { name: 'leaf', tools: [spy.tool('deep')] });
    const child = scriptedAgent([reply().call('ask_leaf', { task: 'x' }), reply().text('Child.')], {
      name: 'child',
      tools: [spy.tool('look')],
      agents: [leaf.agent],
    });
    const lead = leadOf(child.agent, { tools: [spy.tool('plan')] });
    const { runtime, recordsOf } = await playSwarm();
    await runtime.run(lead.agent, 'Go.').result;
    expect((await recordsOf('session.opened')).map(({ data }) => data.ceiling)).toEqual([
      ['deep', 'look', 'plan'],
      ['deep', 'look'],
      ['deep'],
    ]);
  });

  it('GS-05 of a run hold its children as well, searches included', async () => {
    const spy = createToolSpy();
    const child = scriptedAgent(
      [
        reply().call('tool_search', { query: 'zap' }),
        reply().call('zap', { id: 'a' }),
        reply().call('look', { id: 'b' }),
        reply().text('Done.'),
      ],
      { name: 'child', tools: [spy.tool('zap', undefined, { defer: 'always' }), spy.tool('look')] },
    );
    const lead = leadOf(child.agent);
    const { runtime } = await playSwarm();
    await runtime.run(lead.agent, 'Go.', { boundTools: ['ask_child', 'look', 'tool_search'] }).result;
    expect(spy.entries.map(({ toolName }) => toolName)).toEqual(['look']);
  });

  it('GS-06 a child that has more than those above it may use now does not go on', async () => {
    const spy = createToolSpy();
    const tools = [spy.tool('look'), spy.tool('del', undefined, { needsApproval: true })];
    const child = scriptedAgent([reply().call('del', { id: 'a' }), reply().text('Never.')], {
      name: 'child',
      tools,
    });
    const lead = leadOf(child.agent);
    const first = await playSwarm();
    const run = first.runtime.run(lead.agent, 'Go.', { onApproval: 'pause' });
    const paused = await run.result;
    expect(paused).toMatchObject({ status: 'paused', approvals: [{ agentPath: ['lead', 'child'] }] });
    const narrow = defineAgent({ ...child.agent.definition, tools: tools.slice(0, 1) });
    const second = swarmOn(first.ledger);
    const resumed = await second.runtime.resume(
      defineAgent({ ...lead.agent.definition, agents: [narrow] }),
      run.sessionId,
    ).result;
    expect(resumed).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(lastResults(lead.model, 1)[0]).toMatch(/ceiling-changed/);
    expect(spy.entries).toEqual([]);
    expect(child.model.requests).toHaveLength(1);
    expect((await second.recordsOf('child.finished')).map(({ data }) => data.error?.kind)).toEqual([
      'ceiling-changed',
    ]);
  });
});

describe('a run that is taken up under a narrower ceiling', () => {
  it('GS-06 refuses its child, which has more than the run may use now', async () => {
    const spy = createToolSpy();
    const child = scriptedAgent([reply().call('del', { id: 'a' }), reply().text('Never.')], {
      name: 'child',
      tools: [spy.tool('look'), spy.tool('del', undefined, { needsApproval: true })],
    });
    const lead = leadOf(child.agent);
    const first = await playSwarm();
    const run = first.runtime.run(lead.agent, 'Go.', { onApproval: 'pause' });
    await run.result;
    const [open] = await first.runtime.approvals.pending();
    await first.runtime.approvals.decide(open?.id ?? '', { decision: 'approve' });
    const second = swarmOn(first.ledger);
    const resumed = second.runtime.resume(lead.agent, run.sessionId, { boundTools: ['ask_child', 'look'] });
    expect(await resumed.result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(lastResults(lead.model, 1)[0]).toContain('ceiling-changed');
    expect(spy.entries).toEqual([]);
    expect(await second.ledger.listOpen()).toEqual([]);
  });
});

describe('policies over children', () => {
  it('GS-06 HK-06 those of every agent above are asked, outermost first, and only narrow', async () => {
    const spy = createToolSpy();
    const asked: string[] = [];
    const policy =
      (who: string, denies?: string) => (request: { toolName: string; agentPath: readonly string[] }) => {
        asked.push(`${who}: ${request.toolName} by ${request.agentPath.at(-1)}`);
        return request.toolName === denies ? ('deny' as const) : ('allow' as const);
      };
    const child = scriptedAgent(
      [reply().call('look', { id: 'a' }).call('del', { id: 'b' }), reply().text('Done.')],
      {
        name: 'child',
        tools: [spy.tool('look'), spy.tool('del')],
        permission: policy('child'),
      },
    );
    const lead = leadOf(child.agent, { permission: policy('lead', 'del') });
    const { runtime } = await playSwarm('memory', { permission: policy('runtime') });
    await runtime.run(lead.agent, 'Go.').result;
    expect(spy.entries.map(({ toolName }) => toolName)).toEqual(['look']);
    expect(lastResults(child.model, 1)[1]).toContain('denied');
    expect(asked.filter((line) => line.includes('look'))).toEqual([
      'runtime: look by child',
      'lead: look by child',
      'child: look by child',
    ]);
    expect(asked.filter((line) => line.includes('ask_child'))).toEqual([
      'runtime: ask_child by lead',
      'lead: ask_child by lead',
    ]);
  });

  it('HK-06 T21 gates of those above refuse a call of a child, which then does not run', async () => {
    const spy = createToolSpy();
    const seen: string[] = [];
    const gates = (name: string): Hooks => ({
      name,
      beforeToolCall: ({ toolName, agentPath }) => {
        seen.push(`${name}: ${toolName} by ${agentPath.join('>')}`);
        return name === 'lead' && toolName === 'del' ? { refuse: 'Not here.' } : undefined;
      },
    });
    const leaf = scriptedAgent([reply().call('del', { id: 'a' }), reply().text('Done.')], {
      name: 'leaf',
      tools: [spy.tool('del')],
    });
    const child = scriptedAgent([reply().call('ask_leaf', { task: 'x' }), reply().text('Done.')], {
      name: 'child',
      agents: [leaf.agent],
    });
    const lead = leadOf(child.agent, { hooks: gates('lead') });
    const { runtime } = await playSwarm('memory', { hooks: gates('runtime') });
    await runtime.run(lead.agent, 'Go.').result;
    expect(spy.entries).toEqual([]);
    expect(lastResults(leaf.model, 1)[0]).toContain('Not here.');
    expect(seen.filter((line) => line.includes('del'))).toEqual([
      'runtime: del by lead>child>leaf',
      'lead: del by lead>child>leaf',
    ]);
  });

  it('HK-06 a gate before a child refuses it or changes what it is given; observers hear of it', async () => {
    const heard: string[] = [];
    const child = scriptedAgent([reply().text('Done.')], { name: 'child' });
    const lead = scriptedAgent(
      [
        reply().call('ask_child', { task: 'no' }),
        reply().call('ask_child', { task: 'yes' }),
        reply().text('Done.'),
      ],
      { name: 'lead', agents: [child.agent] },
    );
    const { runtime, recordsOf } = await playSwarm('memory', {
      hooks: {
        beforeChild: (subject) =>
          subject.input === 'no' ? { refuse: 'Too early.' } : { replace: { ...subject, input: 'politely' } },
        afterChild: ({ data }) => void heard.push(`after ${data.agent} ${data.status}`),
        onChildSettled: ({ session }) => void heard.push(`settled in ${session === run.sessionId}`),
        onTurnCompleted: ({ session }) => void heard.push(session === run.sessionId ? 'lead' : 'child'),
      },
    });
    const run = runtime.run(lead.agent, 'Go.');
    await run.result;
    expect(lastResults(lead.model, 1)[0]).toContain('Too early.');
    expect(child.model.requests[0]?.messages.at(-1)?.text).toBe('politely');
    expect((await recordsOf('child.intended')).map(({ data }) => data.input)).toEqual(['politely']);
    expect(heard.toSorted()).toEqual(['after child completed', 'child', 'lead', 'settled in true']);
  });

  it('GS-20 shows bounded progress of a child, without what anybody said', async () => {
    const spy = createToolSpy();
    const child = scriptedAgent(
      [reply().call('look', { id: 'secret words' }), reply().text('More secret.')],
      {
        name: 'child',
        tools: [spy.tool('look', () => 'secret result')],
      },
    );
    const lead = leadOf(child.agent);
    const { runtime, ledger } = await playSwarm('memory', { limits: { tools: { progressIntervalMs: 0 } } });
    const run = runtime.run(lead.agent, 'Go.');
    await run.result;
    const lines = (await ledger.read(run.sessionId)).flatMap((record) =>
      record.type === 'tool.progressed' ? [record.data.text] : [],
    );
    expect(lines).toEqual(['child: look started', 'child: look ended: success']);
  });

  it('GS-20 ask no child for more than a fact can hold, and leave the turn whole', async () => {
    const child = scriptedAgent([], { name: 'child' });
    const lead = scriptedAgent(
      [reply().call('ask_child', { task: 'x'.repeat(1_048_550) }), reply().text('Done.')],
      { name: 'lead', agents: [child.agent] },
    );
    const { runtime, recordsOf } = await playSwarm();
    expect(await runtime.run(lead.agent, 'Go.').result).toMatchObject({ text: 'Done.' });
    expect(lastResults(lead.model, 1)[0]).toMatch(
      /^child was not asked: .*\[input-too-large at lead > child\]$/,
    );
    expect(await recordsOf('child.intended')).toEqual([]);
  });

  it('GS-20 show an output that is no JSON as JSON, and write that the child ended', async () => {
    const child = defineAgent({
      name: 'child',
      instructions: 'Count.',
      model: scriptedModel({ script: [reply().call('submit_output', { n: 2 })] }),
      output: z.object({ n: z.number() }).transform(({ n }) => ({ n: BigInt(n), at: new Map([[n, 'x']]) })),
    });
    const lead = leadOf(child as never);
    const { runtime, recordsOf } = await playSwarm();
    expect(await runtime.run(lead.agent, 'Go.').result).toMatchObject({ text: 'Done.' });
    expect(JSON.parse(lastResults(lead.model, 1)[0] ?? '')).toEqual({ n: '2', at: [[2, 'x']] });
    expect(await recordsOf('child.finished')).toMatchObject([{ data: { status: 'completed' } }]);
  });
});
