import { Worker } from 'node:worker_threads';
import { type Clock, systemClock } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import { decodeResults, encodeGroup, type WriteMessage } from './sqlite-messages.ts';
import type {
  WriteKind,
  WriteOperations,
  WriteRequest,
  WriteResult,
  WriteResults,
} from './sqlite-operations.ts';
import type { FromWriter, ToWriter, WriterThreadData } from './sqlite-writer.ts';

/** Records of one transaction. Together with the bytes: what a commit may take, in time and memory. */
const MAX_GROUP_RECORDS = 512;
const MAX_GROUP_BYTES = 1024 * 1024;

/** While a commit takes less than this, building the next group beside it is worth a commit more. */
const QUICK_COMMIT_MS = 2;
/** Writes that are then sent without waiting for the rest of the tick. */
const EARLY_WRITES = 32;

/** `failed`: it is unknown whether it was done. */
export type WriteOutcome<K extends WriteKind> =
  | { readonly type: 'done'; readonly result: WriteResults[K] }
  | { readonly type: 'failed'; readonly cause: SwarmError };

const YOUNG_GENERATION_MB = 6;

const MESSAGE_KINDS: ReadonlySet<WriteKind> = new Set(['post', 'reply', 'withdraw']);

interface Pending extends WriteMessage {
  /** Characters, near enough for a bound on time. */
  readonly bytes: number;
  readonly deadlineMs: number;
  /** Hears of the commit first, also where nobody waits for the outcome any more. */
  readonly committed: ((result: WriteResult) => void) | undefined;
  /** Takes the outcome once; a later one is dropped. */
  settle(outcome: { readonly type: 'done'; readonly result: WriteResult } | Failure): void;
  settled: boolean;
}

type Failure = { readonly type: 'failed'; readonly cause: SwarmError };

export interface CommitQueueOptions {
  readonly path: string;
  readonly commitMs: number;
  /** Called after each group with a message or an answer, before its outcomes are told. */
  onMessages(): void;
}

/**
 * Sends writes to the writer thread in groups that form themselves: while one is being committed, the next one
 * gathers. One message a group each way. The thread starts with the first write, never keeps the process alive,
 * and after a failure is replaced by a fresh one with a fresh connection.
 */
export class CommitQueue {
  readonly #options: CommitQueueOptions;
  // Commits are real input and output: a clock that is wound on must not make them late.
  readonly #clock: Clock = systemClock;
  #waiting: Pending[] = [];
  #sent: readonly Pending[] = [];
  #thread: Worker | undefined;
  #timer: NodeJS.Timeout | undefined;
  #flushing = false;
  /** Whether the last group was committed quickly. */
  #isQuick = true;
  #onIdle: (() => void) | undefined;

  constructor(options: CommitQueueOptions) {
    this.#options = options;
  }

