import { describe, expect, it, onTestFinished } from 'vitest';
import { type Agent, type AgentDefinition, defineAgent } from '../../src/agent/define-agent.ts';
import { openInTree } from '../../src/agent/open-tree.ts';
import { withinTree } from '../../src/agent/session-tree.ts';
import { defineGraph } from '../../src/graph/define-graph.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { createRuntime, type Runtime } from '../../src/runtime.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { portOf } from '../support/edited-ledger.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { adds, item, team, yields } from '../swarm/team.ts';

/** Calls each of its tools once, one after the other, and is done. */
function calling(name: string, more: Partial<AgentDefinition<unknown>> = {}): Agent {
  const model = scriptedModel({
    script({ messages, toolNames }) {
      const called = messages.filter(({ role }) => role === 'tool').length;
      const tool = toolNames[called];
      const input = tool?.startsWith('ask_') ? { task: 'Do.' } : { message: 'Do.' };
      if (tool === undefined) return reply().text('Done.');
      return reply().call(tool, tool === 'del' ? { id: 'a' } : input);
    },
  });
  return defineAgent({ instructions: 'Do.', model, ...more, name });
}

const asking = () => [createToolSpy().tool('del', undefined, { needsApproval: true })];

/** A root each that waits for a person below a child that has ended, one that handed over, nodes, and an operator. */
const TREES: Readonly<Record<string, (runtime: Runtime, sessionId: string) => Promise<unknown>>> = {
  agents(runtime, sessionId) {
    const expert = calling('expert', { tools: asking() });
    const child = defineAgent({ ...calling('child').definition, handoffs: [expert] });
    const lead = calling('lead', { agents: [calling('before'), child] });
    return runtime.run(lead, 'Go.', { sessionId, onApproval: 'pause' }).result;
  },
  graphs(runtime, sessionId) {
    const inner = defineGraph({ name: 'inner' })
      .node('quick', calling('quick'), { from: 'input' })
      .node('asks', calling('asks', { tools: asking() }), { from: 'quick' })
      .build({ output: 'asks' });
    const graph = defineGraph({ name: 'g' }).node('in', inner, { from: 'input' }).build({ output: 'in' });
    return runtime.run(graph, 'Go.', { sessionId, onApproval: 'pause' }).result;
  },
  swarm(runtime, sessionId) {
    const { swarm } = team({
      lead: [adds(item('A'), item('B')), yields(), yields(), yields()],
      worker: (task) => (task === 'A' ? reply().text('A.') : reply().call('del', { id: 'b' })),
      workerMore: { tools: asking() },
    });
    return runtime.run(swarm, 'Go.', { sessionId, onApproval: 'pause' }).result;
  },
};

function runtimeOn(ledger: Ledger): Runtime {
  const runtime = createRuntime({ ledger: { ...ledger, close: () => Promise.resolve() } });
  onTestFinished(() => runtime.close());
  return runtime;
}

describe.each(LEDGER_KINDS)('the open turns of a tree (%s)', (kind) => {
  it.each(Object.keys(TREES))('are those that a listing of the whole ledger finds: %s', async (name) => {
    const ledger = portOf(await openLedger(kind));
    const runtime = runtimeOn(ledger);
    for (const [at, play] of Object.values(TREES).entries()) await play(runtime, `s-${at}`);
    const session = `s-${Object.keys(TREES).indexOf(name)}`;
    const listed = withinTree(await ledger.listOpen(), session).map(({ sessionId }) => sessionId);
    expect(listed.length).toBeGreaterThan(name === 'swarm' ? 0 : 1);
    const found = await openInTree(ledger, session);
    expect(found.map(({ sessionId }) => sessionId).toSorted()).toEqual(listed.toSorted());
  });

  it.each(Object.keys(TREES))('are all that a pause reads: %s', async (name) => {
    const store = portOf(await openLedger(kind));
    await Promise.all(
      Array.from({ length: 3 }, (_, at) => TREES['agents']?.(runtimeOn(store), `s-other-${at}`)),
    );
    const others = new Set((await store.sessions()).map(({ sessionId }) => sessionId));
    const foreign: string[] = [];
    const runtime = runtimeOn({
      ...store,
      read: (session, fromSeq) => {
        if (others.has(session)) foreign.push(session);
        return store.read(session, fromSeq);
      },
      listOpen: () => Promise.reject(new Error('listed')),
      sessions: () => Promise.reject(new Error('listed')),
    });
    const result = await TREES[name]?.(runtime, 's-1');
    expect(result).toMatchObject({ status: 'paused', approvals: [{ toolName: 'del' }] });
    expect(foreign).toEqual([]);
  });
});
