import type { PauseReason } from '../ledger/records.ts';

/** Why a turn is paused, as it is told after the word. */
export function pauseWords(reason: PauseReason): string {
  if (reason === 'children') return 'its children are at work';
  if (reason === 'indeterminate') return 'waits for a decision on a call of unknown effect';
  return reason === 'requested' ? 'as was asked' : `waits for ${reason}`;
}
