import { describe, expect, it, onTestFinished } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { createRuntime } from '../../src/runtime.ts';
import type { Fault } from '../../src/testing/fault-points.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';
import { reply } from '../../src/testing/reply.ts';
import type { ParsedRequest } from '../../src/testing/script.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { violationsOf } from '../invariants/session.ts';
import { portOf } from '../support/edited-ledger.ts';
import { createToolSpy } from '../support/tool-spy.ts';

/** What is answered follows from the request alone, so that any process answers the same. */
function model(name: string, first: ReturnType<typeof reply>) {
  const script = ({ messages }: ParsedRequest) =>
    (messages.some(({ role }) => role === 'tool') ? reply().text(`${name} is done.`) : first).usage(5, 1);
  return scriptedModel({ script });
}

/**
 * A front desk that asks a child, which hands over to an expert; then it hands over itself. Four sessions, three of
 * them with an effect.
 */
function createWorld() {
  const ledger = memoryLedger();
  onTestFinished(() => ledger.close());
  const spy = createToolSpy();
  const tools = [spy.tool('work')];
  const base = { instructions: 'Work.' };
  const expert = defineAgent({
    ...base,
    name: 'expert',
    model: model('expert', reply().call('work', { id: 'expert' })),
    tools,
  });
  const child = defineAgent({
    ...base,
    name: 'child',
    model: scriptedModel({
      script: () =>
        reply().call('work', { id: 'child' }).call('transfer_to_expert', { message: 'go on' }).usage(5, 1),
    }),
    tools,
    handoffs: [expert],
  });
  const closer = defineAgent({
    ...base,
    name: 'closer',
    model: model('closer', reply().call('work', { id: 'closer' })),
    tools,
  });
  const desk = defineAgent({
    ...base,
    name: 'desk',
    model: scriptedModel({
      script: ({ messages }: ParsedRequest) =>
        (messages.some(({ role }) => role === 'tool')
          ? reply().call('transfer_to_closer', { message: 'close it' })
          : reply().call('ask_child', { task: 'start' })
        ).usage(5, 1),
    }),
    agents: [child],
    handoffs: [closer],
  });
  const start = (faults: readonly Fault[] = []) => {
    const faulty = faultyLedger({ ...portOf(ledger), close: async () => undefined }, faults);
    const halted = Promise.withResolvers<void>();
    faulty.faults.onHalt(halted.resolve);
    const runtime = createRuntime({ ledger: faulty, agents: { desk } });
    return { runtime, faults: faulty.faults, halted: halted.promise };
  };
  return { ledger, spy, desk, start };
}

async function countAppends(): Promise<number> {
  const { desk, start } = createWorld();
  const { runtime, faults } = start();
  const result = await runtime.run(desk, 'Go.', { sessionId: 'kept' }).result;
  expect(result).toMatchObject({ status: 'completed', text: 'closer is done.', steps: 4, toolCalls: 3 });
  await runtime.close();
  return faults.passed.filter((passed) => passed.startsWith('append')).length;
}

describe('a run of children and handoffs', () => {
  it('survives the end of its process at every append', { timeout: 120_000 }, async () => {
    const appends = await countAppends();
    expect(appends).toBeGreaterThan(20);
    for (let skip = 0; skip < appends; skip += 1) {
      for (const when of ['before', 'after'] as const) await crashAt(skip, when);
    }
  });
});

async function crashAt(skip: number, when: 'before' | 'after'): Promise<void> {
  const at = `${when} append ${skip}`;
  const { ledger, spy, desk, start } = createWorld();
  const first = start([{ at: 'append', skip, when, action: { type: 'halt' } }]);
  void first.runtime.run(desk, 'Go.', { sessionId: 'kept' });
  await first.halted;
  const second = start();
  const open = await second.runtime.recover('kept');
  const unknown = open.flatMap(({ indeterminate }) => indeterminate);
  const result = await second.runtime.resume('desk', 'kept', {
    indeterminate: () => ({ settle: 'settled by hand' }),
  }).result;
  const sessions = await ledger.sessions();
  // What is not over is told of, wherever between two of its turns it was left.
  if (open.length === 0) {
    const kind = sessions.length === 0 ? 'unknown-session' : 'nothing-to-resume';
    expect(result, at).toMatchObject({ status: 'failed', error: { kind } });
  } else {
    expect(result, `${at}: ${JSON.stringify(result)}`).toMatchObject({
      status: 'completed',
      text: 'closer is done.',
      steps: 4,
      toolCalls: 3,
    });
  }
  await second.runtime.close();
  const effects = spy.entries.map(({ id }) => id);
  expect(effects.length, at).toBe(new Set(effects).size);
  if (sessions.length > 0) expect(effects.length + unknown.length, at).toBeGreaterThanOrEqual(3);
  expect(await ledger.listOpen(), at).toEqual([]);
  for (const { sessionId } of await ledger.sessions()) {
    expect(violationsOf({ records: await ledger.read(sessionId) }), at).toEqual([]);
  }
}
