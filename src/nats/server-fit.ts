import { SwarmError } from '../errors.ts';
import type { NatsServerFacts } from './client.ts';

/** Level of the JetStream API with batches that are stored whole or not at all, under a condition. */
const API_LEVEL = 2;
/** Oldest release of that level whose batches hold what is asked of them. */
const OLDEST = [2, 12, 1] as const;

/**
 * A server that can keep a ledger, which workers need too.
 * @throws SwarmError 'nats-unsuitable' naming what was found
 */
export function assertKeepsLedger(server: Pick<NatsServerFacts, 'version' | 'apiLevel'> | undefined): void {
  const { version = 'unknown', apiLevel = 0 } = server ?? {};
  if (apiLevel >= API_LEVEL && !isOlder(version)) return;
  throw new SwarmError(
    'nats-unsuitable',
    `workers and ledgers need nats-server ${OLDEST.join('.')} or later (JetStream API level ${API_LEVEL}), ` +
      `this is ${version} (level ${apiLevel})`,
  );
}

/** Versions that are no three numbers are judged by their level alone. */
function isOlder(version: string): boolean {
  const parts = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number);
  if (parts === undefined) return false;
  for (const [index, least] of OLDEST.entries()) {
    const part = parts[index] ?? 0;
    if (part !== least) return part < least;
  }
  return false;
}
