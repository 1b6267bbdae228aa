import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { AnyGraph, Graph } from '../../src/graph/define-graph.ts';
import { replayLedger } from '../../src/inspect/replay-ledger.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import type { TransitionRecord } from '../../src/lifecycle/transition-record.ts';
import { createRuntime } from '../../src/runtime.ts';
import type { Fault } from '../../src/testing/fault-points.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';
import { portOf } from '../support/edited-ledger.ts';
import { graphOf, plans } from '../support/random-graphs.ts';
import { liveEnds, said } from './fixtures/replayed.ts';

const RUNS = Number(process.env['SWARMWRIGHT_RANDOM_RUNS'] ?? 60);
const SESSION = 'kept';

/** What the machines of a finished ledger come to by its facts alone, and events that met the wrong state. */
async function replayed(ledger: Ledger) {
  const transitions: TransitionRecord[] = [];
  await replayLedger(ledger, { observe: (record) => transitions.push(record) });
  const misfits = transitions.filter(({ illegal, fault }) => illegal === true || fault === true);
  return { ends: Object.fromEntries(liveEnds(transitions)), misfits: misfits.map(said) };
}

/** A process on the ledger that notes every transition of its machines; with faults, it dies there. */
function startProcess(ledger: Ledger, live: TransitionRecord[], faults: readonly Fault[] = []) {
  const faulty = faultyLedger({ ...portOf(ledger), close: async () => undefined }, faults);
  const halted = Promise.withResolvers<void>();
  faulty.faults.onHalt(halted.resolve);
  const observe = (record: TransitionRecord) => void live.push(record);
  return { runtime: createRuntime({ ledger: faulty, inspect: { observe } }), halted: halted.promise };
}

/** Runs a graph, and takes it up where its process died. */
async function playOver(graph: Graph<string>, ledger: Ledger, faults: readonly Fault[]) {
  const live: TransitionRecord[] = [];
  const first = startProcess(ledger, live, faults);
  await Promise.race([first.runtime.run(graph, 'x', { sessionId: SESSION }).result, first.halted]);
  const second = startProcess(ledger, live);
  const isOpen = (await second.runtime.recover(SESSION)).length > 0;
  if (isOpen) await second.runtime.resume(graph as AnyGraph, SESSION).result;
  await second.runtime.close();
  return live;
}

describe('random graphs over random processes', { timeout: 120_000 }, () => {
  it('XC-01 machines of graphs replay from the ledger to the states in which they ended live', async () => {
    await fc.assert(
      fc.asyncProperty(plans, fc.nat(80), fc.boolean(), async (plan, skip, isAfter) => {
        const ledger = memoryLedger();
        onTestFinished(() => ledger.close());
        const when = isAfter ? ('after' as const) : ('before' as const);
        const fault = { at: 'append', skip, when, action: { type: 'halt' } } as const;
        const live = await playOver(graphOf(plan, []), ledger, [fault]);
        const ends = [...liveEnds(live)];
        const { ends: played, misfits } = await replayed(ledger);
        expect(misfits).toEqual([]);
        expect(played).toMatchObject(Object.fromEntries(ends));
        // A process that died before its first fact left no graph; one that died with its last left a whole one.
        const hasGraph = (await ledger.read(SESSION)).some(({ type }) => type === 'graph.updated');
        expect(Object.keys(played).some((id) => id.startsWith('graph-supervisor'))).toBe(hasGraph);
      }),
      { numRuns: RUNS },
    );
  });
});
