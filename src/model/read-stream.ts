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

const DONE: IteratorResult<StepEvent, undefined> = { done: true, value: undefined };
/** One reason for all steps: making an error takes longer than reading a part. */
const STEP_OVER = new DOMException('the step is over', 'AbortError');

const ignore = () => {};

/** Who asked for the next event. */
interface Asker {
  resolve(result: IteratorResult<StepEvent, undefined>): void;
  reject(fault: unknown): void;
}

type Parts = ReadableStreamDefaultReader<StreamPart>;

/**
 * Owns the connection of one step. Every way out ends in `#settle`, which leaves nothing behind. Callbacks, no async
 * function: a part takes two promises, that of the reader and that of who asked.
 */
class StepReader implements AsyncIterator<StepEvent, undefined> {
  readonly outcome: Promise<StepOutcome>;
  readonly #source: StepSource;
  readonly #options: StepOptions;
  readonly #fold: Fold = createFold();
  readonly #controller = new AbortController();
  readonly #resolve: (outcome: StepOutcome) => void;
  readonly #onSignal = () => this.#interrupt();
  readonly #onPart = (result: Awaited<ReturnType<Parts['read']>>) => this.#read(result);
  readonly #onFault = (error: unknown) => this.#fail(error, 'stream');
  #asker: Asker | undefined;
  #parts: Parts | undefined;
  /** The response was read to its end: nothing of it is left to be given up. */
  #isDrained = false;
  #contentType: string | undefined;
  #state: 'new' | 'open' | 'ended' | 'settled' = 'new';
  #ending: Ending | undefined;
  #shownWarnings = 0;

  constructor(source: StepSource, options: StepOptions) {
    this.#source = source;
    this.#options = options;
    const { promise, resolve } = Promise.withResolvers<StepOutcome>();
    this.outcome = promise;
    this.#resolve = resolve;
  }

  next(): Promise<IteratorResult<StepEvent, undefined>> {
    return new Promise((resolve, reject) => {
      if (this.#asker !== undefined)
        throw new SwarmError('stream-misuse', 'the next event of a step was asked for twice at once');
      this.#asker = { resolve, reject };
      if (this.#state === 'new') this.#open();
      else this.#advance();
    });
  }

  return(): Promise<IteratorResult<StepEvent, undefined>> {
    this.#stop();
    return Promise.resolve(DONE);
  }

  /** Answers who asked with what there is, or asks for the next part. */
  #advance(): void {
    const warning = this.#fold.warnings[this.#shownWarnings];
    if (warning !== undefined && this.#state !== 'settled') {
      this.#shownWarnings++;
      this.#answer({ done: false, value: { type: 'warning', message: warning } });
    } else if (this.#state !== 'open' || this.#parts === undefined || this.#options.signal.aborted) {
      this.#stop();
    } else {
      this.#parts.read().then(this.#onPart, this.#onFault);
    }
  }

  #answer(result: IteratorResult<StepEvent, undefined>): void {
    const asker = this.#asker;
    this.#asker = undefined;
    asker?.resolve(result);
  }

  /** Nothing more is read. */
  #stop(): void {
    this.#guarded(() => {
      this.#settle();
      this.#answer(DONE);
    });
  }

  /** Only what the caller handed in can throw: whoever asked hears of it. */
  #guarded(work: () => void): void {
    try {
      work();
    } catch (fault) {
      const asker = this.#asker;
      this.#asker = undefined;
      this.#settle();
      asker?.reject(fault);
    }
  }

  #open(): void {
    const { signal } = this.#options;
    if (signal.aborted) {
      this.#stop();
      return;
    }
    this.#state = 'open';
    signal.addEventListener('abort', this.#onSignal, { once: true });
    for (const warning of this.#source.warnings) warn(this.#fold, warning);
    const opening = new Promise<StreamResult>((resolve) =>
      resolve(this.#source.start(this.#controller.signal)),
    );
    opening.then((result) => this.#opened(result)).catch((error) => this.#fail(error, 'connect'));
  }

  #opened(result: StreamResult): void {
    if (this.#state !== 'open') {
      // A model that answers after all: nobody is left to read it.
      result.stream.cancel(STEP_OVER).catch(ignore);
      return;
    }
    this.#parts = result.stream.getReader();
    this.#readHeaders(result.response?.headers ?? {});
    this.#advance();
  }

  #readHeaders(headers: { readonly [name: string]: string }): void {
    this.#contentType = headers['content-type'];
    const requestId = readRequestId(headers);
    if (requestId !== undefined) this.#fold.response.requestId = requestId;
  }

  #read({ done, value }: Awaited<ReturnType<Parts['read']>>): void {
    if (this.#state !== 'open') return;
    this.#guarded(() => {
      const event = done ? this.#drained() : this.#part(value);
      if (event === undefined) this.#advance();
      else this.#answer({ done: false, value: event });
    });
  }

  #drained(): undefined {
    this.#isDrained = true;
    this.#end('stream');
  }

  #part(part: StreamPart): StepEvent | undefined {
    this.#options.onActivity?.();
    const event = this.#take(part);
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
    if (this.#state !== 'open') return;
    this.#guarded(() => {
      // With its end received a response is whole, whatever becomes of the connection.
      if (this.#fold.finish === undefined) this.#fold.error ??= { error };
      this.#end(phase);
      this.#advance();
    });
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

  /** A model that ignores its signal holds nothing up. */
  #interrupt(): void {
    this.#controller.abort(STEP_OVER);
    if (this.#asker !== undefined) this.#stop();
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
    if (!this.#isDrained) {
      this.#parts?.cancel(STEP_OVER).catch(ignore);
      this.#controller.abort(STEP_OVER);
    }
    this.#parts = undefined;
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
