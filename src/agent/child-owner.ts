import type { LedgerRecord } from '../ledger/records.ts';
import type { StopCause, StopSignal } from '../turn/stop-signal.ts';
import type { RunScope, TurnScope } from '../turn/turn-scope.ts';
import type { ChildRequest } from './child-sessions.ts';
import { cancelledOutcome, type LastOutcome } from './turn-outcome.ts';
import type { TurnOwner, WorkUnit } from './turn-owner.ts';

/** What an owner looks at of what was asked. */
type OwnedRequest = Pick<ChildRequest, 'signal' | 'stopCause' | 'watch' | 'unit'> & {
  readonly agent: { readonly name: string };
};

/** The inner side of a child: what its parent wants of it reaches the turn under way. */
export class ChildOwner implements TurnOwner {
  readonly scope: RunScope;
  readonly result: Promise<LastOutcome>;
  readonly stopped: AbortSignal;
  readonly before = { steps: 0, toolCalls: 0 };
  /** The session that took over last. */
  lastSession: string | undefined;
  /** Only a child that a worker has spends a budget of its own. */
  readonly takeUp: TurnOwner['takeUp'];
  readonly #request: OwnedRequest;
  readonly #resolve: (outcome: LastOutcome) => void;
  readonly #onAbort = () => (this.#turn?.stop ?? this.#graph)?.stop(this.#request.stopCause());
  #turn: TurnScope | undefined;
  #graph: StopSignal | undefined;

  constructor(scope: RunScope, request: OwnedRequest) {
    this.scope = scope;
    this.#request = request;
    this.stopped = request.signal;
    if (request.unit !== undefined) this.takeUp = (_, before) => scope.budget.restore(before, {});
    const { promise, resolve } = Promise.withResolvers<LastOutcome>();
    this.result = promise;
    this.#resolve = resolve;
    request.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  get turn(): TurnScope | undefined {
    return this.#turn;
  }

  get unit(): WorkUnit | undefined {
    return this.#request.unit;
  }

  begin(): boolean {
    return true;
  }

  /** Why the child ends, once it is to. */
  get stopCause(): StopCause | undefined {
    return this.#request.signal.aborted ? this.#request.stopCause() : undefined;
  }

  /**
   * Ends a child that is not to be opened any more, or whose turn is only to stay open, and says so. One that is open
   * and to be stopped is taken up to be stopped.
   */
  endsBefore(work: 'open' | 'resume'): boolean {
    const { signal } = this.#request;
    if (!signal.aborted) return false;
    const cause = this.#request.stopCause();
    if (work === 'resume' && cause.type !== 'detached') return false;
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

  attachGraph(stop: StopSignal): void {
    this.#graph = stop;
    if (this.#request.signal.aborted) this.#onAbort();
    this.#request.watch?.opened?.();
  }

  handedOff(
    { session }: { readonly session?: string },
    { steps, toolCalls }: { steps: number; toolCalls: number },
  ): void {
    this.#turn = undefined;
    this.lastSession = session;
    this.before.steps += steps;
    this.before.toolCalls += toolCalls;
  }

  ended(outcome: LastOutcome): void {
    this.#request.signal.removeEventListener('abort', this.#onAbort);
    this.#turn = undefined;
    this.#graph = undefined;
    this.#resolve(outcome);
  }

  watch(record: LedgerRecord): void {
    const line = progressLine(record);
    if (line !== undefined) this.#request.watch?.progress?.(`${this.#request.agent.name}: ${line}`);
  }

  waiting(isWaiting: boolean): void {
    this.#request.watch?.waiting?.(isWaiting);
  }
}

/** What a parent is shown of what its child does: never what anybody said. */
function progressLine(record: LedgerRecord): string | undefined {
  switch (record.type) {
    case 'tool.dispatched':
      return `${record.data.toolName} started`;
    case 'tool.settled':
      return `${record.data.toolName} ended: ${record.data.status}`;
    case 'tool.refused':
      return `${record.data.toolName} refused: ${record.data.code}`;
    case 'attempt.retry-scheduled':
      return `retries its request: ${record.data.reason}`;
    default:
      return undefined;
  }
}

const NOTHING = { steps: 0, toolCalls: 0, text: '' };
