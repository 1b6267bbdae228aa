import type { JsonObject } from '../ledger/content.ts';
import { DEFAULT_LIMITS } from '../limits.ts';
import { hashArguments } from './argument-snapshot.ts';

/**
 * Stops a model that sends the same failing call again and again. A call is the same if tool and canonical
 * arguments are: the order of keys does not matter. One per turn; nested calls get their own.
 */
export interface LoopGate {
  /** Whether the call failed so often in a row that it is not to run again. Changes nothing. */
  isBlocked(toolName: string, args: JsonObject): boolean;
  /** Counts a settled call. Refusals are failures, those of this gate too. */
  note(toolName: string, args: JsonObject, outcome: 'success' | 'failure'): void;
}

/**
 * A gate that lets `limit` (default `limits.tools.identicalFailures`) identical failing calls pass in a row and
 * blocks the next ones. A success or a different call starts anew. `Infinity` blocks nothing.
 */
export function createLoopGate(limit: number = DEFAULT_LIMITS.tools.identicalFailures): LoopGate {
  let last: string | undefined;
  let failures = 0;
  return {
    isBlocked(toolName, args) {
      // Hash only where a streak is long enough to matter: most turns never get there.
      return last !== undefined && failures >= limit && last === keyOf(toolName, args);
    },
    note(toolName, args, outcome) {
      if (outcome === 'success') {
        last = undefined;
        failures = 0;
        return;
      }
      const key = keyOf(toolName, args);
      failures = key === last ? failures + 1 : 1;
      last = key;
    },
  };
}

function keyOf(toolName: string, args: JsonObject): string {
  return `${hashArguments(args)} ${toolName}`;
}