  /**
   * Never rejects. Writes are carried out in the order of the calls. `committed` is called before any outcome of its
   * group is told, even for a write whose time ran out.
   */
  submit<K extends WriteKind>(
    operation: WriteOperations[K] & { readonly kind: K },
    texts: readonly string[] = [],
    committed?: (result: WriteResults[K]) => void,
  ): Promise<WriteOutcome<K>> {
    return new Promise((resolve) => {
      this.#waiting.push({
        // Kind and operation belong together by the signature, and so does the result to the kind.
        request: operation as unknown as WriteRequest,
        texts,
        bytes: texts.reduce((sum, text) => sum + text.length, 0),
        deadlineMs: this.#clock.monotonicMs() + this.#options.commitMs,
        settled: false,
        committed: committed as Pending['committed'],
        settle: (outcome) => resolve(outcome as WriteOutcome<K>),
      });
      this.#armTimer();
      if (operation.kind === 'release') this.#flushLater();
      else if (this.#isQuick && this.#waiting.length >= EARLY_WRITES) this.#flush();
      else this.#flushSoon();
    });
  }

  /** Waits for what was submitted, then ends the thread. Submit nothing afterwards. */
  async close(): Promise<void> {
    if (this.#waiting.length + this.#sent.length > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    clearTimeout(this.#timer);
    const thread = this.#thread;
    this.#thread = undefined;
    if (thread !== undefined) await endThread(thread, this.#options.commitMs);
  }

  /** Writes of the same tick go together. */
  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    queueMicrotask(() => {
      this.#flushing = false;
      this.#flush();
    });
  }

  /** Nobody goes on by it: it waits a little for a write that needs a commit, as the next session mostly begins at once. */
  #flushLater(): void {
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    if (this.#sent.length > 0 || this.#waiting.length === 0) return;
    this.#sent = takeGroup(this.#waiting);
    this.#thread ??= this.#startThread();
    const message: ToWriter = { type: 'group', group: encodeGroup(this.#sent) };
    this.#thread.postMessage(message);
  }

  #startThread(): Worker {
    const { path, commitMs } = this.#options;
    const workerData: WriterThreadData = { path, busyMs: commitMs };
    // The compiler renames imports, not this: the file beside this one has the same suffix.
    const suffix = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
    const thread = new Worker(new URL(`./sqlite-writer${suffix}`, import.meta.url), {
      workerData,
      // Node 22 would warn of node:sqlite once more than it does in the thread of the host.
      execArgv: ['--disable-warning=ExperimentalWarning'],
      name: 'swarmwright-ledger',
      // What it allocates is gone after each group; by itself it would take as much for it as the host.
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    });
    thread.on('message', (message: FromWriter) => this.#receive(thread, message));
    thread.on('error', (cause) => this.#lose(thread, cause));
    thread.on('exit', () => this.#lose(thread, undefined));
    // Last: a listener for messages would take it back.
    thread.unref();
    return thread;
  }

  #receive(thread: Worker, message: FromWriter): void {
    if (thread !== this.#thread) return;
    if (message.type === 'done') {
      this.#isQuick = message.commitMs < QUICK_COMMIT_MS;
      this.#succeed(decodeResults(message.results));
    } else if (message.type === 'failed') {
      this.#thread = undefined;
      this.#fail(new SwarmError(message.fault.code, message.fault.message));
    }
  }

  #succeed(results: readonly WriteResult[]): void {
    const group = this.#sent;
    this.#sent = [];
    // The next group is on its way before anybody looks at this one.
    this.#flush();
    const done = group.flatMap((pending, index) => {
      const result = results[index];
      return result === undefined ? [] : [{ pending, result }];
    });
    for (const { pending, result } of done) pending.committed?.(result);
    if (group.some(({ request }) => MESSAGE_KINDS.has(request.kind))) this.#options.onMessages();
    for (const { pending, result } of done) settle(pending, { type: 'done', result });
    this.#settled();
  }

  #lose(thread: Worker, cause: unknown): void {
    if (thread !== this.#thread) return;
    this.#thread = undefined;
    this.#fail(new SwarmError('ledger-unavailable', 'the writer thread of the ledger ended', { cause }));
  }

  #fail(cause: SwarmError): void {
    const group = this.#sent;
    this.#sent = [];
    for (const pending of group) settle(pending, { type: 'failed', cause });
    this.#flush();
    this.#settled();
  }

  /**
   * One timer, for the oldest write. It keeps the process alive: somebody waits for that write. When it is answered the
   * timer is only let go of, and may then come too early for the next, which costs less than a timer for each.
   */
  #armTimer(): void {
    if (this.#timer !== undefined) {
      this.#timer.ref();
      return;
    }
    const oldest = this.#sent.find((pending) => !pending.settled) ?? this.#waiting[0];
    if (oldest === undefined) return;
    const delayMs = Math.max(0, oldest.deadlineMs - this.#clock.monotonicMs());
    this.#timer = setTimeout(() => this.#expire(), Math.min(delayMs, 2 ** 31 - 1));
  }

  #expire(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonicMs();
    const isLate = (pending: Pending) => !pending.settled && pending.deadlineMs <= now;
    const late = [...this.#sent, ...this.#waiting].filter(isLate);
    // What was not sent never will be; what was sent may still be carried out, unheard.
    this.#waiting = this.#waiting.filter((pending) => !isLate(pending));
    const cause = new SwarmError('ledger-unavailable', `no commit within ${this.#options.commitMs} ms`);
    for (const pending of late) settle(pending, { type: 'failed', cause });
    this.#settled();
  }

  #settled(): void {
    if (this.#waiting.length > 0 || this.#sent.some((pending) => !pending.settled)) {
      this.#armTimer();
      return;
    }
    this.#timer?.unref();
    this.#onIdle?.();
  }
}

function settle(pending: Pending, outcome: Parameters<Pending['settle']>[0]): void {
  if (pending.settled) return;
  pending.settled = true;
  pending.settle(outcome);
}

/** The writes from the front that fit into one transaction; at least one. */
function takeGroup(waiting: Pending[]): readonly Pending[] {
  let records = 0;
  let bytes = 0;
  let count = 0;
  for (const pending of waiting) {
    records += Math.max(1, pending.texts.length);
    bytes += pending.bytes;
    if (count > 0 && (records > MAX_GROUP_RECORDS || bytes > MAX_GROUP_BYTES)) break;
    count += 1;
  }
  return waiting.splice(0, count);
}

/** Lets the thread close the file; one that hangs is given up, as its outcome is nobody's any more. */
async function endThread(thread: Worker, withinMs: number): Promise<void> {
  const message: ToWriter = { type: 'close' };
  await new Promise<void>((resolve) => {
    const timer = systemClock.setTimeout(() => {
      void thread.terminate();
      resolve();
    }, withinMs);
    thread.once('exit', () => {
      systemClock.clearTimeout(timer);
      resolve();
    });
    thread.postMessage(message);
  });
}
