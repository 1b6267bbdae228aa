import { describe, expect, it } from 'vitest';
import { defineGraph } from '../../src/graph/define-graph.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { createRuntime } from '../../src/runtime.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { portOf } from '../support/edited-ledger.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';
import { adds, item, team, yields } from '../swarm/team.ts';

function swarmGraph(gate = createGate()) {
  const { swarm, lead, worker } = team({
    // A request that a process left unanswered is asked again, and gets the same answer.
    lead: ({ messages }) => {
      const last = messages.at(-1);
      if (last?.role === 'tool') return yields();
      return messages.length === 1 ? adds(item('A')) : reply().text('The team is done.');
    },
    worker: () => reply().wait(gate).text('A.'),
  });
  const graph = defineGraph({ name: 'g' })
    .node('team', swarm, { from: 'input' })
    .node('length', (text) => text.length, { from: 'team' })
    .build({ output: 'length' });
  return { graph, swarm, lead, worker, gate };
}

describe('a swarm in a graph', { timeout: 10_000 }, () => {
  it('schedules its own work, and yields what its supervisor does', async () => {
    const { runtime, misfits } = watchedRuntime();
    const { graph, gate } = swarmGraph();
    gate.open();
    const run = runtime.run(graph, 'Go.');
    expect(await run.result).toMatchObject({ status: 'completed', output: 'The team is done.'.length });
    const sessions = await runtime.sessions.list({ root: run.sessionId });
    expect(sessions.map(({ agent }) => agent)).toEqual(['g', 'team', 'worker']);
    expect(misfits).toEqual([]);
  });

  it('is stopped with the graph, its operators too', async () => {
    const { runtime, misfits } = watchedRuntime();
    const { graph, gate } = swarmGraph();
    const run = runtime.run(graph, 'Go.');
    await gate.reached;
    run.cancel('enough');
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'enough' });
    expect(await runtime.recover()).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('goes on in another process where it was', async () => {
    const ledger = memoryLedger();
    const port = () => ({ ...portOf(ledger), close: async () => undefined });
    const { graph, gate, lead } = swarmGraph();
    const first = createRuntime({ ledger: port() });
    const run = first.run(graph, 'Go.');
    await gate.reached;
    await lead.arrived(1);
    await first.close();
    gate.open();
    const { runtime } = watchedRuntime({ ledger: port() });
    const result = await runtime.resume(graph, run.sessionId).result;
    expect(result).toMatchObject({ status: 'completed', output: 'The team is done.'.length });
    expect(await runtime.recover()).toEqual([]);
  });
});
