import type { SessionSummary } from '../ledger/ledger.ts';

/**
 * Those of `sessions` that are a session or hang from it. Ancestors that are not among them are passed over, but for
 * the root.
 */
export function withinTree(
  sessions: readonly SessionSummary[],
  sessionId: string,
): readonly SessionSummary[] {
  const parents = new Map(sessions.map((one) => [one.sessionId, one.parentId]));
  return sessions.filter((one) => {
    if (one.rootId === sessionId) return true;
    for (let id: string | undefined = one.sessionId; id !== undefined; id = parents.get(id)) {
      if (id === sessionId) return true;
    }
    return false;
  });
}
