import { EFFECT_HOOKS, GATE_HOOKS, OBSERVER_HOOKS } from '../../machines/hooks.ts';
import { SwarmError } from '../errors.ts';
import type { HookName } from './hook-stats.ts';
import type { Hooks } from './hooks.ts';

/** A hook as it was declared, and what it is called in refusals, counts and facts. */
export interface DeclaredHook<F> {
  readonly by: string;
  readonly call: F;
}

const NAMES: ReadonlySet<string> = new Set([...OBSERVER_HOOKS, ...GATE_HOOKS, ...Object.keys(EFFECT_HOOKS)]);

/**
 * Checks hooks where they are declared.
 * @throws SwarmError 'invalid-definition' for an unknown hook, a hook that is no function, or a name of other
 * than 1 to 64 letters, digits, `_` and `-`
 */
export function checkHooks(hooks: Hooks): void {
  if (typeof hooks !== 'object' || hooks === null) {
    throw new SwarmError('invalid-definition', 'hooks must be an object');
  }
  for (const [name, value] of Object.entries(hooks)) {
    if (value === undefined) continue;
    if (name === 'name') checkName(value);
    else if (!NAMES.has(name)) throw new SwarmError('invalid-definition', `there is no hook '${name}'`);
    else if (typeof value !== 'function') {
      throw new SwarmError('invalid-definition', `the hook ${name} must be a function`);
    }
  }
}

function checkName(value: unknown): void {
  if (typeof value === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(value)) return;
  throw new SwarmError('invalid-definition', 'the name of hooks is 1 to 64 letters, digits, _ and -');
}

/** The functions declared for one point, in order; `call` keeps the object they were declared on. */
export function declaredFor<N extends HookName>(
  list: readonly Hooks[],
  hook: N,
): readonly DeclaredHook<NonNullable<Hooks[N]>>[] {
  const declared: DeclaredHook<NonNullable<Hooks[N]>>[] = [];
  for (const [index, hooks] of list.entries()) {
    const call = hooks[hook];
    if (call === undefined) continue;
    // `bind` forgets which function type it was given; it is that of `call`.
    const bound = call.bind(hooks) as NonNullable<Hooks[N]>;
    declared.push({ by: `${nameOf(list, index)}.${hook}`, call: bound });
  }
  return declared;
}

/** The name of one entry of a list: its own if no earlier entry has it, else one made of its position. */
function nameOf(list: readonly Hooks[], index: number): string {
  const own = list[index]?.name;
  if (own === undefined) return `hooks${index}`;
  return list.findIndex((hooks) => hooks.name === own) === index ? own : `${own}${index}`;
}
