import { SwarmError } from './errors.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * Every bound of the runtime with its default. A bound that is hit has a typed outcome, never a silent cut.
 * `Infinity` lifts a bound where it is a number of things; negative and `NaN` throw `invalid-limit`.
 */
export const DEFAULT_LIMITS = {
  /** Steps an agent may take in one turn. */
  steps: 50,
  /** Calls of one step that execute at once. */
  toolConcurrency: Number.POSITIVE_INFINITY,
  /** Child sessions of one agent at once; the next wait in order. */
  fanOut: 8,
  /** Children waiting for a place of `fanOut`. */
  fanOutQueue: 1_000,
  /** Levels of children below the root. */
  depth: 3,
  /** Agents of one run, the root included. */
  agents: 64,
  /** Handoffs of one run. */
  handoffs: 8,
  /** Works of a schedule that are newly begun in one pass over it. */
  activations: 32,
  swarm: {
    /** Bytes of one result that a work is handed on. */
    resultBytes: 16 * KIB,
    /** Bytes of all results that a work is handed on. */
    inputBytes: 48 * KIB,
    /** Turns a supervisor is given to hear of one state of its schedule, should they fail. */
    wakeAttempts: 3,
  },
  /** Times a session whose turn broke by a fault of the runtime is taken up again, within the window. */
  supervision: { maxRestarts: 3, windowMs: 30_000 },
  /** Inputs waiting in the mailbox of a session. */
  mailbox: 1_000,
  /** Steering texts accepted and not yet injected. */
  steeringQueue: 100,
  /** Tools visible in one request; providers refuse more. */
  visibleTools: 128,
  /** Tools of live sources in one turn; the rest is left out and told of. */
  liveTools: 2_000,
  tools: {
    /** Time an implementation has before its signal aborts. */
    timeoutMs: 600_000,
    /** Time it then has to return before it counts as abandoned. */
    graceMs: 5_000,
    /** Lines of a result that a model sees. */
    maxResultLines: 2_000,
    /** Bytes of a result that a model sees; all of it is kept as an artifact. */
    maxResultBytes: 50 * KIB,
    /** Characters of an error text, everywhere. */
    maxErrorChars: 4_000,
    /** Progress facts of one call. */
    maxProgressEvents: 64,
    /** Characters of all progress texts of one call. */
    maxProgressChars: 8_192,
    /** Least time between two progress facts of one call. */
    progressIntervalMs: 1_000,
    /** Identical failing calls in a row; the next one is blocked without running. */
    identicalFailures: 2,
    /** Model requests that mending the calls of one step may take. */
    maxRepairs: 8,
  },
  context: {
    /** Tokens of the window kept for the answer, at most; a quarter of a small window. */
    reserveTokens: 16_384,
    /** Share of the room for a prompt that results of one turn may take before they are left out. */
    resultShare: 0.5,
    /** Shorter results are never left out. */
    minPrunedChars: 1_000,
    /** Share of the room for a prompt that stays as it is when history before it is folded. */
    tailShare: 0.25,
    /** Tokens of a summary. */
    summaryTokens: 4_096,
    /** Requests for one summary. */
    summaryAttempts: 3,
    /** Time one of them may take. */
    summaryMs: 120_000,
  },
  graph: {
    /** Works newly begun in one pass over a schedule; the rest waits for the next. */
    activations: 32,
    /** Items of one map. */
    items: 10_000,
  },
  arguments: { maxBytes: MIB, maxDepth: 64, maxKeys: 10_000 },
  approvals: {
    /** Time a person has to decide. 0 never expires. */
    expiryMs: 24 * 3_600_000,
    /** Characters of a reason that reaches the model. */
    maxReasonChars: 500,
    /** Open requests of one session. */
    maxOpen: 256,
  },
  attempts: {
    /** Physical requests of one step. */
    max: 10,
    baseDelayMs: 1_000,
    maxDelayMs: 32_000,
    /** Share of the delay added at random. */
    jitter: 0.25,
    /** Retries of a 429 that names no time to wait. */
    rateLimitWithoutHint: 1,
    /** A longer `Retry-After` than this ends the step instead of waiting. */
    maxRetryAfterMs: 600_000,
    /** Retries of a step whose stream fell silent. */
    idle: 1,
    /** Retries of a step whose stream ended without an end. */
    truncated: 1,
  },
  timeouts: {
    /** Time to the first part of a response. */
    connectMs: 30_000,
    /** Time between two parts. */
    idleMs: 120_000,
    /** Time a gate hook has. */
    gateMs: 30_000,
    /** Time a model has to mend a call. */
    repairMs: 30_000,
    /** Time an observer hook is waited for before it counts as hung. Turns never wait for it. */
    observerMs: 5_000,
    /** Time live tool sources have, before a step, to say what they offer. */
    sourceMs: 20_000,
    /** Time a commit may take before its outcome counts as unknown. */
    commitMs: 30_000,
  },
  ledger: {
    maxBatchRecords: 256,
    maxBatchBytes: MIB,
    /** A larger value of a record is stored as an artifact. */
    maxInlineBytes: 64 * KIB,
    maxArtifactBytes: 64 * MIB,
    /** Records of one session; new turns are refused beyond. */
    maxSessionRecords: 50_000,
  },
  events: {
    /** Live parts (text deltas, progress) one slow reader may be behind. */
    maxReaderBacklog: 10_000,
    /** Readers of one run. */
    maxReaders: 64,
    /** Bytes of one event with content; over it the content stays behind. */
    maxEventBytes: 256 * KIB,
    /** Events a sink is handed at once. */
    maxBatchEvents: 256,
    /** Time a sink has to take a batch before it counts as failed. */
    sinkTimeoutMs: 30_000,
    /** First and longest pause before a sink that failed is asked again. */
    sinkBackoffMs: 100,
    maxSinkBackoffMs: 30_000,
    /** Time sinks have to catch up when the runtime closes. */
    drainMs: 5_000,
  },
} as const;

