import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { AnyGraph, Graph } from '../../src/graph/define-graph.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import type { LedgerRecord, RecordOf } from '../../src/ledger/records.ts';
import { createRuntime } from '../../src/runtime.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';
import { portOf } from '../support/edited-ledger.ts';
import { graphOf, type Plan, plans } from '../support/random-graphs.ts';
import { ofType } from '../support/run-events.ts';

/** What has to hold of the facts of any run that ended. */
function violationsOf(graph: AnyGraph, records: readonly LedgerRecord[]): readonly string[] {
  const broken: string[] = [];
  const outcomes = new Map<string, RecordOf<'node.finished'> | RecordOf<'node.skipped'>>();
  for (const record of records) {
    if (record.type === 'node.finished' && record.data.retryAt !== undefined) continue;
    if (record.type !== 'node.finished' && record.type !== 'node.skipped') continue;
    if (outcomes.has(record.data.work)) broken.push(`${record.data.work} settled twice`);
    outcomes.set(record.data.work, record);
  }
  for (const { name, from } of graph.nodes) {
    if (!outcomes.has(name)) broken.push(`${name} never settled`);
    const started = ofType(records, 'node.started').find(({ data }) => data.work === name);
    const node = graph.nodes.find((one) => one.name === name);
    if (started === undefined || node?.need !== undefined) continue;
    for (const one of from) {
      const before = outcomes.get(one);
      if (before === undefined || before.seq > started.seq) broken.push(`${name} ran before ${one} settled`);
    }
  }
  const claims = ofType(records, 'graph.claimed').map(({ data }) => data.work);
  if (new Set(claims).size < claims.length) broken.push('a work was claimed twice');
  if (ofType(records, 'graph.finished').length !== 1) broken.push('the graph did not end once');
  return broken;
}

describe('any graph', { timeout: 60_000 }, () => {
  it('settles every node once, after what it reads, and ends', async () => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const entered: string[] = [];
        const graph = graphOf(plan, entered);
        const runtime = createRuntime();
        const run = runtime.run(graph, 'x');
        const result = await run.result;
        expect(['completed', 'failed']).toContain(result.status);
        expect(violationsOf(graph, await runtime.sessions.read(run.sessionId))).toEqual([]);
        expect(new Set(entered).size).toBe(entered.length);
        await runtime.close();
      }),
      { numRuns: 150 },
    );
  });

  it('comes to the same over the end of its process at any append', async () => {
    await fc.assert(
      fc.asyncProperty(plans, fc.nat(60), fc.boolean(), async (plan, skip, isAfter) => {
        const ledger = memoryLedger();
        onTestFinished(() => ledger.close());
        const port = { ...portOf(ledger), close: async () => undefined };
        const graph = graphOf(plan, []);
        const expected = await resultOf(graph);
        const when = isAfter ? ('after' as const) : ('before' as const);
        const faulty = faultyLedger(port, [{ at: 'append', skip, when, action: { type: 'halt' } }]);
        const halted = Promise.withResolvers<void>();
        faulty.faults.onHalt(halted.resolve);
        const first = createRuntime({ ledger: faulty });
        const run = first.run(graph, 'x', { sessionId: 'kept' });
        await Promise.race([run.result, halted.promise]);
        const second = createRuntime({ ledger: port });
        if ((await second.recover('kept')).length > 0) {
          const result = await second.resume(graph, 'kept').result;
          expect(result.status).toBe(expected.status);
          expect(violationsOf(graph, await ledger.read('kept'))).toEqual([]);
          if (result.status === 'completed' && isFixed(plan))
            expect(result).toMatchObject({ output: expected.output });
        }
        await second.close();
      }),
      { numRuns: 100 },
    );
  });
});

async function resultOf(graph: Graph<string>) {
  const runtime = createRuntime();
  const result = await runtime.run(graph, 'x').result;
  await runtime.close();
  return { status: result.status, output: result.status === 'completed' ? result.output : undefined };
}

/** Whether a result depends on no race: joins that need only some of their branches take what is there first. */
function isFixed(plan: readonly Plan[]): boolean {
  return plan.every(({ kind, need }) => kind !== 'join' || need === 'all');
}
