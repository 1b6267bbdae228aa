import type { IdSource } from '../ids.ts';

/**
 * Ids that count: `session0001`, `run0001`, `session0002`. The same program asks in the same order, so ids in
 * snapshots and golden files stay put.
 */
export function sequentialIds(): IdSource {
  const counts = new Map<string, number>();
  return {
    next(kind) {
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      return `${kind}${String(count).padStart(4, '0')}`;
    },
  };
}
