import type { LedgerRecord, NewRecord } from '../ledger/records.ts';
import type { SessionLog } from '../ledger/session-log.ts';
import { effectsOf } from '../lifecycle/effect-runner.ts';
import type { HookRunner } from '../lifecycle/hook-runner.ts';
import type { Hooks } from '../lifecycle/hooks.ts';

/** Runs the effects of one session's facts in their order, beside the turn, and records which are done. */
export interface EffectQueue {
  /** Facts became durable. */
  committed(records: readonly LedgerRecord[]): void;
  /** Facts an earlier process left; those whose effects are not done run again, with the same id. */
  recover(records: readonly LedgerRecord[], done: ReadonlySet<string>): void;
  /** Whether somebody wants to see to facts of these types. */
  isWanted(records: readonly NewRecord[]): boolean;
  /** Resolves when every effect so far ran and is recorded. */
  idle(): Promise<void>;
}

export interface EffectQueueOptions {
  readonly log: Pick<SessionLog, 'commit'>;
  readonly hooks: () => readonly Hooks[];
  readonly runner: HookRunner;
  readonly signal: AbortSignal;
}

const NONE: ReadonlySet<string> = new Set();

export function createEffectQueue(options: EffectQueueOptions): EffectQueue {
  let last: Promise<void> = Promise.resolve();
  const queued = new Set<string>();

  function enqueue(record: LedgerRecord, done: ReadonlySet<string>): void {
    const hooks = options.hooks();
    if (queued.has(record.id) || effectsOf(hooks, record.type).length === 0) return;
    queued.add(record.id);
    last = last.then(() => runOne(hooks, record, done));
  }

  async function runOne(
    hooks: readonly Hooks[],
    fact: LedgerRecord,
    done: ReadonlySet<string>,
  ): Promise<void> {
    const { finished } = await options.runner.effects(hooks, fact, { done, signal: options.signal });
    const records: NewRecord[] = finished.map((hook) => ({
      type: 'effect.done',
      data: { hook, fact: fact.id },
    }));
    // Without the record the effect runs again with the same id: at least once is what is promised.
    if (records.length > 0) await options.log.commit(records).catch(() => undefined);
    queued.delete(fact.id);
  }

  return {
    committed(records) {
      for (const record of records) enqueue(record, NONE);
    },
    recover(records, done) {
      for (const record of records) enqueue(record, done);
    },
    isWanted: (records) => records.some(({ type }) => effectsOf(options.hooks(), type).length > 0),
    async idle() {
      let seen: Promise<void> | undefined;
      while (seen !== last) {
        seen = last;
        await seen;
      }
    },
  };
}
