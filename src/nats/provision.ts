import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { assertOptions, type OptionNames } from '../option-names.ts';
import type { NatsClient } from './client.ts';
import { askJetStream, FAULT, rejection } from './jet-stream-api.ts';
import { type LedgerStreamOptions, planLedgerStreams, planWorkerStreams } from './ledger-streams.ts';
import { assertKeepsLedger } from './server-fit.ts';
import { type ProvisionOptions, planStreams, type StreamPlan, type StreamSetting } from './streams.ts';

/** A setting that is not what it should be. */
export interface SettingDifference {
  readonly setting: string;
  readonly wanted: StreamSetting;
  /** Undefined where the server does not know the setting: it was dropped without a word. */
  readonly found: unknown;
  /** Whether the stream serves without it. */
  readonly isRequired: boolean;
}

/** What became of one stream. */
export interface StreamReport {
  readonly name: string;
  readonly purpose: string;
  /** `missing` only where nothing was to be made. */
  readonly state: 'created' | 'present' | 'missing';
  readonly differences: readonly SettingDifference[];
}

/** What provisioning found or made. */
export interface ProvisionReport {
  readonly server: { readonly version: string; readonly apiLevel: number };
  readonly streams: readonly StreamReport[];
  /**
   * `ready`: all as it should be. `degraded`: events go, something wished for is missing. `unfit`: a stream is
   * missing or differs in what events need.
   */
  readonly verdict: 'ready' | 'degraded' | 'unfit';
}

interface ProvisionRequest extends ProvisionOptions, LedgerStreamOptions {
  /** First token of every subject. Default `swm`. */
  readonly subjectRoot?: string;
  /** Copies in a cluster. Default 1. */
  readonly replicas?: number;
  /** The streams of a ledger too, and of workers on it. Default false. */
  readonly ledger?: boolean;
  /** Makes nothing. Default false. */
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
}

const OPTIONS: OptionNames<ProvisionRequest> = {
  subjectRoot: true,
  replicas: true,
  eventDays: true,
  maxEventBytes: true,
  maxArtifactBytes: true,
  maxLedgerBytes: true,
  maxLedgerArtifactBytes: true,
  ledger: true,
  dryRun: true,
  signal: true,
};

/**
 * Makes the streams that are missing, or only looks (`dryRun`), and compares what the server says they are with what
 * was asked for: an old one drops what it does not know. A stream that is there already is never changed.
 * @throws SwarmError 'invalid-definition', 'nats-unavailable', 'nats-rejected'; 'nats-unsuitable' for a ledger on an old
 * server
 */
export async function provision(
  client: NatsClient,
  options: ProvisionRequest = {},
): Promise<ProvisionReport> {
  assertOptions('provision', options, OPTIONS);
  const { ledger = false, dryRun = false, signal = AbortSignal.timeout(10_000), ...plan } = options;
  await client.connected(signal);
  // Before anything is made: an old server would make streams that are no use.
  if (ledger) assertKeepsLedger(client.server);
  const plans = [
    ...planStreams(plan),
    ...(ledger ? [...planLedgerStreams(plan), ...planWorkerStreams(plan)] : []),
  ];
  const streams: StreamReport[] = [];
  for (const wanted of plans) streams.push(await settleStream(client, wanted, dryRun, signal));
  const { version = 'unknown', apiLevel = 0 } = client.server ?? {};
  const isUnfit = streams.some(
    ({ state, differences }) => state === 'missing' || differences.some(({ isRequired }) => isRequired),
  );
  const isLess = streams.some(({ differences }) => differences.length > 0);
  return {
    server: { version, apiLevel },
    streams,
    verdict: isUnfit ? 'unfit' : isLess ? 'degraded' : 'ready',
  };
}

/**
 * Workers keep their ledger on the server, which takes one that can store a batch whole.
 * @throws SwarmError 'nats-unsuitable' naming the version that was found
 */
export async function assertFitForWorkers(client: NatsClient, signal: AbortSignal): Promise<void> {
  await client.connected(signal);
  assertKeepsLedger(client.server);
}

const infoSchema = z.object({ config: z.record(z.string(), z.unknown()) });

/** Makes one stream, or only looks. @throws SwarmError 'nats-unavailable', 'nats-rejected' */
export async function settleStream(
  client: NatsClient,
  plan: StreamPlan,
  dryRun: boolean,
  signal: AbortSignal,
): Promise<StreamReport> {
  const { name, purpose } = plan;
  const known = await askJetStream(client, `STREAM.INFO.${name}`, {}, signal);
  if (known.type === 'answer') {
    return { name, purpose, state: 'present', differences: differencesOf(plan, known.body) };
  }
  if (known.fault.code !== FAULT.streamNotFound) throw rejection(`looking for ${name}`, known.fault);
  if (dryRun) return { name, purpose, state: 'missing', differences: [] };
  const config = { name, ...plan.required, ...plan.wished };
  const made = await askJetStream(client, `STREAM.CREATE.${name}`, config, signal);
  if (made.type === 'fault') throw rejection(`making ${name}`, made.fault);
  return { name, purpose, state: 'created', differences: differencesOf(plan, made.body) };
}

function differencesOf(plan: StreamPlan, answer: object): readonly SettingDifference[] {
  const parsed = infoSchema.safeParse(answer);
  const echoed = parsed.success ? parsed.data.config : {};
  const compare = (settings: StreamPlan['required'], isRequired: boolean) =>
    Object.entries(settings)
      .filter(([setting, wanted]) => !isSame(wanted, echoed[setting]))
      .map(([setting, wanted]) => ({ setting, wanted, found: echoed[setting], isRequired }));
  return [...compare(plan.required, true), ...compare(plan.wished, false)];
}

/** The server adds entries of its own to a map, and leaves out what is off. */
function isSame(wanted: StreamSetting, found: unknown): boolean {
  if (typeof wanted !== 'object' || Array.isArray(wanted)) {
    return isDeepStrictEqual(wanted, found) || (wanted === false && found === undefined);
  }
  if (typeof found !== 'object' || found === null) return false;
  const entries = new Map(Object.entries(found));
  return Object.entries(wanted).every(([key, value]) => entries.get(key) === value);
}
