import { SwarmError } from '../errors.ts';
import type { NatsClient } from './client.ts';
import { planLedgerStreams } from './ledger-streams.ts';
import { type StreamReport, settleStream } from './provision.ts';
import { assertKeepsLedger } from './server-fit.ts';

/** Settings that are for whoever set the server up to choose. */
const CHOSEN: ReadonlySet<string> = new Set(['max_bytes', 'max_age', 'num_replicas', 'duplicate_window']);

const MAKE =
  '`provision` with `ledger: true` makes what is missing, as does `swarmwright nats init --ledger`';
const COMPARE =
  '`swarmwright nats init --ledger --dry-run` tells what it should be; a stream that is there is never changed';

/**
 * Looks whether a server and its streams are such that a ledger can be kept there. Makes nothing.
 * @throws SwarmError 'nats-unsuitable' naming what is missing or different; 'nats-unavailable', 'nats-rejected'
 */
export async function assertFitForLedger(
  client: NatsClient,
  subjectRoot: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  await client.connected(signal);
  assertKeepsLedger(client.server);
  const reports: StreamReport[] = [];
  for (const plan of planLedgerStreams({ subjectRoot })) {
    reports.push(await settleStream(client, plan, true, signal));
  }
  const faults = reports.flatMap(faultsOf);
  if (faults.length === 0) return;
  const advice = reports.some(({ state }) => state === 'missing') ? MAKE : COMPARE;
  throw new SwarmError('nats-unsuitable', `${faults.join(', ')}: ${advice}`);
}

function faultsOf({ name, state, differences }: StreamReport): readonly string[] {
  if (state === 'missing') return [`the stream ${name} is missing`];
  return differences
    .filter(({ isRequired, setting }) => isRequired && !CHOSEN.has(setting))
    .map(({ setting }) => `${setting} of the stream ${name} is another one`);
}
