import { type AnyAgent, isAgent } from './define-agent.ts';

/** Agents that a runtime was given, whoever is in its registry: a viewer that forks a session has none to give. */
export interface RanAgents {
  note(target: unknown): void;
  /** The only agent of that name that was given. Undefined where there were two: either could be meant. */
  find(name: string): AnyAgent | undefined;
}

/** Names that are remembered; the ones that were given first are forgotten first. */
const MAX_NAMES = 256;

export function createRanAgents(): RanAgents {
  const known = new Map<string, AnyAgent | 'ambiguous'>();
  return {
    note(target) {
      if (!isAgent(target)) return;
      const before = known.get(target.name);
      if (before === target) return;
      known.set(target.name, before === undefined ? target : 'ambiguous');
      const [oldest = ''] = known.keys();
      if (known.size > MAX_NAMES) known.delete(oldest);
    },
    find(name) {
      const agent = known.get(name);
      return agent === 'ambiguous' ? undefined : agent;
    },
  };
}
