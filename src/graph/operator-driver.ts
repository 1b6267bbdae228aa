import type { ChildEnd } from '../agent/child-sessions.ts';
import { failureOf } from '../agent/thrown-failure.ts';
import type { NewRecord } from '../ledger/records.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { StopCause } from '../turn/stop-signal.ts';
import { type Admission, type AdmissionLimits, admit, type DeferReason } from './admission.ts';
import { enterWork } from './enter-work.ts';
import type { LiveSchedule } from './live-schedule.ts';
import { exceededBound } from './operator-bounds.ts';
import { preparingFacts } from './pass-facts.ts';
import { type OperatorParts, operatorSession, runOperator } from './run-operator.ts';
import type { Proposal, Schedule } from './schedule.ts';
import type { UpdateRequest } from './schedule-update.ts';
import { openWorks } from './swarm-status.ts';
import { finishedFact, unenteredFact } from './work-result.ts';
import { isActive, type WorkState } from './work-state.ts';

/** Rounds in which one pass brings a schedule to where works can be claimed. */
const MAX_ROUNDS = 8;

/** A work under way in this process. */
interface RunningWork {
  readonly work: WorkState;
  readonly controller: AbortController;
  cause: StopCause | undefined;
  /** Its session, or one below it, waits for a person. */
  isBlocked: boolean;
}

/**
 * Looks after the works of one schedule: passes over it, one at a time, claim what can run and begin it, all at once,
 * and each work that settles leads to the next pass. It outlives the turns of the supervisor and ends with its run.
 */
export class OperatorDriver {
  readonly live: LiveSchedule;
  readonly #parts: OperatorParts;
  readonly #running = new Map<string, RunningWork>();
  /** Works that are open and that this process does not go on with, with how they were left. */
  readonly #left = new Map<string, Extract<ChildEnd, { readonly type: 'paused' | 'left' }>>();
  readonly #machine: Lifecycle<'graph-supervisor'>;
  #passing: Promise<void> | undefined;
  #isPassDue = false;
  #stopping: StopCause | undefined;
  #isStopMade = false;
  #broken: unknown;
  #change = Promise.withResolvers<void>();
  /** Counts the times a work began to wait for a person. */
  #blockings = 0;
  #deferred: ReadonlyMap<WorkState, DeferReason> = new Map();

