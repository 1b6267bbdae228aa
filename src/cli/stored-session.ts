import type { Ledger } from '../ledger/ledger.ts';

/** A session that is to go on. */
export interface StoredSession {
  readonly id: string;
  /** Name of the agent, swarm or graph whose it is; of a child, whose its run is. */
  readonly agent: string;
}

/** Whose a session is, or undefined where the ledger does not know it. */
export async function readStoredSession(
  ledger: Pick<Ledger, 'read'>,
  id: string,
): Promise<StoredSession | undefined> {
  const [first] = await ledger.read(id);
  const [root] = first?.parent === undefined ? [first] : await ledger.read(first.root);
  return root === undefined ? undefined : { id, agent: root.agent };
}
