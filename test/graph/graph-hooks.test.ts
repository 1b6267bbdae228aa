import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HOOK_ROWS } from '../../machines/hooks.ts';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { type AnyGraph, defineGraph, type Graph } from '../../src/graph/define-graph.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import type { TransitionRecord } from '../../src/lifecycle/transition-record.ts';
import { createRuntime, type Runtime } from '../../src/runtime.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { lineOf, listenToAll, rowOf, type Told } from '../support/all-hooks.ts';
import { portOf } from '../support/edited-ledger.ts';
import { createToolSpy } from '../support/tool-spy.ts';

/** Rows that no graph in code takes: its schedule is there before anything else happens to it. */
const UNREACHED = [
  // A run that is taken up begins where its facts left it.
  'graph-supervisor: empty RESUMED reconciling',
  'graph-supervisor: waiting UPDATED reconciling',
  'graph-supervisor: reconciling UPDATED reconciling',
  // A work that waits for a person waits no longer before it settles.
  'graph-supervisor: waiting WORK_SETTLED reconciling',
];

interface Heard {
  readonly told: Told[];
  readonly transitions: TransitionRecord[];
}

function listeningRuntime(ledger: Ledger, heard: Heard): Runtime {
  return createRuntime({
    ledger: { ...portOf(ledger), close: async () => undefined },
    hooks: listenToAll(heard.told),
    inspect: { observe: (record) => void heard.transitions.push(record) },
  });
}

const answer = defineGraph({ name: 'g' })
  .node('a', (text) => text, { from: 'input' })
  .node('b', (text) => text, { from: 'a' })
  .loop('l', { from: 'b', back: 'b', while: (text) => text === 'again', max: 2 })
  .build({ output: 'l' });

function askingGraph(): Graph<string, unknown> {
  const asks = createToolSpy().tool('del', undefined, { needsApproval: true });
  const model = scriptedModel({
    script: ({ messages }) =>
      messages.at(-1)?.role === 'tool' ? reply().text('done') : reply().call('del', { id: 'x' }),
  });
  const cleaner = defineAgent({ name: 'cleaner', instructions: '', model, tools: [asks] });
  return defineGraph({ name: 'g' })
    .node('clean', cleaner, { from: 'input' })
    .node('count', () => 1, { from: 'input' })
    .join('all', { from: ['clean', 'count'] })
    .build({ output: 'all' });
}

type Scenario = (heard: Heard) => Promise<unknown>;

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'a graph that ends well': (heard) => listeningRuntime(memoryLedger(), heard).run(answer, 'again').result,
  'a graph whose nodes end while others begin': async (heard) => {
    const ticks = async (count: number) => {
      for (let at = 0; at < count; at += 1) await Promise.resolve();
      return count;
    };
    const graph = defineGraph({ name: 'g', input: z.array(z.number()) })
      .map('each', ticks, { from: 'input', maxConcurrency: 3 })
      .build({ output: 'each' });
    await listeningRuntime(memoryLedger(), heard).run(
      graph,
      Array.from({ length: 60 }, (_, at) => at),
    ).result;
  },
  'a graph that fails, with a sibling at work': async (heard) => {
    const graph = defineGraph({ name: 'g' })
      .node('a', () => Promise.reject(new Error('no')), { from: 'input' })
      .node('b', (_, { signal }) => createGate().pass(signal), { from: 'input' })
      .join('j', { from: ['a', 'b'] })
      .build({ output: 'j' });
    await listeningRuntime(memoryLedger(), heard).run(graph, 'x').result;
  },
  'a graph that is cancelled': async (heard) => {
    const gate = createGate();
    const graph = defineGraph({ name: 'g' })
      .node('a', (_, { signal }) => gate.pass(signal), { from: 'input' })
      .build({ output: 'a' });
    const run = listeningRuntime(memoryLedger(), heard).run(graph, 'x');
    await gate.reached;
    run.cancel();
    await run.result;
  },
  'a graph that waits for a person': async (heard) => {
    const runtime = listeningRuntime(memoryLedger(), heard);
    const run = runtime.run(askingGraph(), 'x');
    for await (const event of run.events({ tree: true })) if (event.type === 'approval.requested') break;
    const [request] = await runtime.approvals.pending();
    await runtime.approvals.decide(request?.id ?? '', { decision: 'approve' });
    await run.result;
  },
  'a graph that pauses, and another process that goes on': async (heard) => {
    const ledger = memoryLedger();
    const graph: AnyGraph = askingGraph();
    const first = listeningRuntime(ledger, heard);
    const run = first.run(graph as Graph<string>, 'x', { onApproval: 'pause' });
    const paused = await run.result;
    const [request] = paused.status === 'paused' ? paused.approvals : [];
    await first.close();
    const second = createRuntime({
      ledger,
      hooks: listenToAll(heard.told),
      agents: { g: graph },
      inspect: { observe: (record) => void heard.transitions.push(record) },
    });
    await second.approvals.decide(request?.id ?? '', { decision: 'approve' });
    await second.resume(graph, run.sessionId).result;
  },
  'a graph whose facts cannot be written': async (heard) => {
    const ledger = faultyLedger(memoryLedger(), [
      { at: 'append', record: 'graph.claimed', action: { type: 'fail' } },
    ]);
    await listeningRuntime(ledger, heard).run(answer, 'x').result;
  },
};

const isOfGraph = ({ kind }: TransitionRecord) => kind === 'graph-supervisor';

async function hear(scenario: Scenario): Promise<Heard> {
  const heard: Heard = { told: [], transitions: [] };
  await scenario(heard);
  return heard;
}

describe('hooks of graphs', { timeout: 10_000 }, () => {
  it.each(Object.entries(SCENARIOS))(
    'HK-01 fire once for each transition with a row, and for no other: %s',
    async (_, scenario) => {
      const { told, transitions } = await hear(scenario);
      const live = transitions.filter((record) => isOfGraph(record) && record.replayed !== true);
      const expected = live.flatMap((record) => {
        const row = rowOf(record);
        return row === undefined ? [] : [`${record.id} ${record.seq} ${row.hook}`];
      });
      expect(expected.length).toBeGreaterThan(0);
      const heard = told.filter(({ record }) => isOfGraph(record));
      expect(heard.map(({ hook, record }) => `${record.id} ${record.seq} ${hook}`)).toEqual(expected);
      expect(transitions.filter(({ illegal, fault }) => illegal === true || fault === true)).toEqual([]);
    },
  );

  it('HK-01 cover every row that a graph in code can reach', async () => {
    const reached = new Set<string>();
    for (const scenario of Object.values(SCENARIOS)) {
      for (const { record } of (await hear(scenario)).told) {
        const row = rowOf(record);
        if (row !== undefined) reached.add(lineOf(row));
      }
    }
    const rows = HOOK_ROWS.filter(({ machine }) => machine === 'graph-supervisor').map(lineOf);
    expect(rows.filter((line) => !reached.has(line)).sort()).toEqual([...UNREACHED].sort());
  });
});
