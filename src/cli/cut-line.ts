import { cutChars } from '../tools/safe-text.ts';
import { count } from './amounts.ts';

/** Characters of arguments and results that a line shows. */
export const MAX_DATA_CHARS = 400;

/** Characters of what people and models say that a line shows: a paragraph is one line. */
export const MAX_PROSE_CHARS = 2_000;

/** The beginning of a text that is too long for a line, and how much is left out: an empty text where nothing is. */
export function cutLine(
  text: string,
  maxChars: number = MAX_DATA_CHARS,
): { readonly text: string; readonly more: string } {
  if (text.length <= maxChars) return { text, more: '' };
  const kept = cutChars(text, maxChars);
  // The ellipsis is none of them.
  return { text: kept, more: count(text.length - kept.length + 1, 'more character') };
}
