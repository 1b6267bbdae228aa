import { createHash } from 'node:crypto';
import type { Binding } from './binding.ts';

/** The part of a binding that `allowed` names. A narrower ceiling, never a wider one. */
export function narrowBinding(binding: Binding, allowed: readonly string[]): Binding {
  const names = new Set(allowed);
  const tools = binding.tools.filter((bound) => names.has(bound.name));
  if (tools.length === binding.tools.length) return binding;
  const hashes = tools.map((bound) => bound.schemaHash).sort();
  return Object.freeze({
    tools: Object.freeze(tools),
    hash: createHash('sha256').update(hashes.join('\n')).digest('hex'),
    byName: (name: string) => (names.has(name) ? binding.byName(name) : undefined),
    byWireName: (wireName: string) => {
      const bound = binding.byWireName(wireName);
      return bound !== undefined && names.has(bound.name) ? bound : undefined;
    },
  });
}
