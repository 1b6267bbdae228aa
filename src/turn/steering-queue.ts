import type { LedgerRecord, NewRecord } from '../ledger/records.ts';

/** What became of a steering text. */
export type SteeringOutcome =
  | { readonly delivered: true; readonly stepId: string }
  | { readonly delivered: false; readonly reason: string };

interface Waiting {
  readonly id: string;
  readonly text: string;
  resolve(outcome: SteeringOutcome): void;
}

/**
 * Texts for a turn under way. Each is durable before it is queued, is taken into exactly one step, and is
 * answered exactly once: with the step that carried it, or with why none did. Its identity is its id, so the
 * same text twice is injected twice.
 */
export interface SteeringQueue {
  /** Texts that wait. */
  readonly size: number;
  /** Texts that wait or are on their way to it. */
  readonly load: number;
  /** Announces a text whose acceptance is being made durable; call the result when it is queued or refused. */
  expect(): () => void;
  /** Resolves when no announced text is on its way. */
  ready(): Promise<void>;
  /** Queues an accepted text. Resolves when a request carries it or the turn ends. */
  add(id: string, text: string): Promise<SteeringOutcome>;
  /** Takes all that wait; give them to `injected` or put them back by `undo`. */
  take(): SteeringLease | undefined;
  /** Everything that still waits, as the fact that says so; resolves their promises when told. */
  close(reason: string): { readonly records: readonly NewRecord[]; resolve(): void };
}

/** Texts on their way into a step. */
export interface SteeringLease {
  readonly ids: readonly string[];
  readonly texts: readonly string[];
  injected(stepId: string): void;
  undo(): void;
}

/** `accepted` are facts of an earlier process that no step has carried. */
export function createSteeringQueue(
  turnId: string,
  accepted: readonly Extract<LedgerRecord, { type: 'steering.accepted' }>[] = [],
): SteeringQueue {
  let waiting: Waiting[] = accepted.map((record) => ({
    id: record.data.id,
    text: record.data.text,
    resolve: () => undefined,
  }));
  const coming = new Set<Promise<void>>();
  return {
    get size() {
      return waiting.length;
    },
    get load() {
      return waiting.length + coming.size;
    },
    expect() {
      const { promise, resolve } = Promise.withResolvers<void>();
      coming.add(promise);
      return () => {
        coming.delete(promise);
        resolve();
      };
    },
    async ready() {
      while (coming.size > 0) await Promise.all(coming);
    },
    add(id, text) {
      return new Promise((resolve) => waiting.push({ id, text, resolve }));
    },
    take() {
      if (waiting.length === 0) return undefined;
      const taken = waiting;
      waiting = [];
      return {
        ids: taken.map((one) => one.id),
        texts: taken.map((one) => one.text),
        injected: (stepId) => {
          for (const one of taken) one.resolve({ delivered: true, stepId });
        },
        undo: () => {
          waiting = [...taken, ...waiting];
        },
      };
    },
    close(reason) {
      const left = waiting;
      waiting = [];
      const ids = left.map((one) => one.id);
      return {
        records:
          ids.length === 0 ? [] : [{ type: 'steering.undelivered', turn: turnId, data: { ids, reason } }],
        resolve: () => {
          for (const one of left) one.resolve({ delivered: false, reason });
        },
      };
    },
  };
}
