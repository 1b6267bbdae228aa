import { ceilingIn } from '../agent/ceiling.ts';
import { type ChildPermits, createChildPermits } from '../agent/child-permits.ts';
import { closedOutcome } from '../agent/closed-outcome.ts';
import { type Ancestor, limitsWithin, withOwn } from '../agent/lineage.ts';
import { openTurn, resumeTurn, type TurnRequest } from '../agent/run-turn-job.ts';
import type { OpenSession } from '../agent/session-parts.ts';
import { failureOf } from '../agent/thrown-failure.ts';
import { type LastOutcome, refusedOutcome, type TurnOutcome } from '../agent/turn-outcome.ts';
import type { TurnOwner } from '../agent/turn-owner.ts';
import type { DelegatingTurn } from '../agent/turn-ways.ts';
import { SwarmError } from '../errors.ts';
import type { UserPart } from '../ledger/content.ts';
import { wasStoppedAfter } from '../ledger/recovery.ts';
import { foldSession, type SessionFacts } from '../ledger/turn-facts.ts';
import type { TurnScope } from '../turn/turn-scope.ts';
import { nextAfterTurn, type Waiting } from './between-turns.ts';
import type { AnySwarm } from './define-swarm.ts';
import { HeardNews, isFinal } from './heard-news.ts';
import { LiveSchedule } from './live-schedule.ts';
import { OperatorDriver } from './operator-driver.ts';
import type { SupervisorDesk } from './supervisor-tools.ts';
import { supervisorTools } from './supervisor-tools.ts';
import { turnsOfRun, wakeOf, wakeText } from './supervisor-wake.ts';
import { causeOf, cutOffEnd, endRun, outcomeAfter } from './swarm-end.ts';
import type { SwarmRequest } from './swarm-job.ts';
import { openWorks } from './swarm-status.ts';
import { swarmTally } from './swarm-tally.ts';
import { swarmTurn } from './swarm-turn.ts';

/**
 * One run of a swarm: turns of its supervisor and, beside and between them, the works it scheduled. It ends when a
 * turn ended well and nothing of the schedule is open or unheard of; until then it has the session.
 */
export class SwarmRun implements SupervisorDesk {
  readonly swarm: AnySwarm;
  readonly driver: OperatorDriver;
  readonly self: Ancestor;
  readonly permits: ChildPermits;
  readonly #session: OpenSession;
  readonly #request: SwarmRequest;
  readonly #facts: SessionFacts;
  readonly #turnRequest: TurnRequest;
  /** The turn under way, as its own tools see it. */
  #delegating: DelegatingTurn | undefined;
  #turn: TurnScope | undefined;
  #isBegun = false;
  readonly #news: HeardNews;

