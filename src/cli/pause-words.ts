import type { PauseReason } from '../ledger/records.ts';

/** Why a turn is paused, as it is told after the word. */
export function pauseWords(reason: PauseReason): string {
  return reason === 'requested' ? 'as was asked' : `waits for ${reason}`;
}
