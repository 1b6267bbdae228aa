import { NATS_LIMITS } from '../limits.ts';
import { NANOS_PER_MS } from './jet-stream-api.ts';
import type { StreamPlan } from './streams.ts';

const GIB = 1024 ** 3;

/** Records of all sessions, and who owns them. */
export const LEDGER_STREAM = 'SWM_LED';
/** Messages to the owners of sessions, with their answers. */
export const MAILBOX_STREAM = 'SWM_MBX';
/** Which processes are alive, and how far readers of the ledger are. */
export const OWNER_STREAM = 'SWM_OWN';
/** Bucket of the artifacts that records refer to. They live as long as the records, unlike those of events. */
export const LEDGER_BUCKET = 'SWM_LAR';

/** Turns that wait for a worker, at most one of each session. */
export const QUEUE_STREAM = 'SWM_Q';
/** What no worker could bring to an end. */
export const DEAD_LETTER_STREAM = 'SWM_DLQ';

/** Options of {@link planLedgerStreams}. */
export interface LedgerStreamOptions {
  /** First token of every subject. Default `swm`. */
  readonly subjectRoot?: string | undefined;
  /** Copies in a cluster. Default 1. */
  readonly replicas?: number;
  /** Bytes of records. When they are used up, appends wait for room as for a server that is away. Default 10 GiB. */
  readonly maxLedgerBytes?: number;
  /** Bytes of artifacts. Default 4 GiB. */
  readonly maxLedgerArtifactBytes?: number;
}

/** The streams of a ledger. Nothing in them goes by itself but messages to owners, answers and signs of life. */
export function planLedgerStreams(options: LedgerStreamOptions = {}): readonly StreamPlan[] {
  const { subjectRoot = 'swm', replicas = 1 } = options;
  const { maxLedgerBytes = 10 * GIB, maxLedgerArtifactBytes = 4 * GIB } = options;
  const common = { storage: 'file', retention: 'limits', discard: 'new', num_replicas: replicas };
  // A condition on the last sequence is the guard, not this window.
  const guarded = { ...common, duplicate_window: NATS_LIMITS.ledgerDuplicateWindowMs * NANOS_PER_MS };
  const base = `${subjectRoot}.v1`;
  return [
    recordStream(base, { ...guarded, max_bytes: maxLedgerBytes }),
    mailboxStream(base, { ...guarded, max_bytes: GIB }),
    ownerStream(base, { ...guarded, max_bytes: GIB / 4 }),
    artifactStream({ ...common, max_bytes: maxLedgerArtifactBytes }),
  ];
}

const WISHED = { metadata: { 'swm.schema': '1' } };

function recordStream(base: string, common: StreamPlan['required']): StreamPlan {
  return {
    name: LEDGER_STREAM,
    purpose: 'records of sessions',
    required: {
      ...common,
      subjects: [`${base}.*.led.*`],
      allow_direct: true,
      allow_atomic: true,
      deny_delete: true,
      // Who follows a session hears of it alone, and of what is stored, not of what was sent.
      republish: { src: `${base}.*.led.*`, dest: `${base}.{{wildcard(1)}}.rec.{{wildcard(2)}}` },
    },
    wished: WISHED,
  };
}

function mailboxStream(base: string, common: StreamPlan['required']): StreamPlan {
  return {
    name: MAILBOX_STREAM,
    purpose: 'messages to the owners of sessions',
    required: {
      ...common,
      subjects: [`${base}.*.mbx.*.*`],
      max_age: NATS_LIMITS.mailboxMs * NANOS_PER_MS,
      max_msgs_per_subject: 1,
      allow_direct: true,
      allow_msg_ttl: true,
    },
    wished: WISHED,
  };
}

function ownerStream(base: string, common: StreamPlan['required']): StreamPlan {
  return {
    name: OWNER_STREAM,
    purpose: 'live processes and places of readers',
    required: {
      ...common,
      subjects: [`${base}.*.own.*`, `${base}.*.cur.*`],
      max_msgs_per_subject: 1,
      allow_direct: true,
      allow_msg_ttl: true,
    },
    wished: WISHED,
  };
}

function artifactStream(common: StreamPlan['required']): StreamPlan {
  return {
    name: `OBJ_${LEDGER_BUCKET}`,
    purpose: 'artifacts that records refer to',
    required: {
      ...common,
      subjects: [`$O.${LEDGER_BUCKET}.C.>`, `$O.${LEDGER_BUCKET}.M.>`],
      allow_direct: true,
      allow_rollup_hdrs: true,
    },
    wished: WISHED,
  };
}

/** The streams of workers on a ledger. */
export function planWorkerStreams(options: LedgerStreamOptions = {}): readonly StreamPlan[] {
  const { subjectRoot = 'swm', replicas = 1 } = options;
  const common = { storage: 'file', num_replicas: replicas, max_bytes: GIB };
  return [
    {
      name: QUEUE_STREAM,
      purpose: 'turns that wait for a worker',
      required: {
        ...common,
        subjects: [`${subjectRoot}.v1.*.q.turn.*.*`],
        retention: 'workqueue',
        discard: 'new',
        max_msgs: NATS_LIMITS.queuedTurns,
        max_age: NATS_LIMITS.queueMs * NANOS_PER_MS,
        // A turn counts until it is acknowledged: the next one of its session is refused as long.
        max_msgs_per_subject: 1,
        discard_new_per_subject: true,
        duplicate_window: NATS_LIMITS.ledgerDuplicateWindowMs * NANOS_PER_MS,
      },
      wished: WISHED,
    },
    {
      name: DEAD_LETTER_STREAM,
      purpose: 'turns that came to no end',
      required: {
        ...common,
        subjects: [`${subjectRoot}.v1.*.dlq.*.*`],
        retention: 'limits',
        discard: 'old',
        max_age: NATS_LIMITS.deadLetterMs * NANOS_PER_MS,
      },
      wished: WISHED,
    },
  ];
}
