import { SwarmError } from '../errors.ts';
import type { AnyAgent } from './define-agent.ts';

type Named = ReadonlyMap<string, AnyAgent>;

/**
 * Every agent that work given to `start` may come to: those they declare, all the way down. Agents may name each other
 * in a circle.
 * @throws SwarmError 'unknown-agent' naming the agent, and the one that names it
 */
export function reachableAgents(start: readonly AnyAgent[], named: Named): readonly AnyAgent[] {
  const found = new Set(start);
  // A set is walked in the order of insertion, also what is added meanwhile.
  for (const agent of found) {
    for (const child of agent.agents) found.add(child);
    for (const target of agent.handoffs) {
      const resolved = typeof target === 'string' ? named.get(target) : target;
      if (resolved === undefined) throw unknown(agent, String(target));
      found.add(resolved);
    }
  }
  return [...found];
}

function unknown(agent: AnyAgent, name: string): SwarmError {
  return new SwarmError(
    'unknown-agent',
    `agent ${agent.name} may hand over to ${name}, but no agent of that name is in the registry of this runtime`,
  );
}

/** Agents by name: those of a registry, then those they declare. A name that is not known is passed over. */
export function agentsByName(named: Named): Named {
  const all = new Map(named);
  const queue = [...named.values()];
  for (let agent = queue.pop(); agent !== undefined; agent = queue.pop()) {
    for (const one of [...agent.agents, ...agent.handoffs]) {
      if (typeof one === 'string' || all.has(one.name)) continue;
      all.set(one.name, one);
      queue.push(one);
    }
  }
  return all;
}
