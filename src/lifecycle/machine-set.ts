import { agentMachine } from '../../machines/agent.ts';
import { graphSupervisorMachine } from '../../machines/graph-supervisor.ts';
import type { MachineKind, MachineSet } from '../../machines/machine-kind.ts';
import { stepMachine } from '../../machines/step.ts';
import { toolCallMachine } from '../../machines/tool-call.ts';
import { turnMachine } from '../../machines/turn.ts';
import { SwarmError } from '../errors.ts';

/** The machines of the runtime as they are. */
const OWN: MachineSet = Object.freeze({
  agent: agentMachine,
  turn: turnMachine,
  step: stepMachine,
  'tool-call': toolCallMachine,
  'graph-supervisor': graphSupervisorMachine,
});

/** What tells machines apart here: their states, and which of them are final. */
function shapeOf(machine: unknown): string | undefined {
  if (typeof machine !== 'object' || machine === null) return undefined;
  // A shape check of a value a user gave; nothing but these fields is read.
  const { id, states } = machine as { id?: unknown; states?: Record<string, { type?: unknown }> };
  if (typeof id !== 'string' || typeof states !== 'object' || states === null) return undefined;
  const names = Object.keys(states).sort();
  return `${id}: ${names.map((name) => `${name}${states[name]?.type === 'final' ? '!' : ''}`).join(' ')}`;
}

/**
 * The machines to run: those of the runtime, with what a user made of them by `provide` in place.
 * @throws SwarmError 'invalid-machine' for an unknown kind or a machine with another id or other states
 */
export function resolveMachines(provided: Partial<MachineSet> = {}): MachineSet {
  for (const [kind, machine] of Object.entries(provided)) {
    if (machine === undefined) continue;
    if (!Object.hasOwn(OWN, kind)) throw new SwarmError('invalid-machine', `there is no machine '${kind}'`);
    // Checked by the line above.
    const own = OWN[kind as MachineKind];
    if (shapeOf(machine) === shapeOf(own)) continue;
    throw new SwarmError(
      'invalid-machine',
      `the machine given for '${kind}' is not ${kind}Machine or made of it by provide()`,
    );
  }
  return { ...OWN, ...provided };
}
