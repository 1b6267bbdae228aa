import { SwarmError } from '../errors.ts';
import { safeName } from '../tools/safe-text.ts';

/** A name for each option: the compiler misses none. */
export type OptionNames<Options> = { readonly [Name in keyof Required<Options>]: true };

/**
 * Refuses what is no object of options, and an option that is unknown. JavaScript callers and spread objects get past
 * the types, and one that is misspelt would silently not hold: events that go nowhere, a server that was never meant.
 * @throws SwarmError 'invalid-definition'; no message holds a value
 */
export function assertOptions<Options extends object>(
  where: string,
  options: unknown,
  names: OptionNames<Options>,
): void {
  if (typeof options !== 'object' || options === null) refuse(`${where} takes an object of options`);
  const unknown = Object.keys(options).filter((name) => !Object.hasOwn(names, name));
  if (unknown.length > 0)
    refuse(`${where}: there is no option ${unknown.map((name) => safeName(name)).join(', ')}`);
}

function refuse(message: string): never {
  throw new SwarmError('invalid-definition', message);
}
