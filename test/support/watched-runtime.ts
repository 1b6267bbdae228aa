import { onTestFinished } from 'vitest';
import type { RuntimeOptions } from '../../src/agent/runtime-options.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import type { TransitionRecord } from '../../src/lifecycle/transition-record.ts';
import { createRuntime, type Runtime } from '../../src/runtime.ts';

/** A runtime, its ledger, and every transition of its machines. */
export interface WatchedRuntime {
  readonly runtime: Runtime;
  readonly ledger: Ledger;
  readonly transitions: readonly TransitionRecord[];
  /** Events that met a state which does not accept them, and machines that threw; none is the rule. */
  readonly misfits: readonly string[];
}

/** Starts a runtime whose machines are watched; it is closed with the test. */
export function watchedRuntime(options: Omit<RuntimeOptions, 'inspect'> = {}): WatchedRuntime {
  const transitions: TransitionRecord[] = [];
  const misfits: string[] = [];
  const ledger = (options.ledger ?? memoryLedger()) as Ledger;
  const runtime = createRuntime({
    ...options,
    ledger,
    inspect: {
      observe(record) {
        transitions.push(record);
        if (record.illegal === true || record.fault === true) {
          misfits.push(`${record.kind} ${record.id}: ${record.event} in ${record.from}`);
        }
      },
    },
  });
  onTestFinished(() => runtime.close());
  return { runtime, ledger, transitions, misfits };
}
