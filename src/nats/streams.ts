import { NATS_LIMITS } from '../limits.ts';
import { NANOS_PER_MS } from './jet-stream-api.ts';

const DAY_MS = 86_400_000;
const GIB = 1024 ** 3;

/** A setting as JetStream's JSON has it. */
export type StreamSetting = string | number | boolean | readonly string[] | Readonly<Record<string, string>>;

/** A stream as it has to be. */
export interface StreamPlan {
  readonly name: string;
  readonly purpose: string;
  /** Without one of these the stream is no use. */
  readonly required: Readonly<Record<string, StreamSetting>>;
  /** What an older server drops, and events go on without. */
  readonly wished: Readonly<Record<string, StreamSetting>>;
}

/** Options of {@link planStreams}. */
export interface ProvisionOptions {
  /** First token of every subject. Default `swm`. */
  readonly subjectRoot?: string;
  /** Copies in a cluster. Default 1. */
  readonly replicas?: number;
  /** How long events are kept. Default 7. */
  readonly eventDays?: number;
  /** Bytes of events; the oldest go first. Default 10 GiB. */
  readonly maxEventBytes?: number;
  /** Bytes of artifacts. Default 4 GiB. */
  readonly maxArtifactBytes?: number;
}

/** Stream of lifecycle events. */
export const EVENT_STREAM = 'SWM_EVT';
/** Bucket of what is too large for an event. */
export const ARTIFACT_BUCKET = 'SWM_ART';

/** The streams that events need; the second one is the bucket of artifacts. */
export function planStreams(options: ProvisionOptions = {}): readonly StreamPlan[] {
  const { subjectRoot = 'swm', replicas = 1, eventDays = 7 } = options;
  const { maxEventBytes = 10 * GIB, maxArtifactBytes = 4 * GIB } = options;
  const age = eventDays * DAY_MS * NANOS_PER_MS;
  const common = { storage: 'file', retention: 'limits', num_replicas: replicas, max_age: age };
  return [
    {
      name: EVENT_STREAM,
      purpose: 'lifecycle events',
      required: {
        ...common,
        subjects: [`${subjectRoot}.v1.*.evt.>`],
        discard: 'old',
        max_bytes: maxEventBytes,
        // Beyond the bound of an event: the server counts its headers.
        max_msg_size: NATS_LIMITS.maxEventBytes + 8 * 1024,
        duplicate_window: NATS_LIMITS.duplicateWindowMs * NANOS_PER_MS,
        allow_direct: true,
        deny_delete: true,
      },
      wished: { compression: 's2', metadata: { 'swm.schema': '1' } },
    },
    {
      name: `OBJ_${ARTIFACT_BUCKET}`,
      purpose: 'artifacts that events refer to',
      required: {
        ...common,
        subjects: [`$O.${ARTIFACT_BUCKET}.C.>`, `$O.${ARTIFACT_BUCKET}.M.>`],
        discard: 'new',
        max_bytes: maxArtifactBytes,
        allow_direct: true,
        allow_rollup_hdrs: true,
      },
      wished: { metadata: { 'swm.schema': '1' } },
    },
  ];
}
