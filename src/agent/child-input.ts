import type { UserPart } from '../ledger/content.ts';
import type { Limits } from '../limits.ts';

/** What a child is given stands in one fact, with others beside it: it may take that part of their batch. */
const SHARE = 0.5;

/**
 * Why the input of a child is too large to be a fact; undefined for one that is not. A batch that no ledger takes would
 * leave the turn that asks open, and whoever takes it up would come to the same place.
 */
export function oversizedInput(input: readonly UserPart[], { ledger }: Limits): string | undefined {
  // Other parts are kept as artifacts.
  const texts = input.map((part) => (part.type === 'text' ? part.text : ''));
  const bytes = Buffer.byteLength(JSON.stringify(texts));
  const most = Math.floor(ledger.maxBatchBytes * SHARE);
  return bytes <= most ? undefined : `it would be given ${bytes} bytes of text, and ${most} are the most`;
}
