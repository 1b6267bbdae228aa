import type { AnyStateMachine } from 'xstate';

/** What a config holds beside its states that is code, or says how to run it. */
const LEFT_OUT = new Set(['context', 'options']);

/**
 * The config of a machine as JSON: states, events, guards and actions by name, descriptions and tags. Stately Studio
 * imports it, and `setup(...).createMachine(config)` makes the machine of it again where the names are implemented.
 * @example
 * import { turnMachine } from 'swarmwright/machines';
 * console.log(machineJson(turnMachine));
 */
export function machineJson(machine: AnyStateMachine): string {
  const config = Object.entries(machine.config).filter(([name]) => !LEFT_OUT.has(name));
  return `${JSON.stringify(Object.fromEntries(config), undefined, 2)}\n`;
}
