import { SwarmError } from '../errors.ts';
import type { NatsClient } from './client.ts';
import { type LedgerStreamOptions, planLedgerStreams } from './ledger-streams.ts';
import { type StreamReport, settleStream, WORKER_API_LEVEL } from './provision.ts';

/** Oldest release whose batches hold what the ledger asks of them. */
const OLDEST = [2, 12, 1] as const;

/**
 * Makes the streams of a ledger where they are missing, or only looks (`dryRun`). One that is there is never changed.
 * For whoever sets a server up: opening a ledger makes nothing.
 * @throws SwarmError 'nats-unsuitable' naming the version that was found; 'nats-unavailable', 'nats-rejected'
 */
export async function provisionLedger(
  client: NatsClient,
  options: LedgerStreamOptions & { readonly dryRun?: boolean; readonly signal?: AbortSignal } = {},
): Promise<readonly StreamReport[]> {
  const { dryRun = false, signal = AbortSignal.timeout(10_000), ...plan } = options;
  await client.connected(signal);
  assertLedgerServer(client.server);
  const reports: StreamReport[] = [];
  for (const wanted of planLedgerStreams(plan)) {
    reports.push(await settleStream(client, wanted, dryRun, signal));
  }
  return reports;
}

/**
 * A server that can store a batch whole or not at all, under a condition.
 * @throws SwarmError 'nats-unsuitable' naming what was found
 */
export function assertLedgerServer(
  server: { readonly version: string; readonly apiLevel: number } | undefined,
): void {
  const { version = 'unknown', apiLevel = 0 } = server ?? {};
  if (apiLevel >= WORKER_API_LEVEL && !isOlder(version)) return;
  const found = `this is ${version} with level ${apiLevel}`;
  throw new SwarmError(
    'nats-unsuitable',
    `a ledger needs nats-server ${OLDEST.join('.')} or later (JetStream API level ${WORKER_API_LEVEL}), ${found}`,
  );
}

/**
 * The streams as a ledger needs them. Bounds and copies are whoever set them up to choose.
 * @throws SwarmError 'nats-unsuitable' naming what is missing or different
 */
export async function assertLedgerStreams(
  client: NatsClient,
  options: Pick<LedgerStreamOptions, 'subjectRoot'>,
  signal: AbortSignal,
): Promise<void> {
  const reports = await provisionLedger(client, { ...options, dryRun: true, signal });
  const faults = reports.flatMap(({ name, state, differences }) => [
    ...(state === 'missing' ? [`the stream ${name} is missing`] : []),
    ...differences
      .filter(({ isRequired, setting }) => isRequired && !CHOSEN.has(setting))
      .map(({ setting }) => `${setting} of the stream ${name} is another one`),
  ]);
  if (faults.length === 0) return;
  throw new SwarmError('nats-unsuitable', `${faults.join(', ')}: provisionLedger makes what is missing`);
}

const CHOSEN: ReadonlySet<string> = new Set(['max_bytes', 'max_age', 'num_replicas', 'duplicate_window']);

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