/** Bounds of one provider response. They belong to a model, not to a run, and are options of the model. */
export const RESPONSE_LIMITS = {
  /** Bytes, or characters of what was decoded from them. */
  maxBytes: 32 * MIB,
  /** Bytes of one line of a stream. */
  maxLineBytes: MIB,
  /** Bytes of an error body that are looked at. */
  maxErrorBytes: 64 * KIB,
  /** Characters of a failure's message or of a warning. */
  maxMessageChars: 1_000,
} as const;

/** Bounds of everything on NATS. They belong to a connection, not to a run. */
export const NATS_LIMITS = {
  /** Bytes of one event on the bus. */
  maxEventBytes: 256 * KIB,
  /** Larger `data` is stored as an artifact that the event refers to. */
  maxInlineDataBytes: 64 * KIB,
  /** Bytes of the body of a command. */
  maxCommandBytes: 256 * KIB,
  /** Time to open a connection. */
  connectMs: 2_000,
  /** First and longest pause between two tries to connect. */
  reconnectMs: 250,
  maxReconnectMs: 5_000,
  /** Silence after which the server is asked whether it is there; the second unanswered question ends it. */
  pingMs: 10_000,
  /** Time the server has to acknowledge a batch of events. */
  ackMs: 5_000,
  /** Longest pause before events are published again after a failure. */
  publishBackoffMs: 2_000,
  /** Time a request of any other kind has. */
  requestMs: 5_000,
  /** Time the owner of a session has to answer a command. */
  commandMs: 15_000,
  /** Commands one process works on at once; the next are answered as refused. */
  commands: 64,
  /** Window in which the server knows a repeated event by its id. */
  duplicateWindowMs: 600_000,
  /** Bytes of text deltas on their way; over it they are dropped. */
  maxDeltaBytes: MIB,
  /** Records a publisher may be behind before it calls itself degraded. */
  degradedLag: 1_000,
  /** Time after which the server forgets a reader that is gone. */
  consumerMs: 300_000,
  /** Time between two messages of a publisher about itself. */
  healthMs: 5_000,
  /** Time a subscriber waits for missing events to be stored before it tells of a gap. */
  gapMs: 2_000,
  /** Sessions of which a subscriber knows the last event. */
  subscriberSessions: 100_000,
  /** Time a closing connection has to send what it holds. */
  drainMs: 5_000,
  /** Window in which the server knows a repeated message to the ledger by its id. */
  ledgerDuplicateWindowMs: 120_000,
  /** Messages of a ledger that are read at once, and their bytes. */
  ledgerPage: 256,
  ledgerPageBytes: 2 * MIB,
  /** Messages of one session, and their bytes, that wait for a follower; beyond that it reads them itself. */
  feedMessages: 64,
  feedBytes: 2 * MIB,
  /** First and longest silence after which a follower looks for what was not passed on to it; it doubles. */
  feedLookMs: 2_000,
  maxFeedLookMs: 30_000,
  /** First and longest pause before an append, or a look at the ledger, is tried again. */
  ledgerBackoffMs: 25,
  maxLedgerBackoffMs: 1_000,
  /** Silence after which the owner of a session counts as gone. At two thirds of it the owner itself lets go. */
  leaseMs: 30_000,
  /** Sessions that were read whole and of which it is remembered how they stand. */
  knownSessions: 256,
  /** Time a message to an owner waits at most, and time its answer is remembered. */
  mailboxMs: 7 * 86_400_000,
  replyMs: 86_400_000,
  /** Silence of a worker after which its turn is given to another. */
  ackWaitMs: 30_000,
  /** First and longest pause before what cannot be worked on now is offered again; it doubles. */
  redeliverMs: 100,
  maxRedeliverMs: 2_000,
  /** Time between two looks for turns that sleep and have something to do. */
  scanMs: 5_000,
  /** Times a turn is taken up without getting any further; it is given up then. */
  claimsWithoutProgress: 3,
  /** Times a turn that nobody has recorded anything of is handed out, until that counts as one that took it up. */
  handoutsPerClaim: 10,
  /** Times somebody is told that a child of a session that is at work has ended. */
  handoutsOfNews: 3,
  /** Time a turn waits in the queue at most, turns that wait, and time dead ones are kept. */
  queueMs: 86_400_000,
  queuedTurns: 100_000,
  deadLetterMs: 30 * 86_400_000,
} as const;

