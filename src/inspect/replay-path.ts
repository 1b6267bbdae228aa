import type { MachineSet } from '../../machines/machine-kind.ts';
import { systemClock } from '../clock.ts';
import type { LedgerRecord } from '../ledger/records.ts';
import { createLifecycleHost } from '../lifecycle/lifecycle-host.ts';
import type { TransitionRecord } from '../lifecycle/transition-record.ts';
import { LedgerPlayer } from './ledger-player.ts';

/**
 * The transitions of one machine that the facts of its session tell of, each at the time of its fact: the way of a
 * finished run, or of an earlier moment of any. `records` are those of the session up to that moment. Empty for an
 * instance they do not know.
 *
 * Facts are fewer than transitions, so the path may be shorter than the one that was taken; it ends in the same state.
 */
export function replayPath(
  id: string,
  records: readonly LedgerRecord[],
  machines?: Partial<MachineSet>,
): readonly TransitionRecord[] {
  const path: TransitionRecord[] = [];
  let at = 0;
  const host = createLifecycleHost({
    clock: { ...systemClock, now: () => at },
    ...(machines === undefined ? {} : { machines }),
    observe: (record) => {
      if (record.id === id) path.push(record);
    },
  });
  const player = new LedgerPlayer(host);
  const turn = turnIn(id);
  for (const record of records) {
    // The machines of other turns have no part in it, and a session may have many.
    if (turn !== undefined && record.turn !== undefined && record.turn !== turn) continue;
    at = record.at;
    player.play(record);
  }
  host.stopAll();
  return path;
}

/** The turn that an id of a turn, step or call begins with; undefined where it is that of a whole session. */
function turnIn(id: string): string | undefined {
  return /^[^.]+\.\d+/.exec(id)?.[0];
}
