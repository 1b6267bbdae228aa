import type { Clock } from '../clock.ts';
import { isSwarmError } from '../errors.ts';
import type { LiveBus } from '../events/live-bus.ts';
import type { IdSource } from '../ids.ts';
import type { NewRecord } from '../ledger/records.ts';
import type { TurnFacts } from '../ledger/turn-facts.ts';
import { BUDGET_FAILURE, type BudgetOptions, createRunBudget } from '../turn/run-budget.ts';
import type { SteeringOutcome } from '../turn/steering-queue.ts';
import type { StopCause, StopSignal } from '../turn/stop-signal.ts';
import type { RunScope, TurnScope } from '../turn/turn-scope.ts';
import { createUsageMeter } from '../turn/usage-meter.ts';
import { type RunResult, resultOf } from './run-result.ts';
import type { TreeTally } from './tally-tree.ts';
import { cancelledOutcome, type LastOutcome, refusedOutcome } from './turn-outcome.ts';
import type { TurnOwner, WorkUnit } from './turn-owner.ts';

export interface ActiveRunOptions {
  readonly runId: string;
  readonly context: unknown;
  readonly onApproval: 'wait' | 'pause';
  readonly budget: BudgetOptions;
  readonly live: LiveBus;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** Cancels the run. */
  readonly signal: AbortSignal | undefined;
  readonly steeringQueue: number;
  /** Set where a worker has the run. */
  readonly unit?: WorkUnit | undefined;
}

/** The inner side of a run: what a handle asks for reaches its turn here, before, while and after it is open. */
export class ActiveRun implements TurnOwner {
  readonly scope: RunScope;
  readonly result: Promise<RunResult<unknown>>;
  /** Sessions that took over from that of the root. */
  readonly successors = new Set<string>();
  readonly #options: ActiveRunOptions;
  readonly #resolve: (result: RunResult<unknown>) => void;
  /** A stop that came before the turn was open. */
  #early: StopCause | undefined;
  readonly #stopped = new AbortController();
  /** Takes the input of a run that has not begun out of the mailbox; absent where there is nothing to take back. */
  #withdraw: (() => void) | undefined;
  #earlyAfterStep = false;
  #earlyPause = false;
  readonly #afterStep = new AbortController();
  #turn: TurnScope | undefined;
  /** The stop of a graph, which has no turn of its own to give texts to. */
  #graph: StopSignal | undefined;
  /** Resolves with the turn once it is open, or with nothing if there will be none. */
  #opened = Promise.withResolvers<TurnScope | undefined>();
  /** Texts that wait for the turn to open. */
  #earlyTexts = 0;
  /** Of turns that handed over. */
  #before = { steps: 0, toolCalls: 0 };
  #settled = false;
  #wallTimer: unknown;
  readonly #onAbort: () => void;

  constructor(options: ActiveRunOptions) {
    this.#options = options;
    this.scope = {
      runId: options.runId,
      context: options.context,
      onApproval: options.onApproval,
      budget: createRunBudget(options.budget),
      usage: createUsageMeter(),
      live: options.live,
    };
    const { promise, resolve } = Promise.withResolvers<RunResult<unknown>>();
    this.result = promise;
    this.#resolve = resolve;
    this.#onAbort = () => this.stop({ type: 'cancelled', reason: 'the signal of the caller aborted' });
    options.signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (options.signal?.aborted === true) this.#onAbort();
    this.#armWallClock();
  }

  get turn(): TurnScope | undefined {
    return this.#turn;
  }

  get unit(): WorkUnit | undefined {
    return this.#options.unit;
  }