/** Bounds of one MCP server. They belong to a server, not to a run, and are options of the server. */
export const MCP_LIMITS = {
  /** Time it has to start and shake hands. */
  connectMs: 30_000,
  /** Time it has to say whether it speaks the newer protocol; silence means that it does not. */
  probeMs: 5_000,
  /** What it may ask for at once: of a person, of a model. */
  maxRequests: 8,
  /** Time it has to list its tools. */
  listMs: 30_000,
  /** Pages of one list. */
  maxListPages: 64,
  /** Tools of one list; the rest is left out. */
  maxTools: 1_000,
  /** Bytes of one message. */
  maxMessageBytes: 16 * MIB,
  /** First and longest pause before one that died or failed is asked again; the pause doubles. */
  backoffMs: 500,
  maxBackoffMs: 60_000,
  /** One that was up for so long died for the first time when it dies. */
  steadyMs: 60_000,
  /** Time its process has after its input ended, and again after SIGTERM. */
  closeMs: 2_000,
} as const;

/** Bounds of the bridge to the Stately inspector. */
export const STATELY_LIMITS = {
  /** Messages that wait to be sent; over it the oldest are dropped and counted. */
  maxQueued: 2_000,
  /** Messages that wait, from which on of each instance only the newest snapshot does. */
  coalesceFrom: 500,
  /** Transitions on their way to the thread that sends. */
  maxBatch: 256,
  /** Bytes a socket may hold back before it is given more. */
  maxBufferedBytes: MIB,
  /** Time a relay has to take a connection. */
  connectMs: 2_000,
  /** First and longest pause between two tries to connect; the pause doubles. */
  reconnectMs: 250,
  maxReconnectMs: 5_000,
  /** Time a closing bridge has to send what waits, and then to end. */
  closeMs: 1_000,
} as const;

/** Bounds of the local page. They belong to a page, not to a run. */
export const PAGE_LIMITS = {
  /** Transitions kept for viewers that are behind or connect late; the oldest go first, and are counted. */
  moves: 10_000,
  /** Ledger records shown of what lies before; the rest is loaded when a person asks for it. */
  historyRecords: 20_000,
  /** Viewers at once. */
  viewers: 16,
  /** Connections at once, those of viewers included. */
  connections: 64,
  /** Events or transitions in one message to a viewer, and the characters after which it is sent in any case. */
  batch: 250,
  batchChars: 256 * KIB,
  /** Time events wait for company, and so the longest delay of what is shown. */
  flushMs: 50,
  /** Silence after which a viewer is told that the connection is alive. */
  heartbeatMs: 15_000,
  /** Bytes of one request of a viewer. */
  maxBodyBytes: 64 * KIB,
  /** Characters of a steering text or a reason. */
  maxTextChars: 16_000,
  /** Live instances a viewer is told of when it connects. */
  instances: 20_000,
  /** Events of a bus that a page over it keeps, and bytes of their JSON; the oldest go first, and are counted. */
  busEvents: 100_000,
  busBytes: 128 * MIB,
} as const;

type Widen<T> = { readonly [K in keyof T]: T[K] extends number ? number : Widen<T[K]> };

/** All bounds, resolved. */
export type Limits = Widen<typeof DEFAULT_LIMITS>;

/** What an MCP server may be given of its bounds. */
export type McpLimits = Widen<typeof MCP_LIMITS>;

type Partials<T> = { readonly [K in keyof T]?: T[K] extends number ? number : Partials<T[K]> };

/** What a runtime or an agent may say of its bounds; the rest is inherited. */
export type LimitOptions = Partials<Limits>;

/**
 * `base` with what `options` says laid over it.
 * @throws SwarmError 'invalid-limit' naming the key, for an unknown key or a number below 0
 */
export function resolveLimits(options: LimitOptions | undefined, base: Limits = DEFAULT_LIMITS): Limits {
  // The table above is the shape: merge keeps it, key by key.
  return options === undefined ? base : (merge(base, options, 'limits') as unknown as Limits);
}

type Table = { readonly [key: string]: number | Table };

function merge(base: object, options: object, path: string): Table {
  const table = base as Table;
  const merged: Record<string, number | Table> = { ...table };
  for (const [key, value] of Object.entries(options)) {
    const at = `${path}.${key}`;
    const known = Object.hasOwn(table, key) ? table[key] : undefined;
    if (known === undefined) throw new SwarmError('invalid-limit', `${at} is not a limit`);
    if (value === undefined) continue;
    merged[key] = typeof known === 'number' ? checked(value, at) : merge(known, group(value, at), at);
  }
  return merged;
}

function checked(value: unknown, at: string): number {
  if (typeof value === 'number' && value >= 0) return value;
  throw new SwarmError('invalid-limit', `${at} must be a number of at least 0, not ${String(value)}`);
}

function group(value: unknown, at: string): object {
  if (typeof value === 'object' && value !== null) return value;
  throw new SwarmError('invalid-limit', `${at} is a group of limits, not ${String(value)}`);
}
