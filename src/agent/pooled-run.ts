import { sleep } from '../clock.ts';
import { isSwarmError, SwarmError } from '../errors.ts';
import type { LiveBus } from '../events/live-bus.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { LedgerRecord, RecordOf } from '../ledger/records.ts';
import { standingOf } from '../ledger/run-standing.ts';
import { foldSession } from '../ledger/turn-facts.ts';
import type { SteeringOutcome } from '../turn/steering-queue.ts';
import type { StopCause } from '../turn/stop-signal.ts';
import type { AnyAgent } from './define-agent.ts';
import type { RunResult } from './run-result.ts';
import type { RuntimeCore } from './runtime-core.ts';
import { resultOfSettled } from './settled-run.ts';
import type { RunSide } from './start-run.ts';
import { stopReason } from './stop-reason.ts';
import { type SessionWord, tellSession } from './tell-session.ts';
import { failureOf } from './thrown-failure.ts';
import { withdrawRun } from './withdraw-run.ts';

/** What is known here of a run that workers have. */
export interface PooledRunOptions {
  readonly core: RuntimeCore;
  readonly runId: string;
  readonly sessionId: string;
  /** The session begins with this run. */
  readonly isNew: boolean;
  /** Its id was given, so it may be known: the same id again is the same run. */
  readonly mayBeKnown: boolean;
  /** Name of its definition. */
  readonly target: string;
  /** The agent whose turns the session has; absent for a graph. */
  agent(): AnyAgent | undefined;
  /** Whether a run that waits for a person goes on to be waited for. */
  readonly waitsForPeople: boolean;
  readonly live: LiveBus;
  readonly signal: AbortSignal | undefined;
  /** Gives the run to the pool; false where the signal aborted first. @throws SwarmError of the pool */
  submit(signal: AbortSignal): Promise<boolean>;
}

/** What is known of a run before it is given. */
type KnownRun =
  | { readonly type: 'told'; readonly result: RunResult<unknown> }
  | { readonly type: 'begun' | 'unknown' };

/** Records kept of a run that is followed. */
const MAX_SEEN = 64;

const NOTHING = { usage: { total: {}, byAgent: {}, reported: {} }, steps: 0, toolCalls: 0 };

/** A run that is worked on elsewhere: what becomes of it is read in the ledger, what is asked of it goes there. */
export class PooledRun implements RunSide {
  readonly scope: { readonly runId: string };
  readonly result: Promise<RunResult<unknown>>;
  readonly successors = new Set<string>();
  /** Ledger position before the first fact of the run, of a new session once there is one. */
  readonly startPosition: Promise<number>;
  readonly #options: PooledRunOptions;
  readonly #begun = Promise.withResolvers<number>();
  /** By which the run is known. */
  readonly #ids: Set<string>;
  readonly #over = new AbortController();
  readonly #withdrawn = new AbortController();
  readonly #texts = new Map<string, (outcome: SteeringOutcome) => void>();
  /** Texts that the step carries which is opened next, in the same append. */
  readonly #carried: { readonly id: string; readonly session: string }[] = [];
  /** Resolves when a turn of the run is open, or none will be. */
  #opened = Promise.withResolvers<void>();
  #isOpen = false;
  /** What is to be said of it once it is open. */
  readonly #later = new Set<'pause' | 'stop-after-step'>();
  /** All records of a new session, as long as they are few: its result need not be read once more. */
  #seen: LedgerRecord[] | undefined;
  #isQueued = false;
  #cancelReason: string | undefined;
  readonly #onAbort = () => this.stop({ type: 'cancelled', reason: 'the signal of the caller aborted' });