  private constructor(session: OpenSession, request: SwarmRequest, parts: OpenedParts) {
    this.#session = session;
    this.#request = request;
    this.swarm = request.swarm;
    this.#facts = parts.facts;
    this.#news = new HeardNews(parts.facts.turns);
    this.#turnRequest = swarmTurn(request, {
      owner: this.#owner(),
      ceiling: turnsOfRun(parts.facts.turns)[0]?.opened.data.ceiling,
      tools: (turn) => {
        this.#delegating = turn;
        return supervisorTools(this, turn);
      },
      desk: () => this,
      turn: () => this.#delegatingTurn(),
    });
    const { agent, lineage, run } = this.#turnRequest;
    const limits = limitsWithin(agent, session.parts.limits, lineage, run.scope.budget.options);
    this.self = { agent, lineage, limits, ceiling: ceilingIn(this.#turnRequest, session.parts) };
    this.permits = createChildPermits(limits.fanOut, limits.fanOutQueue);
    this.driver = new OperatorDriver(parts.live, {
      session,
      supervisor: this.self,
      agents: new Map(request.swarm.agents.map((one) => [one.name, one])),
      run: run.scope,
      boundTools: this.#turnRequest.boundTools,
      decide: request.decide,
      gates: session.parts.hookRunner.gates([...session.parts.hooks, ...withOwn(lineage.hooks, agent.hooks)]),
    });
  }

  /** Reads the schedule of the session. @throws SwarmError of the ledger */
  static async open(session: OpenSession, request: SwarmRequest): Promise<SwarmRun> {
    const { session: id } = request.identity;
    const live = new LiveSchedule(id, await session.parts.ledger.read(id), session.log);
    return new SwarmRun(session, request, { live, facts: session.facts });
  }

  noteSeen(position: number): void {
    this.#news.see(position);
  }

  hasNews(): boolean {
    return this.#news.hasNews(this.driver);
  }

  /** Gives the supervisor an input. Never rejects. */
  begin(input: readonly UserPart[]): Promise<LastOutcome> {
    return this.#guard(async () => {
      this.#news.beginTurn();
      const outcome = await openTurn(this.#session, this.#turnRequest, input);
      if (this.#isBegun) return this.#follow(outcome);
      // Refused: whatever the session has under way is not this run's.
      this.driver.close('left');
      return outcome.type === 'handed-off' ? HANDED_OFF : outcome;
    });
  }

  /** Goes on with the run the session is at. Never rejects. */
  resume(): Promise<LastOutcome> {
    return this.#guard(async () => {
      const { openTurn: open, turns } = this.#facts;
      const last = turns.at(-1);
      const left = last === undefined || open !== undefined ? undefined : await this.#leftBetween();
      if (last === undefined || (open === undefined && left === undefined)) {
        const ended = await cutOffEnd(this.#waiting(), last, this.#turnRequest.agent);
        if (ended !== undefined) return this.#endOnceMore(ended);
        this.driver.close('left');
        return refusedOutcome({ kind: 'nothing-to-resume', message: 'the session has no open turn' });
      }
      await this.#takeUp();
      this.#begin();
      if (left !== undefined) return this.#follow(left, true);
      return this.#follow(await resumeTurn(this.#session, this.#turnRequest));
    });
  }

  /** Stops what a process left that went while it ended the run. */
  async #endOnceMore(outcome: Extract<LastOutcome, { readonly type: 'failed' | 'cancelled' }>) {
    await this.#takeUp();
    this.#count(outcome);
    this.#isBegun = true;
    this.driver.takeUp(causeOf(outcome));
    return endRun(this.#waiting(), outcome);
  }

  /** The run is the one that looks after the schedule from here on. */
  #begin(): void {
    if (this.#isBegun) return;
    this.#isBegun = true;
    this.driver.takeUp();
  }

  /** How the last turn ended, if the run has something left to do. */
  async #leftBetween(): Promise<TurnOutcome | undefined> {
    const last = this.#facts.turns.at(-1);
    const { ledger } = this.#session.parts;
    if (last?.closed === undefined) return undefined;
    if (wasStoppedAfter(last.closed, await ledger.read(this.#request.identity.session))) return undefined;
    const { agent } = this.#turnRequest;
    const outcome = await closedOutcome(last, last.closed, agent, ledger);
    const { schedule } = this.driver;
    const isOver = openWorks(schedule) === 0 && this.#news.unseen(this.driver).settled.length === 0;
    const { status } = last.closed.data;
    const { wakeAttempts } = this.self.limits.swarm;
    const { failedWakes } = this.#news;
    if (outcome.type === 'failed') {
      return failedWakes > 0 && failedWakes < wakeAttempts ? outcome : undefined;
    }
    if (outcome.type !== 'completed') return undefined;
    const isEnded = isOver && (status === 'completed' || schedule.finish !== undefined);
    return isEnded && schedule.finish === undefined ? undefined : outcome;
  }

  /** What the run used before counts, in all of its sessions. */
  async #takeUp(): Promise<void> {
    const { run, swarm } = this.#request;
    const turns = turnsOfRun(this.#facts.turns);
    const [first] = turns;
    if (first === undefined) return;
    const { ledger } = this.#session.parts;
    run.takeUp?.(first, await swarmTally(ledger, swarm.supervisor.name, turns, this.driver.schedule));
    for (const { closed } of turns.slice(0, -1)) if (closed !== undefined) this.#count(closed.data);
  }

  #count({ steps, toolCalls }: { readonly steps: number; readonly toolCalls: number }): void {
    this.#request.run.handedOff({}, { steps, toolCalls });
  }

  /** From the end of a turn to the end of the run. */
  async #follow(first: TurnOutcome, isHeard = false): Promise<LastOutcome> {
    let outcome = first;
    let isKnown = isHeard;
    for (;;) {
      this.#count(outcome);
      const ended = this.#noteTurn(outcome, isKnown);
      if (ended !== undefined) return endRun(this.#waiting(), ended);
      const next = await nextAfterTurn(this.#waiting());
      if (next.type !== 'wake') {
        return endRun(this.#waiting(), await outcomeAfter(this.#waiting(), next, outcome));
      }
      outcome = await this.#wake();
      isKnown = false;
    }
  }

  /** Takes in how a turn ended. Gives the outcome of the run where nothing can follow. */
  #noteTurn(outcome: TurnOutcome, isKnown: boolean): LastOutcome | undefined {
    this.#turn = undefined;
    if (outcome.type === 'completed') {
      this.#news.noteGood(outcome);
      this.#session.gaveWay(this.#news.hasYielded ? 'yielded' : 'completed');
      return undefined;
    }
    if (outcome.type !== 'failed') return outcome.type === 'handed-off' ? HANDED_OFF : outcome;
    const { wakeAttempts } = this.self.limits.swarm;
    if (!this.#news.noteFailed(outcome.failure, isKnown, wakeAttempts)) return outcome;
    this.#session.gaveWay('completed');
    return undefined;
  }

  async #wake(): Promise<TurnOutcome> {
    const { parts } = this.#session;
    const wake = wakeOf(this.driver, this.#news.failedWakes);
    const { blockings } = this.driver;
    const text = await wakeText(this.driver, this.#news.unseen(this.driver), { ledger: parts.ledger });
    const records = await parts.ledger.read(this.#request.identity.session);
    await this.#session.woke();
    this.#news.beginWake(wake.position, blockings);
    const session = { ...this.#session, facts: foldSession(records) };
    return openTurn(session, { ...this.#turnRequest, wake }, [{ type: 'text', text }]);
  }

  #waiting(): Waiting {
    const { run, swarm } = this.#request;
    return { session: this.#session, run, driver: this.driver, news: this.#news, mode: swarm.mode };
  }

  /** What could not be written or read leaves the run to whoever takes it up. */
  async #guard(work: () => Promise<LastOutcome>): Promise<LastOutcome> {
    try {
      return await work();
    } catch (error) {
      const failure = failureOf(error);
      await this.driver.stopAll({ type: 'detached', reason: failure.message, code: 'session-lost' });
      this.driver.close('left');
      this.#session.broke(failure.kind);
      return { type: 'left', failure, ...NOTHING, text: '' };
    }
  }

  /** The run, as turns of the supervisor see it: their ends are not its end. */
  #owner(): TurnOwner {
    const { run } = this.#request;
    return {
      scope: run.scope,
      get stopped() {
        return run.stopped;
      },
      result: new Promise(() => undefined),
      begin: () => true,
      attach: (turn) => {
        this.#turn = turn;
        this.#begin();
        turn.stop.signal.addEventListener('abort', () => this.#turnStopped(turn), { once: true });
        run.attach(turn);
      },
      attachGraph: () => undefined,
      handedOff: () => undefined,
      ended: () => undefined,
    };
  }

  /** A person stopped the run in its turn: what is below stops at the same time. */
  #turnStopped(turn: TurnScope): void {
    const { cause } = turn.stop;
    if (turn !== this.#turn || cause === undefined) return;
    if (cause.type === 'failed' && !isFinal(cause.failure)) return;
    this.driver.stopAll(cause).catch(() => undefined);
  }

  #delegatingTurn(): DelegatingTurn {
    const turn = this.#delegating;
    if (turn !== undefined) return turn;
    throw new SwarmError('machine-fault', 'a tool of a turn was called outside of one');
  }
}

interface OpenedParts {
  readonly live: LiveSchedule;
  readonly facts: SessionFacts;
}

const NOTHING = { steps: 0, toolCalls: 0 };

/** A supervisor declares nobody to hand over to. */
const HANDED_OFF: LastOutcome = refusedOutcome({
  kind: 'machine-fault',
  message: 'a supervisor cannot hand over',
});