  constructor(live: LiveSchedule, parts: OperatorParts) {
    this.live = live;
    this.#parts = parts;
    const { identity } = parts.session.log;
    this.#machine = parts.session.parts.lifecycle.start('graph-supervisor', {
      id: `${identity.session}.graph`,
      parentId: identity.session,
      rootId: identity.root,
      session: identity.session,
      input: { graphId: identity.session },
    });
  }

  /** Works that could have run at the last pass and were left for a later one, with why. */
  get deferred(): ReadonlyMap<WorkState, DeferReason> {
    return this.#deferred;
  }

  get schedule(): Schedule {
    return this.live.schedule;
  }

  /** Resolves at the next change: a work began, ended or waits for a person. */
  get changed(): Promise<void> {
    return this.#change.promise;
  }

  /** Set once a fact could not be written: nothing more is done here. */
  get broken(): unknown {
    return this.#broken;
  }

  /** Works under way in this process. */
  get runningCount(): number {
    return this.#running.size;
  }

  /** Nothing runs here and nothing can be begun: what is open waits for somebody outside. */
  get isQuiet(): boolean {
    return this.#running.size === 0 && this.#passing === undefined;
  }

  /** How often works began to wait for a person; who has heard of as many has heard of all. */
  get blockings(): number {
    return this.#blockings;
  }

  /** Works that are left open, with why. */
  get left(): ReadonlyMap<string, Extract<ChildEnd, { readonly type: 'paused' | 'left' }>> {
    return this.#left;
  }

  isBlocked(work: WorkState): boolean {
    return this.#running.get(work.work)?.isBlocked ?? this.#left.get(work.work)?.type === 'paused';
  }

  /** Works that wait for a person now, here or left in the ledger. O(works). */
  blockedWorks(): readonly WorkState[] {
    return [...this.schedule.works.values()].filter((work) => this.isBlocked(work));
  }

  /** Works that were claimed and have no outcome, in this process or an earlier one. O(works). */
  get hasUnsettled(): boolean {
    return [...this.schedule.works.values()].some(({ status }) => isActive(status));
  }

  /** Goes on with what an earlier process claimed or entered, then with the schedule; or stops it, with a cause. */
  takeUp(stopping?: StopCause): void {
    if (this.schedule.revision === 0) return;
    this.#stopping = stopping;
    this.#machine.send({ type: 'RESUMED' });
    for (const work of this.schedule.works.values()) {
      if (!isActive(work.status) || this.#running.has(work.work)) continue;
      this.#begin(work);
    }
    this.kick();
  }

  /**
   * Changes the schedule, and does what follows from it.
   * @throws SwarmError when the fact could not be made durable
   */
  async update(make: (schedule: Schedule) => UpdateRequest, basis?: number): Promise<Proposal> {
    const proposal = await this.live.update(make, basis);
    if (proposal.type !== 'new') return proposal;
    this.#machine.send({ type: 'UPDATED', revision: proposal.data.revision });
    this.#endStopped();
    this.kick();
    return proposal;
  }

  /** One more pass, now or after the one under way. */
  kick(): void {
    if (this.#broken !== undefined) return;
    this.#isPassDue = true;
    this.#passing ??= this.#passes().finally(() => {
      this.#passing = undefined;
      this.#tell();
    });
  }

  /**
   * Stops everything, and waits until it has settled. The facts remain: a later update goes on with the schedule.
   * @throws SwarmError when the fact could not be made durable
   */
  async stopAll(cause: StopCause): Promise<void> {
    this.#stopping = cause;
    for (const running of this.#running.values()) end(running, cause);
    if (cause.type !== 'detached' && openWorks(this.schedule) > 0 && !this.#isStopMade) {
      this.#isStopMade = true;
      const reason = cause.type === 'failed' ? cause.failure.message : cause.reason;
      const update = `stop of ${this.live.schedule.session} at ${this.live.position}`;
      await this.update(() => ({ update, stops: [{ target: '*', reason }] }));
    }
    while (!this.isQuiet && this.#broken === undefined) await this.changed;
  }

  /** Waits for the pass under way: what can run by now is begun. */
  async passed(): Promise<void> {
    await this.#passing;
  }

  /** Waits for what is under way, however it ends. */
  async settled(): Promise<void> {
    while (!this.isQuiet) await this.changed;
  }

  /** The end of the run: what is left stays in the ledger. */
  close(how: 'finished' | 'failed' | 'stopped' | 'left'): void {
    const machine = this.#machine;
    if (how === 'finished') machine.send({ type: 'FINISH' });
    if (how === 'failed') machine.send({ type: 'FAIL', kind: 'failed' });
    if (how === 'stopped') machine.send({ type: 'STOP' });
    if (how === 'left') this.#parts.session.parts.lifecycle.stopTree(machine.id);
    else machine.send({ type: 'CLOSED' });
  }

  async #passes(): Promise<void> {
    try {
      while (this.#isPassDue && this.#broken === undefined) {
        this.#isPassDue = false;
        await this.#pass();
        const { state } = this.#machine;
        if (state === 'reconciling' || state === 'closing') this.#machine.send({ type: 'PASS_DONE' });
      }
    } catch (error) {
      this.#break(error);
    }
  }

  async #pass(): Promise<void> {
    let admission = this.#admission();
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const facts = preparingFacts(admission, (work) => this.#running.has(work.work));
      if (facts.length === 0) break;
      await this.live.write(facts);
      admission = this.#admission();
    }
    this.#deferred = new Map(admission.deferred.map(({ work, reason }) => [work, reason]));
    if (this.#stopping !== undefined) return;
    const claimed = await this.#claim(admission.admit);
    for (const work of claimed) this.#begin(work);
  }

  #admission(): Admission {
    const { activations, fanOut } = this.#parts.supervisor.limits;
    const limits: AdmissionLimits = { activations, children: fanOut };
    return admit(this.schedule, limits);
  }

  /** Exactly one claim a work: the session has one owner, and this is the one place in it that claims. */
  async #claim(works: readonly WorkState[]): Promise<readonly WorkState[]> {
    const facts: NewRecord[] = [];
    const claimed: WorkState[] = [];
    for (const work of works) {
      const over = exceededBound(this.#parts, work);
      if (over === undefined) {
        claimed.push(work);
        facts.push(this.#claimFact(work));
      } else facts.push(unenteredFact(work, 'failed', over));
    }
    await this.live.write(facts);
    if (claimed.length < works.length) this.#isPassDue = true;
    return claimed;
  }

  #claimFact(work: WorkState): NewRecord {
    const { operator } = work;
    const name = operator.spec.operator;
    const activation = operator.works.filter((one) => one.claimed !== undefined).length + 1;
    const child = operatorSession(this.schedule.session, name);
    const { revision } = this.schedule;
    return { type: 'graph.claimed', data: { work: work.work, operator: name, activation, revision, child } };
  }

  #begin(work: WorkState): void {
    const running: RunningWork = {
      work,
      controller: new AbortController(),
      cause: undefined,
      isBlocked: false,
    };
    this.#running.set(work.work, running);
    this.#machine.send({ type: 'WORK_STARTED', work: work.work });
    if (this.#stopping !== undefined) end(running, this.#stopping);
    this.#endStopped();
    void this.#run(running).then(
      (status) => this.#ended(running, status),
      (error) => {
        this.#ended(running, 'broken');
        this.#break(error);
      },
    );
  }

  #ended({ work, isBlocked }: RunningWork, status: string): void {
    this.#running.delete(work.work);
    if (isBlocked) this.#machine.send({ type: 'WORK_UNPARKED', work: work.work });
    this.#machine.send({ type: 'WORK_SETTLED', work: work.work, status });
    this.kick();
    this.#tell();
  }

  /** Everything of one work between its claim and its outcome. Throws where a fact cannot be written. */
  async #run(running: RunningWork): Promise<string> {
    const { work, controller } = running;
    const { clock, ledger, limits } = this.#parts.session.parts;
    const startedMs = clock.monotonicMs();
    const prompt = await enterWork(this.#parts, this.live, {
      work,
      signal: controller.signal,
      leaves: () => running.cause?.type === 'detached',
    });
    if (prompt === undefined) return work.status;
    const end = await runOperator(this.#parts, {
      work,
      entry: this.live.entryOf(work) ?? '',
      prompt,
      signal: controller.signal,
      stopCause: () => running.cause ?? STOPPED,
      watch: { waiting: (isWaiting) => this.#wait(running, isWaiting) },
    });
    if (end.type === 'paused' || end.type === 'left') {
      this.#left.set(work.work, end);
      return end.type;
    }
    // What is lost while the run leaves is found by whoever takes it up.
    if (end.type === 'lost' && running.cause?.type === 'detached') return end.type;
    const store = { ledger, maxInlineBytes: limits.ledger.maxInlineBytes };
    await this.live.write([await finishedFact(work, end, store, clock.monotonicMs() - startedMs)]);
    return end.type;
  }

  #wait(running: RunningWork, isWaiting: boolean): void {
    if (running.isBlocked === isWaiting) return;
    running.isBlocked = isWaiting;
    if (isWaiting) this.#blockings += 1;
    const { work } = running.work;
    this.#machine.send(isWaiting ? { type: 'WORK_PARKED', work } : { type: 'WORK_UNPARKED', work });
    this.#tell();
  }

  /** Ends what runs and is not to. */
  #endStopped(): void {
    for (const running of this.#running.values()) {
      const { stopped } = running.work;
      if (stopped !== undefined) end(running, { type: 'cancelled', reason: stopped.reason });
    }
  }

  #break(error: unknown): void {
    if (this.#broken !== undefined) return;
    this.#broken = error;
    const { message } = failureOf(error);
    const cause: StopCause = { type: 'detached', reason: message, code: 'session-lost' };
    for (const running of this.#running.values()) end(running, cause);
    this.#tell();
  }

  #tell(): void {
    const told = this.#change;
    this.#change = Promise.withResolvers<void>();
    told.resolve();
  }
}

const STOPPED: StopCause = { type: 'interrupted', reason: 'the work was stopped' };

function end(running: RunningWork, cause: StopCause): void {
  if (running.controller.signal.aborted) return;
  running.cause = cause;
  running.controller.abort();
}
