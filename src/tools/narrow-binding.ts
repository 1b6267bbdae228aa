import { bindingOf } from './bind-tools.ts';
import type { Binding } from './binding.ts';

/** Parts of one binding: more than a few only where every run has a ceiling of its own. */
const MAX_PARTS = 8;
/** A part is the same object again, so that what is built over it (the search index) is built once. */
const PARTS = new WeakMap<Binding, Map<string, Binding>>();

/** The part of a binding that `allowed` names. A narrower ceiling, never a wider one. */
export function narrowBinding(binding: Binding, allowed: readonly string[]): Binding {
  const names = new Set(allowed);
  const tools = binding.tools.filter((bound) => names.has(bound.name));
  if (tools.length === binding.tools.length) return binding;
  const parts = PARTS.get(binding) ?? new Map<string, Binding>();
  PARTS.set(binding, parts);
  const key = tools.map((bound) => bound.name).join('\n');
  const known = parts.get(key);
  if (known !== undefined) return known;
  const part = bindingOf(tools);
  if (parts.size >= MAX_PARTS) parts.clear();
  parts.set(key, part);
  return part;
}
