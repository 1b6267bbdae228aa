import { InvalidArgumentError } from 'commander';

/**
 * Reads the whole number that an option or argument takes.
 * @throws InvalidArgumentError, from what it gives, which names the bounds
 */
export function wholeNumber(least: number, most?: number): (text: string) => number {
  const range = most === undefined ? `of at least ${least}` : `from ${least} to ${most}`;
  return (text) => {
    const value = Number(text);
    const isWithin = value >= least && value <= (most ?? Number.MAX_SAFE_INTEGER);
    if (text.trim() !== '' && Number.isInteger(value) && isWithin) return value;
    throw new InvalidArgumentError(`A whole number ${range} is needed.`);
  };
}
