import type { RunScope, TurnScope } from '../turn/turn-scope.ts';
import type { ChildRequest } from './child-sessions.ts';
import { cancelledOutcome, type Handoff, type LastOutcome } from './turn-outcome.ts';
import type { TurnOwner } from './turn-owner.ts';

/** The inner side of a child: what its parent wants of it reaches the turn under way. */
export class ChildOwner implements TurnOwner {
  readonly scope: RunScope;
  readonly result: Promise<LastOutcome>;
  readonly stopped: AbortSignal;
  readonly before = { steps: 0, toolCalls: 0 };
  /** The session that took over last. */
  lastSession: string | undefined;
  readonly #request: ChildRequest;
  readonly #resolve: (outcome: LastOutcome) => void;
  readonly #onAbort = () => this.#turn?.stop.stop(this.#request.stopCause());
  #turn: TurnScope | undefined;

  constructor(scope: RunScope, request: ChildRequest) {
    this.scope = scope;
    this.#request = request;
    this.stopped = request.signal;
    const { promise, resolve } = Promise.withResolvers<LastOutcome>();
    this.result = promise;
    this.#resolve = resolve;
    request.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  begin(): boolean {
    return true;
  }

  /** Ends a child that is not to be opened any more, and says so. */
  refusesToOpen(): boolean {
    const { signal } = this.#request;
    if (!signal.aborted) return false;
    const cause = this.#request.stopCause();
    this.ended(
      cause.type === 'detached'
        ? { type: 'left', failure: { kind: cause.code, message: cause.reason }, ...NOTHING }
        : cancelledOutcome(cause.type === 'failed' ? cause.failure.message : cause.reason),
    );
    return true;
  }

  attach(turn: TurnScope): void {
    this.#turn = turn;
    if (this.#request.signal.aborted) this.#onAbort();
    this.#request.watch?.opened?.();
  }

  handedOff({ session }: Handoff, { steps, toolCalls }: { steps: number; toolCalls: number }): void {
    this.#turn = undefined;
    this.lastSession = session;
    this.before.steps += steps;
    this.before.toolCalls += toolCalls;
  }

  ended(outcome: LastOutcome): void {
    this.#request.signal.removeEventListener('abort', this.#onAbort);
    this.#turn = undefined;
    this.#resolve(outcome);
  }

  waiting(isWaiting: boolean): void {
    this.#request.watch?.waiting?.(isWaiting);
  }
}

const NOTHING = { steps: 0, toolCalls: 0, text: '' };
