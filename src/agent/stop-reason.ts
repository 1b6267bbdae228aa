import { cutChars } from '../tools/safe-text.ts';

/** Characters of a reason that are kept: it stands in facts, entries of queues and messages to other processes. */
const MAX_REASON_CHARS = 2_000;

/** Why something is stopped, as whoever stops it says. */
export function stopReason(given: string): string {
  return cutChars(given, MAX_REASON_CHARS);
}
