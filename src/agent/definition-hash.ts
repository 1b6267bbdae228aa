import { createHash } from 'node:crypto';
import { canonicalJson } from '../ledger/canonical-json.ts';
import { toPlainJson } from '../tools/plain-json.ts';
import { type AnyAgent, isAgent } from './define-agent.ts';
import type { OtherDefinition } from './runtime-options.ts';

/**
 * What two processes must agree on to mean the same by a name: model, instructions, definitions of tools, limits, and
 * the agents it reaches. Functions have no identity that holds over processes: they are not in it.
 */
export function definitionHash(definition: AnyAgent | OtherDefinition): string {
  const known = hashes.get(definition);
  if (known !== undefined) return known;
  const hash = hashOf(definition);
  hashes.set(definition, hash);
  return hash;
}

/** Definitions are frozen: each is hashed once. */
const hashes = new WeakMap<object, string>();

function hashOf(definition: AnyAgent | OtherDefinition): string {
  const seen = new Map<string, unknown>();
  collect(definition, seen);
  return createHash('sha256')
    .update(canonicalJson(toPlainJson([...seen].sort(([a], [b]) => (a < b ? -1 : 1)))))
    .digest('hex');
}

/** Each once, by kind and name: agents may name each other in a circle. */
function collect(definition: AnyAgent | OtherDefinition, seen: Map<string, unknown>): void {
  const key = `${definition.kind} ${definition.name}`;
  if (seen.has(key)) return;
  if (isAgent(definition)) {
    seen.set(key, shapeOf(definition));
    for (const child of definition.agents) collect(child, seen);
    for (const target of definition.handoffs) if (typeof target !== 'string') collect(target, seen);
    return;
  }
  const { hash = '', mode = '', limits = {}, agents, supervisor } = definition;
  seen.set(key, { hash, mode, limits, agents: agents.map(({ name }) => name) });
  for (const agent of agents) collect(agent, seen);
  if (supervisor !== undefined) collect(supervisor, seen);
}

function shapeOf({ model, instructions, binding, agents, handoffs, settings, limits }: AnyAgent): unknown {
  return {
    model: model.modelId,
    instructions,
    tools: binding.hash,
    agents: agents.map(({ name }) => name),
    handoffs: handoffs.map((target) => (typeof target === 'string' ? target : target.name)),
    settings,
    limits,
  };
}
