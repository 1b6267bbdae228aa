import type { ContentPolicy } from '../events/event-projector.ts';
import type { RunEvent } from '../events/event-schemas.ts';
import type { SteeringOutcome } from '../turn/steering-queue.ts';
import type { RunResult } from './run-result.ts';

/** Which events of a run to read. */
export interface RunEventOptions {
  /** With those of every descendant session. Default false: the root session only. */
  readonly tree?: boolean;
  /**
   * First sequence of the session to read, or with `tree` the ledger position after which to read. Default: the
   * start of this run. 0 starts at the beginning of the session or ledger.
   */
  readonly from?: number;
  /** With prompts, answers, arguments and results. Default false: sizes and hashes in their place. */
  readonly content?: ContentPolicy;
  readonly signal?: AbortSignal;
}

/** The handle for one input and everything it causes. */
export interface Run<out Output = string> {
  readonly id: string;
  /** Session of the root; known at once. */
  readonly sessionId: string;
  /** What became of the run. Never rejects. */
  readonly result: Promise<RunResult<Output>>;
  /**
   * Events of the run, from its start to its end, in order and without gaps. Read from the ledger at the reader's
   * own pace, so any number of readers costs no memory and delays nothing. @throws SwarmError 'ledger-corrupt', 'invalid-definition' for an unknown option
   */
  events(options?: RunEventOptions): AsyncIterable<RunEvent>;
  /**
   * Text of the root agent, and of those it hands over to, as it is written, from the moment of the call. Best effort: a reader far behind misses
   * text, `result.text` has it all.
   */
  text(): AsyncIterable<string>;
  /**
   * Gives the turn under way a text. Resolves when a request carries it, after the results of the calls that run
   * now, or with why none did. Durable before it is queued.
   */
  steer(text: string): Promise<SteeringOutcome>;
  /** Stops at once: streams and tools are aborted, partial text is kept. Idempotent. */
  cancel(reason?: string): void;
  /** Lets the step under way and its tools finish, then ends the turn as completed. */
  stopAfterStep(): void;
  /**
   * Lets the step under way and its calls finish, then leaves the turn open: the run resolves as `paused` with the
   * reason `requested`, and `runtime.resume` goes on with the next step. A turn that ends with that step ends, and whoever
   * takes over or is woken after it pauses. A call that waits for a person to allow it is not waited for: it is the
   * reason then. Of a swarm the supervisor pauses, once its works have settled. A graph goes on: it has no step.
   */
  pause(): void;
}
