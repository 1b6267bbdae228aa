import { SwarmError, type SwarmErrorCode } from './errors.ts';

/** A name for each option: the compiler misses none. */
export type OptionNames<Options> = { readonly [Name in keyof Required<Options>]: true };

/**
 * Refuses what is no object of options, and an option that is unknown. JavaScript callers and spread objects get past
 * the types, and one that is misspelt would silently not hold: events that go nowhere, a server that was never meant.
 * @throws SwarmError of `code`, default 'invalid-definition'; no message holds a value
 */
export function assertOptions<Options extends object>(
  where: string,
  options: unknown,
  names: OptionNames<Options>,
  code: SwarmErrorCode = 'invalid-definition',
): void {
  if (typeof options !== 'object' || options === null) {
    throw new SwarmError(code, `${where} takes an object of options`);
  }
  const unknown = Object.keys(options).filter((name) => !Object.hasOwn(names, name));
  if (unknown.length === 0) return;
  throw new SwarmError(code, `${where}: there is no option ${unknown.map(shownName).join(', ')}`);
}

const MAX_NAME_CHARS = 64;

/** The name of an option in a line of a log, whatever it holds. */
function shownName(name: string): string {
  return name.slice(0, MAX_NAME_CHARS).replaceAll(/[^\w.-]/g, '?');
}
