import { systemClock } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import type {
  ModelFailure,
  ModelPrice,
  StepEvent,
  StepOptions,
  StepOutcome,
  StepReport,
  StepStream,
} from './adapter.ts';
import { readRequestId } from './failure-facts.ts';
import { decideEnding, type Ending } from './finish-rules.ts';
import { createFold, type Fold, reportOf, warn } from './fold.ts';
import { type FoldOptions, foldPart } from './fold-parts.ts';
import type { StreamPart, StreamResult } from './language-model.ts';
import { type Confidential, scrub } from './scrub.ts';
import { normalizeUsage } from './usage.ts';

/** One request ready to be sent, and how its response is to be read. */
export interface StepSource {
  /** Sends the request: called once, when the first event is asked for. */
  readonly start: (signal: AbortSignal) => PromiseLike<StreamResult>;
  readonly fold: FoldOptions;
  readonly confidential: Confidential;
  readonly price: ModelPrice | undefined;
  readonly maxOutputTokens: number | undefined;
  /** What was noticed when the request was written. */
  readonly warnings: readonly string[];
  /** Sees a failure before the caller does and may know more of it. */
  readonly onFailure: ((failure: ModelFailure) => ModelFailure) | undefined;
}

/** A response of `source`. Nothing happens before `events` is read; breaking out of it closes the connection. */
export function createStepStream(source: StepSource, options: StepOptions): StepStream {
  const reader = new StepReader(source, options);
  let taken = false;
  return {
    outcome: reader.outcome,
    events: {
      [Symbol.asyncIterator]() {
        if (taken) throw new SwarmError('stream-misuse', 'the events of a step can be read once only');
        taken = true;
        return reader;
      },
    },
  };
}

const ABORTED = Symbol('aborted');
const DONE: IteratorResult<StepEvent, undefined> = { done: true, value: undefined };
/** One reason for all steps: making an error takes longer than reading a part. */
const STEP_OVER = new DOMException('the step is over', 'AbortError');

const ignore = () => {};

/** Owns the connection of one step. Every way out ends in `#settle`, which leaves nothing behind. */
class StepReader implements AsyncIterator<StepEvent, undefined> {
  readonly outcome: Promise<StepOutcome>;
  readonly #source: StepSource;
  readonly #options: StepOptions;
  readonly #fold: Fold = createFold();
  readonly #controller = new AbortController();
  readonly #resolve: (outcome: StepOutcome) => void;
  readonly #onSignal = () => this.#interrupt();
  /** Resolves the wait of the moment when the step is aborted: a model that ignores its signal holds nothing up. */
  #wake: () => void = ignore;
  #parts: ReadableStreamDefaultReader<StreamPart> | undefined;
  #contentType: string | undefined;
  #state: 'new' | 'open' | 'ended' | 'settled' = 'new';
  #ending: Ending | undefined;
  #isBusy = false;
  #shownWarnings = 0;

  constructor(source: StepSource, options: StepOptions) {
    this.#source = source;
    this.#options = options;
    const { promise, resolve } = Promise.withResolvers<StepOutcome>();
    this.outcome = promise;
    this.#resolve = resolve;
  }

