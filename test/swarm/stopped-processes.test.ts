import { describe, expect, it } from 'vitest';
import type { Swarm } from '../../src/graph/define-swarm.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { createRuntime } from '../../src/runtime.ts';
import type { Fault } from '../../src/testing/fault-points.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';
import { createGate, type Gate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import type { ScriptedResponse } from '../../src/testing/script.ts';
import { portOf } from '../support/edited-ledger.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { adds, factsOf, factsSeen, item, runtimeOf, team, yields } from './team.ts';

const SESSION = 'kept';
const lent = (ledger: Ledger): Ledger => ({ ...portOf(ledger), close: async () => undefined });

type Record = 'graph.updated' | 'turn.closed';

/** A process that goes right after the so manieth append with such a record; its works stop for nobody. */
function startProcess(second: (gate: Gate) => ScriptedResponse, record: Record, skip: number) {
  const gate = createGate();
  const spy = createToolSpy();
  const hold = spy.tool('hold', () => new Promise(() => undefined));
  const { swarm, lead } = team({
    lead: [adds(item('A'), item('B')), second(gate)],
    worker: () => reply().call('hold', { id: 'x' }),
    workerMore: { tools: [hold] },
  });
  const ledger = memoryLedger();
  const fault: Fault = { at: 'append', record, skip, when: 'after', action: { type: 'halt' } };
  const dying = faultyLedger(lent(ledger), [fault]);
  const halted = Promise.withResolvers<void>();
  dying.faults.onHalt(halted.resolve);
  const run = createRuntime({ ledger: dying }).run(swarm, 'Go.', { sessionId: SESSION });
  return { swarm, lead, ledger, gate, run, halted: halted.promise };
}

async function expectEnded(swarm: Swarm, ledger: Ledger, expected: object): Promise<void> {
  const { runtime, misfits } = runtimeOf(swarm, { ledger: lent(ledger) });
  expect((await runtime.recover()).map(({ sessionId }) => sessionId)).toContain(SESSION);
  const resumed = runtime.resume(swarm, SESSION, { indeterminate: () => 'abandon' });
  expect(await resumed.result).toMatchObject(expected);
  expect(await ledger.listOpen()).toEqual([]);
  expect(await runtime.recover()).toEqual([]);
  expect(await factsOf(ledger, 'node.finished')).toHaveLength(2);
  expect(misfits).toEqual([]);
}

describe('a run whose process goes while it stops its works', { timeout: 20_000 }, () => {
  it('GS-17 cancelled between two turns is ended by whoever takes it up', async () => {
    const { swarm, ledger, run, halted } = startProcess(() => yields(), 'graph.updated', 1);
    await factsSeen(ledger, 'tool.dispatched', 2, 'worker');
    await factsSeen(ledger, 'turn.closed', 1, 'team');
    run.cancel('enough');
    await halted;
    await expectEnded(swarm, ledger, { status: 'cancelled' });
  });

  it('GS-17 cancelled in a turn is ended by whoever takes it up', async () => {
    const { swarm, ledger, run, halted, lead } = startProcess(() => reply().stall(), 'turn.closed', 0);
    await factsSeen(ledger, 'tool.dispatched', 2, 'worker');
    await lead.arrived(1);
    run.cancel('enough');
    await halted;
    await expectEnded(swarm, ledger, { status: 'cancelled', reason: 'enough' });
  });

  it('GS-17 failed in its first turn is ended by whoever takes it up', async () => {
    const fails = (gate: Gate) => reply().wait(gate).error({ kind: 'invalid-request' });
    const { swarm, ledger, halted, gate } = startProcess(fails, 'turn.closed', 0);
    await factsSeen(ledger, 'tool.dispatched', 2, 'worker');
    gate.open();
    await halted;
    await expectEnded(swarm, ledger, { status: 'failed', error: { kind: 'invalid-request' } });
  });
});
