import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { defineSwarm, type Swarm, type SwarmMode } from '../../src/graph/define-swarm.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { createRuntime } from '../../src/runtime.ts';
import type { Fault } from '../../src/testing/fault-points.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';
import { reply } from '../../src/testing/reply.ts';
import type { ParsedRequest, ScriptedResponse } from '../../src/testing/script.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { portOf } from '../support/edited-ledger.ts';
import { createToolSpy, type ToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';
import { adds, factsOf, item, promptOf, taskOf, yields } from './team.ts';

const SESSION = 'kept';

/** What a supervisor says, by what it has seen: the same whichever process asks. */
function leadSays(request: ParsedRequest): ScriptedResponse {
  const called = request.messages.flatMap(({ calls }) => calls.map(({ name }) => name));
  if (!called.includes('update_agent_graph')) {
    return adds(item('A'), item('B'), item('C', { input_ids: ['w1.1.0.1', 'w1.1.0.2'] }));
  }
  const isSettled = promptOf(request).includes('"status":"settled"');
  return isSettled ? reply().text('Done.') : yields();
}

function workerSays(request: ParsedRequest): ScriptedResponse {
  const hasWorked = request.messages.some(({ role }) => role === 'tool');
  return hasWorked ? reply().text(`Did ${taskOf(request)}.`) : reply().call('work', { id: taskOf(request) });
}

interface World {
  readonly ledger: Ledger;
  readonly swarm: Swarm;
  readonly spy: ToolSpy;
}

function createWorld(mode: SwarmMode): World {
  const spy = createToolSpy();
  const supervisor = defineAgent({
    name: 'lead',
    instructions: 'Lead.',
    model: scriptedModel({ script: leadSays }),
  });
  const worker = defineAgent({
    name: 'worker',
    instructions: 'Work.',
    model: scriptedModel({ script: workerSays }),
    tools: [spy.tool('work')],
  });
  const swarm = defineSwarm({ name: 'team', supervisor, agents: [worker], mode });
  return { ledger: memoryLedger(), swarm, spy };
}

/** The store outlives the processes that close it. */
const lent = (ledger: Ledger): Ledger => ({ ...portOf(ledger), close: async () => undefined });

/** Runs until it is over, or until the process dies at its fault. */
async function runUntil(world: World, fault: Fault | undefined): Promise<number> {
  const ledger = faultyLedger(lent(world.ledger), fault === undefined ? [] : [fault]);
  const halted = Promise.withResolvers<void>();
  ledger.faults.onHalt(() => halted.resolve());
  const runtime = createRuntime({ ledger });
  const run = runtime.run(world.swarm, 'Go.', { sessionId: SESSION });
  await Promise.race([run.result, halted.promise]);
  // One that was halted never answers again.
  if (fault === undefined) await runtime.close();
  return ledger.faults.passed.filter((passed) => passed.startsWith('append')).length;
}

async function isOver({ ledger }: World): Promise<boolean> {
  const last = (await ledger.read(SESSION)).at(-1);
  return last === undefined || (last.type === 'turn.closed' && last.data.status === 'completed');
}

async function takeUp(world: World, at: string): Promise<void> {
  const { runtime, misfits } = watchedRuntime({ ledger: lent(world.ledger) });
  const result = await runtime.resume(world.swarm, SESSION, { indeterminate: () => 'abandon' }).result;
  expect(result, at).toMatchObject({ status: 'completed', text: 'Done.' });
  expect(misfits, at).toEqual([]);
  await runtime.close();
}

/** Every effect at most once, every work claimed and ended once, nobody left behind. */
async function checkFacts({ ledger, spy }: World, at: string): Promise<void> {
  const entered = spy.entries.map(({ operationId }) => operationId);
  expect(new Set(entered).size, at).toBe(entered.length);
  const works = ['w1.1.0.1', 'w1.1.0.2', 'w1.1.0.3'];
  for (const type of ['graph.claimed', 'node.started', 'node.finished'] as const) {
    const facts = await factsOf(ledger, type);
    expect(facts.map(({ data }) => data.work).sort(), `${type} ${at}`).toEqual(works);
  }
  const openings = (await factsOf(ledger, 'turn.opened')).filter(({ agent }) => agent === 'worker');
  expect(openings, at).toHaveLength(3);
  expect(await ledger.listOpen(), at).toEqual([]);
}

describe.each(['swarm', 'graph'] as const)('a %s', (mode) => {
  it('GS-09 survives the end of its process at every append', { timeout: 60_000 }, async () => {
    const appends = await runUntil(createWorld(mode), undefined);
    expect(appends).toBeGreaterThan(20);
    for (let skip = 0; skip < appends; skip += 1) {
      // Before one append is after the one before it, but for what runs at the same time: once is enough.
      for (const when of mode === 'swarm' ? (['before', 'after'] as const) : (['after'] as const)) {
        const at = `${when} append ${skip}`;
        const world = createWorld(mode);
        await runUntil(world, { at: 'append', skip, when, action: { type: 'halt' } });
        if (await isOver(world)) continue;
        await takeUp(world, at);
        await checkFacts(world, at);
      }
    }
  });
});