  /** The run waits: until `begin` a stop ends it at once, and `withdraw` takes its input back. */
  wait(withdraw: () => void): void {
    this.#withdraw = withdraw;
    if (this.#early !== undefined) this.#endUnopened(this.#early);
  }

  /** The input of the run is taken up. False when the run ended while it waited. */
  begin(): boolean {
    this.#withdraw = undefined;
    return !this.#settled;
  }

  /** Aborts at a stop that comes before the turn is open. */
  get stopped(): AbortSignal {
    return this.#stopped.signal;
  }

  /** Why the run ends, where the stop came while no turn of it was open. */
  get stopCause(): StopCause | undefined {
    return this.#early;
  }

  /** Aborts when nothing new is to begin any more: the run ends with what it has. */
  get afterStep(): AbortSignal {
    return this.#afterStep.signal;
  }

  get isSettled(): boolean {
    return this.#settled;
  }

  /** Goes on with the budget of the run that opened the turn: its bounds, and what all of it used of them. */
  takeUp(turn: TurnFacts, before: TreeTally): void {
    const { budget, usage } = this.scope;
    // What was written as a budget when the turn was opened.
    const bounds = (turn.opened.data.budget ?? {}) as BudgetOptions;
    budget.restore(before, bounds);
    for (const report of before.reports) usage.noteBefore(report.agent, report.usage, report.complete);
    this.#armWallClock();
  }

  /** The turn is open from here on. */
  attach(turn: TurnScope): void {
    this.#turn = turn;
    if (this.#earlyAfterStep) turn.stop.stopAfterStep();
    if (this.#earlyPause) turn.stop.pauseAfterStep();
    if (this.#early !== undefined) turn.stop.stop(this.#early);
    this.#opened.resolve(turn);
  }

  attachGraph(stop: StopSignal): void {
    this.#graph = stop;
    if (this.#earlyAfterStep) stop.stopAfterStep();
    if (this.#early !== undefined) stop.stop(this.#early);
    this.#opened.resolve(undefined);
  }

  /** Another agent takes over: stops, steering and counts go on with its turn. */
  handedOff(
    to: { readonly session?: string } | undefined,
    { steps, toolCalls }: { steps: number; toolCalls: number },
  ): void {
    this.#earlyAfterStep ||= this.#turn?.stop.afterStep === true;
    this.#earlyPause ||= this.#turn?.stop.pauses === true;
    if (to?.session !== undefined) this.successors.add(to.session);
    this.#turn = undefined;
    this.#opened = Promise.withResolvers<TurnScope | undefined>();
    this.#before = { steps: this.#before.steps + steps, toolCalls: this.#before.toolCalls + toolCalls };
  }

  ended(outcome: LastOutcome): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#options.clock.clearTimeout(this.#wallTimer);
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    this.#options.live.close();
    this.#turn = undefined;
    this.#opened.resolve(undefined);
    const steps = this.#before.steps + outcome.steps;
    const toolCalls = this.#before.toolCalls + outcome.toolCalls;
    this.#resolve(resultOf({ ...outcome, steps, toolCalls }, this.scope.usage));
  }

  stop(cause: StopCause): void {
    if (this.#settled) return;
    const stop = this.#turn?.stop ?? this.#graph;
    if (stop !== undefined) stop.stop(cause);
    else if (this.#withdraw !== undefined) this.#endUnopened(cause);
    else {
      this.#early ??= cause;
      this.#stopped.abort();
    }
  }

  #endUnopened(cause: StopCause): void {
    this.#withdraw?.();
    this.#withdraw = undefined;
    this.ended(cause.type === 'failed' ? refusedOutcome(cause.failure) : cancelledOutcome(cause.reason));
  }

  stopAfterStep(): void {
    this.#afterStep.abort();
    const stop = this.#turn?.stop ?? this.#graph;
    if (stop !== undefined) stop.stopAfterStep();
    else this.#earlyAfterStep = true;
  }

  /** Of a graph nothing pauses: it has no step of its own. */
  pause(): void {
    if (this.#turn === undefined) this.#earlyPause = true;
    else this.#turn.stop.pauseAfterStep();
  }

  async steer(text: string): Promise<SteeringOutcome> {
    const turn = this.#turn ?? (await this.#turnToOpen());
    if (turn === 'too-many') return TOO_MANY_TEXTS;
    if (this.#graph !== undefined && !this.#settled) return TAKES_NO_TEXT;
    if (turn === undefined || this.#settled) return { delivered: false, reason: 'the run is over' };
    return steerTurn(turn, text, this.#options);
  }

  async #turnToOpen(): Promise<TurnScope | 'too-many' | undefined> {
    if (this.#earlyTexts >= this.#options.steeringQueue) return 'too-many';
    this.#earlyTexts += 1;
    const turn = await this.#opened.promise;
    this.#earlyTexts -= 1;
    return turn;
  }

  #armWallClock(): void {
    const { clock } = this.#options;
    const { wallMs } = this.scope.budget.options;
    if (this.#wallTimer !== undefined || wallMs === undefined || !Number.isFinite(wallMs)) return;
    const startedMs = clock.monotonicMs();
    const end = () => {
      const message = `the wall clock budget of ${wallMs} ms is used up`;
      const failure = { kind: BUDGET_FAILURE.wallMs, message };
      const used = Math.round(clock.monotonicMs() - startedMs);
      this.stop({ type: 'failed', failure, exceeded: { budget: 'wallMs', limit: wallMs, used } });
    };
    // A timer comes after all that waits for nothing.
    if (wallMs === 0) end();
    else this.#wallTimer = clock.setTimeout(end, Math.min(wallMs, 0x7fffffff));
  }
}

const TAKES_NO_TEXT = { delivered: false, reason: 'a graph takes no text' } as const;
const TOO_MANY_TEXTS = { delivered: false, reason: 'too many texts are waiting' } as const;

interface SteerOptions extends Pick<ActiveRunOptions, 'ids' | 'steeringQueue'> {
  readonly actor?: string;
}

/** What became of a text that was handed to a turn. */
export type SteeringAcceptance =
  /** It is durable; `outcome` resolves when a request carries it or none will. */
  | { readonly type: 'accepted'; readonly outcome: Promise<SteeringOutcome> }
  | { readonly type: 'refused'; readonly outcome: Extract<SteeringOutcome, { delivered: false }> };

/** Gate, durable acceptance, queue; resolves when a request carries the text or none will. */
async function steerTurn(turn: TurnScope, text: string, options: SteerOptions): Promise<SteeringOutcome> {
  return (await acceptSteering(turn, text, options)).outcome;
}

/** Gate and durable acceptance; resolves as soon as the text is a fact or will be none. */
export async function acceptSteering(
  turn: TurnScope,
  text: string,
  options: SteerOptions,
): Promise<SteeringAcceptance> {
  if (turn.steering.load >= options.steeringQueue) return refusedText(TOO_MANY_TEXTS.reason);
  const id = options.ids.next('steering');
  const admitted = await admitSteering(turn, id, text);
  if (admitted.type === 'refused') return refusedText(admitted.reason);
  if (turn.stop.cause !== undefined || turn.stop.sealed) return refusedText(TURN_IS_OVER);
  // Others may have passed the gate meanwhile.
  if (turn.steering.load >= options.steeringQueue) return refusedText(TOO_MANY_TEXTS.reason);
  const done = turn.steering.expect();
  const data = { id, text: admitted.text, ...(options.actor === undefined ? {} : { actor: options.actor }) };
  const accepted: NewRecord = { type: 'steering.accepted', turn: turn.turnId, data };
  try {
    await turn.session.log.commit([accepted]);
    const outcome = turn.steering.add(id, admitted.text);
    turn.session.steered();
    return { type: 'accepted', outcome };
  } catch (error) {
    if (isSwarmError(error, 'ledger-limit')) return refusedText('the text is too large');
    // The session was lost while the text was on its way.
    return refusedText(TURN_IS_OVER);
  } finally {
    done();
  }
}

const TURN_IS_OVER = 'the turn is over';

function refusedText(reason: string): Extract<SteeringAcceptance, { type: 'refused' }> {
  return { type: 'refused', outcome: { delivered: false, reason } };
}

async function admitSteering(
  turn: TurnScope,
  steeringId: string,
  text: string,
): Promise<{ type: 'admitted'; text: string } | { type: 'refused'; reason: string }> {
  const { gates } = turn.plan;
  if (!gates.has('beforeSteering')) return { type: 'admitted', text };
  const { sessionId, agentPath } = turn.session;
  const subject = { sessionId, agentPath, turnId: turn.turnId, steeringId, text };
  const result = await gates.run('beforeSteering', subject, turn.stop.signal);
  return result.type === 'refuse'
    ? { type: 'refused', reason: result.reason }
    : { type: 'admitted', text: result.subject.text };
}