  constructor(options: PooledRunOptions) {
    this.#options = options;
    this.scope = { runId: options.runId };
    if (options.isNew) this.#seen = [];
    this.#ids = new Set([options.runId]);
    options.signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (options.signal?.aborted === true) this.#onAbort();
    this.startPosition = this.#begun.promise;
    this.result = options.core.ledger
      .then((ledger) => this.#follow(ledger))
      .catch((error: unknown): RunResult<unknown> => {
        return { status: 'failed', error: failureOf(error), text: '', ...NOTHING };
      })
      .finally(() => this.#end());
  }

  stop(cause: StopCause): void {
    if (this.#cancelReason !== undefined || this.#over.signal.aborted) return;
    this.#cancelReason = cause.type === 'failed' ? cause.failure.message : cause.reason;
    this.#withdrawn.abort();
    if (this.#isQueued) void this.#sendCancel(this.#cancelReason);
  }

  stopAfterStep(): void {
    this.#tellOnce('stop-after-step');
  }

  pause(): void {
    this.#tellOnce('pause');
  }

  async steer(text: string): Promise<SteeringOutcome> {
    const { core, sessionId: session } = this.#options;
    await this.#opened.promise;
    if (this.#over.signal.aborted) return { delivered: false, reason: 'the run is over' };
    const id = core.ids.next('steering');
    const { promise, resolve } = Promise.withResolvers<SteeringOutcome>();
    this.#texts.set(id, resolve);
    try {
      await tellSession(core, { session, kind: 'steer', body: { id, text, run: this.scope.runId } });
    } catch (error) {
      this.#texts.delete(id);
      return { delivered: false, reason: failureOf(error).message };
    }
    return promise;
  }

  async #follow(ledger: Ledger): Promise<RunResult<unknown>> {
    const { isNew, mayBeKnown } = this.#options;
    // What is followed begins before the run is given away, and in a new session with its first fact.
    const position = isNew ? 0 : await ledger.position();
    if (!isNew) this.#begun.resolve(position);
    const known = isNew || !mayBeKnown ? undefined : await this.#lookUp(ledger);
    if (known?.type === 'told') return known.result;
    const result = this.#read(ledger, this.#options.sessionId, position);
    result.catch(() => undefined);
    // Of one that has begun nothing can be taken back.
    this.#isQueued = known?.type === 'begun';
    const unwanted = AbortSignal.any([this.#withdrawn.signal, this.#over.signal]);
    // One that is at work leaves no place in the queue before it has ended.
    const isQueued = await Promise.race([this.#options.submit(unwanted), result.then(() => true)]);
    if (!isQueued && !this.#isQueued) {
      this.#begun.resolve(await ledger.position());
      return { status: 'cancelled', reason: this.#cancelReason ?? '', text: '', ...NOTHING };
    }
    this.#isQueued = true;
    if (this.#cancelReason !== undefined) void this.#sendCancel(this.#cancelReason);
    return result;
  }

  /** What the session says of the run already. */
  async #lookUp(ledger: Ledger): Promise<KnownRun> {
    const { sessionId, runId } = this.#options;
    const records = await ledger.read(sessionId);
    const standing = standingOf(records, runId, 0);
    if (standing.type === 'settled' || (standing.type === 'paused' && this.#isEnd(standing.told))) {
      return { type: 'told', result: await this.#resultIn(standing.told, ledger) };
    }
    if (standing.type !== 'open' && standing.type !== 'paused') return { type: 'unknown' };
    if (foldSession(records).openTurn?.paused === false) this.#open();
    return { type: 'begun' };
  }

  #resultIn(told: RecordOf<'run.settled'>, ledger: Ledger): Promise<RunResult<unknown>> {
    const { agent, core } = this.#options;
    const records = this.#seen?.at(-1)?.seq === this.#seen?.length ? this.#seen : undefined;
    return resultOfSettled(told, { ledger, records, agent: agent(), named: core.agents });
  }

  /** Facts of the session until one of them tells the end. */
  async #read(ledger: Ledger, session: string, after: number): Promise<RunResult<unknown>> {
    const { isNew } = this.#options;
    for await (const { record, pos } of ledger.tail(after, this.#over.signal, { only: { session }, isNew })) {
      this.#begun.resolve(pos - 1);
      this.#keep(record);
      this.#note(ledger, record, after);
      if (record.type !== 'run.settled' || !this.#isOwn(record)) continue;
      // A turn that was about to pause hears of nothing any more.
      const isLate = record.data.status === 'paused' && this.#cancelReason !== undefined;
      if (isLate) void this.#sendCancel(this.#cancelReason ?? '');
      else if (this.#isEnd(record)) return await this.#resultIn(record, ledger);
    }
    throw new SwarmError('runtime-closed', 'the runtime was closed; the run goes on without it');
  }

  #keep(record: LedgerRecord): void {
    this.#seen?.push(record);
    if ((this.#seen?.length ?? 0) > MAX_SEEN) this.#seen = undefined;
  }

  #isOwn({ data: { run, by } }: RecordOf<'run.settled'>): boolean {
    // A run that was taken up goes on under the id it was given with.
    if (by !== undefined && this.#ids.has(by)) this.#ids.add(run);
    return this.#ids.has(run);
  }

  #isEnd({ data: { pause } }: RecordOf<'run.settled'>): boolean {
    if (pause === 'children') return false;
    return pause !== 'approval' || !this.#options.waitsForPeople;
  }

  #note(ledger: Ledger, record: LedgerRecord, after: number): void {
    const { session } = record;
    switch (record.type) {
      case 'turn.opened':
      case 'turn.resumed':
        if (session !== this.#options.sessionId || record.data.run === this.#options.runId) this.#open();
        return;
      case 'turn.closed':
        this.#close();
        return;
      case 'turn.paused':
        // What is said to it now is a fact that waits, and whoever is free is told.
        this.#isOpen = false;
        return;
      case 'steering.injected':
        for (const id of record.data.ids) this.#carried.push({ id, session });
        return;
      case 'step.opened':
        this.#tellCarried(session, record.step ?? '');
        return;
      case 'steering.undelivered':
        for (const id of record.data.ids) this.#answer(id, { delivered: false, reason: record.data.reason });
        return;
      case 'assistant.message':
        this.#show(record);
        return;
      case 'handoff.taken':
        this.#followTo(ledger, record.data.child, after);
        return;
      default:
    }
  }

  #tellCarried(session: string, stepId: string): void {
    for (const one of this.#carried.filter((text) => text.session === session)) {
      this.#carried.splice(this.#carried.indexOf(one), 1);
      this.#answer(one.id, { delivered: true, stepId });
    }
  }

  /** Who takes over goes on for the same run. */
  #followTo(ledger: Ledger, session: string, after: number): void {
    if (this.successors.has(session)) return;
    this.successors.add(session);
    const read = async () => {
      for await (const { record } of ledger.tail(after, this.#over.signal, { only: { session } })) {
        this.#note(ledger, record, after);
      }
    };
    // A ledger that fails here fails the reader of the root too, which is where it is told.
    read().catch(() => undefined);
  }

  #show({ session, step = '', data, agent }: RecordOf<'assistant.message'>): void {
    const text = data.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
    if (text === '') return;
    this.#options.live.publish({ type: 'text-delta', text, session, step, agentPath: [agent] });
  }

  #open(): void {
    this.#isOpen = true;
    this.#opened.resolve();
    for (const kind of this.#later) void this.#tell(kind);
    this.#later.clear();
    // Whoever was told may have died before it stopped.
    if (this.#isQueued && this.#cancelReason !== undefined) void this.#sendCancel(this.#cancelReason);
  }

  #close(): void {
    this.#isOpen = false;
    this.#opened = Promise.withResolvers<void>();
  }

  #tellOnce(kind: 'pause' | 'stop-after-step'): void {
    if (this.#over.signal.aborted) return;
    if (this.#isOpen) void this.#tell(kind);
    else this.#later.add(kind);
  }

  async #tell(kind: SessionWord['kind']): Promise<void> {
    const { core, sessionId: session, runId: run } = this.#options;
    await tellSession(core, { session, kind, body: { run } }).catch(() => {
      // Between two owners nobody listens: whoever takes the turn up is told.
      if (kind === 'pause' || kind === 'stop-after-step') this.#later.add(kind);
    });
  }

  /** Whoever has the turn of this run is told; one that nobody has begun ends here; else the worker that comes to it. */
  async #sendCancel(reason: string): Promise<void> {
    const { core, sessionId: session, runId: run, target, agent } = this.#options;
    try {
      if (this.#isOpen) return await tellSession(core, { session, kind: 'cancel', body: { reason, run } });
    } catch (error) {
      if (!isSwarmError(error, 'turn-not-open')) return;
    }
    const waiting = { run, session, target, isGraph: agent() === undefined };
    // A worker may have the session by now, or the ledger be away: who comes to it is told.
    if (await withdrawRun(core, waiting, stopReason(reason)).catch(() => false)) return;
    const stop = { run, target, reason };
    const { signal } = this.#over;
    // A pool that is away for a moment is told when it is back; the run goes on until then.
    for (let pauseMs = 100; !signal.aborted; pauseMs = Math.min(5_000, pauseMs * 2)) {
      try {
        return await core.pool?.wake({ session, cause: `stop ${run}`, stop });
      } catch {
        await sleep(core.clock, pauseMs, signal);
      }
    }
  }

  #answer(id: string, outcome: SteeringOutcome): void {
    this.#texts.get(id)?.(outcome);
    this.#texts.delete(id);
  }

  #end(): void {
    this.#begun.resolve(0);
    this.#over.abort();
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    this.#options.live.close();
    this.#opened.resolve();
    for (const resolve of this.#texts.values()) resolve({ delivered: false, reason: 'the run is over' });
    this.#texts.clear();
  }
}
