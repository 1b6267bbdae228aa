import type { MachineSet } from '../../machines/machine-kind.ts';
import { systemClock } from '../clock.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { LedgerRecord } from '../ledger/records.ts';
import type { Inspector } from '../lifecycle/inspector.ts';
import { createLifecycleHost } from '../lifecycle/lifecycle-host.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';
import { LedgerPlayer } from './ledger-player.ts';

/** Records after which a viewer gets the time to take what it was shown. */
const PACE = 20;

/** Options of {@link replayLedger}. */
export interface ReplayOptions {
  /** Only the sessions of one run: the id of its root. Default: all of the ledger. */
  readonly root?: string;
  /** Machines the runtime ran, where they were not its own. */
  readonly machines?: Partial<MachineSet>;
  /** Ends the replay early. */
  readonly signal?: AbortSignal;
}

const OPTIONS: OptionNames<ReplayOptions> = { root: true, machines: true, signal: true };

/** An inspector that can say when it has caught up; one that cannot is never waited for. */
export type ReplayTarget = Inspector & { flushed?(): Promise<unknown> };

/**
 * Shows a recorded ledger to an inspector as if it ran now: machines are led through its facts in the order in which
 * they were written, each at the time of its fact. Nothing is executed. What is open in the ledger stays open.
 *
 * Facts are fewer than transitions, so a path may be shorter than the one that was taken; it ends in the same state.
 * @returns how many records were shown
 * @throws SwarmError 'invalid-definition' for an unknown option
 * @example
 * await using ledger = await sqliteLedger({ path: 'swarm.db' });
 * const inspector = stately();
 * await replayLedger(ledger, inspector);
 * await inspector.close();
 */
export async function replayLedger(
  ledger: Ledger,
  inspector: ReplayTarget,
  options: ReplayOptions = {},
): Promise<number> {
  assertOptions('replayLedger', options, OPTIONS);
  let at = 0;
  const host = createLifecycleHost({
    clock: { ...systemClock, now: () => at },
    ...(options.machines === undefined ? {} : { machines: options.machines }),
    observe: (record) => inspector.observe(record),
  });
  inspector.attach?.(() => host.registry.snapshot(), host.machines);
  const player = new LedgerPlayer(host);
  let shown = 0;
  for await (const record of recordsOf(ledger, options)) {
    at = record.at;
    player.play(record);
    shown += 1;
    if (shown % PACE === 0) await inspector.flushed?.();
  }
  player.finish();
  await inspector.flushed?.();
  return shown;
}

/** All records there are, in the order of their commits. */
async function* recordsOf(ledger: Ledger, { root, signal }: ReplayOptions): AsyncGenerator<LedgerRecord> {
  const end = await ledger.position();
  if (end === 0) return;
  const stop = new AbortController();
  const until = signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]);
  try {
    for await (const { pos, record } of ledger.tail(0, until)) {
      if (root === undefined || record.root === root) yield record;
      if (pos >= end) return;
    }
  } finally {
    stop.abort();
  }
}