  async next(): Promise<IteratorResult<StepEvent, undefined>> {
    if (this.#isBusy)
      throw new SwarmError('stream-misuse', 'the next event of a step was asked for twice at once');
    this.#isBusy = true;
    try {
      return await this.#advance();
    } catch (fault) {
      // Only what the caller handed in can throw here.
      this.#settle();
      throw fault;
    } finally {
      this.#isBusy = false;
    }
  }

  return(): Promise<IteratorResult<StepEvent, undefined>> {
    this.#settle();
    return Promise.resolve(DONE);
  }

  async #advance(): Promise<IteratorResult<StepEvent, undefined>> {
    if (this.#state === 'new') await this.#open();
    for (;;) {
      const warning = this.#fold.warnings[this.#shownWarnings];
      if (warning !== undefined && this.#state !== 'settled') {
        this.#shownWarnings++;
        return { done: false, value: { type: 'warning', message: warning } };
      }
      if (this.#state !== 'open') {
        this.#settle();
        return DONE;
      }
      const event = await this.#read();
      if (event !== undefined) return { done: false, value: event };
    }
  }

  async #open(): Promise<void> {
    const { signal } = this.#options;
    if (signal.aborted) return this.#settle();
    this.#state = 'open';
    signal.addEventListener('abort', this.#onSignal, { once: true });
    for (const warning of this.#source.warnings) warn(this.#fold, warning);
    try {
      const opening = Promise.resolve(this.#source.start(this.#controller.signal));
      const result = await this.#raced(opening);
      if (result === ABORTED) {
        // A model that answers after all: nobody is left to read it.
        opening.then((late) => late.stream.cancel(STEP_OVER).catch(ignore), ignore);
        return this.#settle();
      }
      this.#parts = result.stream.getReader();
      this.#readHeaders(result.response?.headers ?? {});
    } catch (error) {
      this.#fail(error, 'connect');
    }
  }

  #readHeaders(headers: { readonly [name: string]: string }): void {
    this.#contentType = headers['content-type'];
    const requestId = readRequestId(headers);
    if (requestId !== undefined) this.#fold.response.requestId = requestId;
  }

  async #read(): Promise<StepEvent | undefined> {
    const parts = this.#parts;
    if (parts === undefined) return undefined;
    let result: Awaited<ReturnType<typeof parts.read>> | typeof ABORTED;
    try {
      result = await this.#raced(parts.read());
    } catch (error) {
      this.#fail(error, 'stream');
      return undefined;
    }
    if (result === ABORTED || this.#state !== 'open') {
      this.#settle();
      return undefined;
    }
    if (result.done) {
      this.#end('stream');
      return undefined;
    }
    this.#options.onActivity?.();
    const event = this.#take(result.value);
    if (this.#fold.warnings.length > this.#shownWarnings) this.#cleanWarnings();
    if (this.#fold.fault !== undefined) this.#end('stream');
    return event;
  }

  #take(part: StreamPart): StepEvent | undefined {
    try {
      return foldPart(this.#fold, part, this.#source.fold);
    } catch {
      // A model of somebody else may stream what is no part at all; what it was says nothing.
      this.#fold.fault ??= {
        kind: 'malformed-response',
        detail: 'chunk-shape',
        message: 'the model streamed something that is no part',
        retryable: true,
        phase: 'stream',
      };
      return undefined;
    }
  }

  #cleanWarnings(): void {
    const { warnings } = this.#fold;
    for (let at = this.#shownWarnings; at < warnings.length; at++) {
      warnings[at] = scrub(warnings[at] ?? '', this.#source.confidential);
    }
  }

  #fail(error: unknown, phase: 'connect' | 'stream'): void {
    // With its end received a response is whole, whatever becomes of the connection.
    if (this.#fold.finish === undefined) this.#fold.error ??= { error };
    this.#end(phase);
  }

  #end(phase: 'connect' | 'stream'): void {
    if (this.#state !== 'open') return;
    this.#state = 'ended';
    const { maxOutputTokens, price, confidential } = this.#source;
    const usage = normalizeUsage(this.#fold.usage, price);
    this.#ending = decideEnding(this.#fold, {
      ...confidential,
      phase,
      nowMs: systemClock.now(),
      usage,
      contentType: this.#contentType,
      maxOutputTokens,
    });
    this.#release();
  }

  #interrupt(): void {
    this.#controller.abort(STEP_OVER);
    this.#wake();
  }

  #raced<T>(promise: PromiseLike<T>): Promise<T | typeof ABORTED> {
    return new Promise((resolve, reject) => {
      this.#wake = () => resolve(ABORTED);
      if (this.#controller.signal.aborted) resolve(ABORTED);
      promise.then(resolve, reject);
    });
  }

  #settle(): void {
    if (this.#state === 'settled') return;
    const ending = this.#options.signal.aborted ? undefined : this.#ending;
    this.#state = 'settled';
    this.#release();
    this.#resolve(this.#outcomeOf(ending));
  }

  #release(): void {
    this.#options.signal.removeEventListener('abort', this.#onSignal);
    this.#parts?.cancel(STEP_OVER).catch(ignore);
    this.#parts = undefined;
    this.#interrupt();
    this.#wake = ignore;
  }

  #outcomeOf(ending: Ending | undefined): StepOutcome {
    const report = this.#report(ending?.type === 'completed');
    if (ending === undefined) return { type: 'aborted', report };
    if (ending.type === 'completed') return { type: 'completed', report, finish: ending.finish };
    const failure = this.#source.onFailure?.(ending.failure) ?? ending.failure;
    return { type: ending.type, report, failure };
  }

  #report(withCalls: boolean): StepReport {
    const usage = normalizeUsage(this.#fold.usage, this.#source.price);
    return {
      ...reportOf(this.#fold, withCalls),
      ...(usage !== undefined && { usage }),
      warnings: [...this.#fold.warnings],
    };
  }
}
