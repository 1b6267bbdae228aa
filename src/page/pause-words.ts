import type { RunEvent } from '../events/event-schemas.ts';

type PauseReason = Extract<RunEvent, { readonly type: 'turn.paused' }>['data']['reason'];

const WORDS: Readonly<Record<PauseReason, string>> = {
  approval: 'It waits for a person to decide on a call.',
  indeterminate: 'What became of a call is not known; somebody has to decide.',
  requested: 'Somebody asked for it.',
  children: 'It sleeps until its children have an answer, or need somebody.',
};

/** Why a turn is paused, in words. */
export function pauseWords(reason: PauseReason): string {
  return WORDS[reason];
}
