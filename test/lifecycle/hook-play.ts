import type { Agent } from '../../src/agent/define-agent.ts';
import type { Run } from '../../src/agent/run.ts';
import type { RuntimeOptions } from '../../src/agent/runtime-options.ts';
import type { RunSettings } from '../../src/agent/start-run.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import type { Hooks } from '../../src/lifecycle/hooks.ts';
import type { TransitionRecord } from '../../src/lifecycle/transition-record.ts';
import { createRuntime, type Runtime } from '../../src/runtime.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import type { Fault } from '../../src/testing/fault-points.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';
import { createGate, type Gate } from '../../src/testing/gate.ts';
import type { ScriptedResponse } from '../../src/testing/script.ts';
import { listenToAll, type Told } from '../support/all-hooks.ts';
import { portOf } from '../support/edited-ledger.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';

/** What a scenario may act on while its run is at work. */
export interface World {
  readonly runtime: Runtime;
  readonly agent: Agent;
  readonly run: Run;
  readonly clock: FakeClock;
  readonly gate: Gate;
  /** A second runtime on what the first one wrote, after a `halt` took that one away. */
  restart(): Runtime;
  /** Resolves when the faults took the first runtime away. */
  readonly halted: Promise<void>;
}

/** One run and what its hooks are told. */
export interface Scenario {
  readonly what: string;
  readonly script: (gate: Gate) => readonly ScriptedResponse[];
  readonly faults?: readonly Fault[];
  readonly gates?: Hooks;
  readonly runtime?: Omit<RuntimeOptions, 'ledger' | 'clock' | 'hooks' | 'inspect'>;
  readonly run?: RunSettings;
  /** What happens while the run is at work. */
  readonly meanwhile?: (world: World) => Promise<unknown>;
  /** Hooks in the order in which they fire; those of a second runtime after ` | `. */
  readonly hooks: string;
}

/** What a scenario came to. */
export interface Played {
  readonly told: readonly Told[];
  /** Hooks as the scenario writes them. */
  readonly hooks: string;
  readonly transitions: readonly TransitionRecord[];
  readonly misfits: readonly string[];
}

/** Tools `work` (which waits, throws or reports as its argument says) and `gated`. */
function agentOf(scenario: Scenario, gate: Gate): Agent {
  const spy = createToolSpy();
  return scriptedAgent(scenario.script(gate), {
    ...(scenario.gates === undefined ? {} : { hooks: scenario.gates }),
    tools: [
      spy.tool('work', async ({ id }, ctx) => {
        if (id === 'report') ctx.progress('half way');
        if (id === 'wait') await createGate().pass(ctx.signal);
        if (id === 'throw' || id === 'wait') throw new RangeError('no');
        return 'worked';
      }),
      spy.tool('gated', undefined, { needsApproval: true }),
    ],
  }).agent;
}

/** Plays a scenario to its end, whatever becomes of its first runtime. */
export async function play(scenario: Scenario): Promise<Played> {
  const told: Told[] = [];
  const transitions: TransitionRecord[] = [];
  const clock = fakeClock();
  const gate = createGate();
  const inner = memoryLedger({ clock });
  const faulty = faultyLedger(portOf(inner), scenario.faults ?? []);
  const halted = Promise.withResolvers<void>();
  faulty.faults.onHalt(() => halted.resolve());
  let restartedAt = 0;
  const start = (ledger: typeof inner) =>
    createRuntime({
      ...scenario.runtime,
      ledger,
      clock,
      random: () => 0,
      hooks: listenToAll(told),
      inspect: { observe: (record) => void transitions.push(record) },
    });
  const agent = agentOf(scenario, gate);
  const first = start(faulty);
  let second: Runtime | undefined;
  const restart = () => {
    restartedAt = told.length;
    second = start(portOf(inner));
    return second;
  };
  const run = first.run(agent, 'Go.', scenario.run ?? {});
  await scenario.meanwhile?.({ runtime: first, agent, run, clock, gate, restart, halted: halted.promise });
  // What was halted never answers again, its end included.
  if (!faulty.faults.isHalted) await run.result.then(() => first.close());
  await second?.close();
  await inner.close();
  const names: readonly string[] = told.map(({ hook }) => hook);
  return {
    told,
    transitions,
    hooks: (second === undefined ? names : names.toSpliced(restartedAt, 0, '|'))
      .join(' ')
      // Whether an actor retires between two inputs is a matter of time.
      .replaceAll('onAgentStopped onAgentStarted ', ''),
    misfits: transitions
      .filter((record) => record.illegal === true || record.fault === true)
      .map((record) => `${record.kind} ${record.id}: ${record.event} in ${record.from}`),
  };
}
