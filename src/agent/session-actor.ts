import { SwarmError } from '../errors.ts';
import type { SessionId } from '../ids.ts';
import type { LedgerRecord, NewRecord } from '../ledger/records.ts';
import { createSessionLog, type SessionLog } from '../ledger/session-log.ts';
import { foldSession, type SessionFacts } from '../ledger/turn-facts.ts';
import type { Hooks } from '../lifecycle/hooks.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { RememberedDecision } from '../tools/approvals.ts';
import { replayName } from '../tools/tool-names.ts';
import { type Conversation, createConversation } from '../turn/conversation.ts';
import type { StopCause, StopSignal } from '../turn/stop-signal.ts';
import type { TurnScope } from '../turn/turn-scope.ts';
import { createEffectQueue, type EffectQueue } from './effect-queue.ts';
import { serveInbox } from './session-inbox.ts';
import type { GraphAtWork, OpenSession, SessionHome, SessionJob, SessionParts } from './session-parts.ts';
import { failureOf } from './thrown-failure.ts';

interface Held {
  readonly log: SessionLog;
  readonly conversation: Conversation;
  readonly memory: Map<string, RememberedDecision>;
  readonly effects: EffectQueue;
  /** Ends what listens for the session. */
  readonly leave: AbortController;
  /** Sees the records of the job under way. */
  watcher?: (record: LedgerRecord) => void;
}

/**
 * The actor of one session in this process: a bounded mailbox of jobs, one at a time, and the ownership of the
 * session while there is work.
 */
export class SessionActor {
  readonly sessionId: SessionId;
  readonly #parts: SessionParts;
  readonly #home: SessionHome;
  readonly #mailbox: SessionJob[] = [];
  #draining: Promise<void> | undefined;
  #held: Held | undefined;
  #machine: Lifecycle<'agent'> | undefined;
  #turn: TurnScope | undefined;
  /** The turn in another session that goes on in place of one of this session. */
  #follows: (() => TurnScope | undefined) | undefined;
  #graph: GraphAtWork | undefined;
  /** Resolves at the next change of the turn under way. */
  #nextTurn = Promise.withResolvers<void>();
  #hooks: readonly Hooks[] = [];
  /** Told once the session is given back, or the next job begins. */
  readonly #afterJob: (() => void)[] = [];
  /** Why no turn is to go on in this process any more. */
  #detached: Extract<StopCause, { type: 'detached' }> | undefined;
  readonly #leaving = new AbortController();
  /** The job under way waits for its schedule. */
  #isBetweenTurns = false;
  /** Inputs that came meanwhile. */
  #heldMail = 0;

  constructor(sessionId: SessionId, parts: SessionParts, home: SessionHome) {
    this.sessionId = sessionId;
    this.#parts = parts;
    this.#home = home;
  }

  /** The turn under way, if there is one: here, or in the session that took over from this one. */
  get turn(): TurnScope | undefined {
    return this.#turn ?? this.#follows?.();
  }

  /** The stop of what is under way, a turn or a graph. */
  get stop(): StopSignal | undefined {
    return this.turn?.stop ?? this.#graph?.stop;
  }

  /** The graph under way, if there is one. */
  get graph(): GraphAtWork | undefined {
    return this.#graph;
  }

  /** The turn under way, once there is one, or `undefined` for a graph and when the session has nothing more to do. */
  async turnOrIdle(): Promise<TurnScope | undefined> {
    while (this.stop === undefined && this.#draining !== undefined) {
      await Promise.race([this.#nextTurn.promise, this.#draining]);
    }
    return this.turn;
  }

  /** Hooks that observe this session now: those of the runtime, then of the agent at work. */
  get hooks(): readonly Hooks[] {
    return this.#hooks;
  }

  /** Takes a job, or says that the mailbox is full. */
  submit(job: SessionJob): 'accepted' | 'mailbox-full' {
    if (this.#turn !== undefined && job.handOver?.(this.#turn) === true) return 'accepted';
    const isIdle = this.#draining === undefined;
    if (!isIdle && this.#mailbox.length >= this.#parts.limits.mailbox) return 'mailbox-full';
    // What is under way keeps the hooks it began with.
    if (isIdle) this.#hooks = [...this.#parts.hooks, ...job.hooks];
    if (job.wakes !== 'nothing') this.#queueInMachine(job);
    if (isIdle) this.#draining = this.#drain(job);
    else this.#mailbox.push(job);
    return 'accepted';
  }

  /** Takes back a job that waits in the mailbox; one that has begun is not touched. */
  withdraw(job: SessionJob): void {
    const at = this.#mailbox.indexOf(job);
    if (at < 0) return;
    this.#mailbox.splice(at, 1);
    this.#unqueueInMachine(job);
  }

  /** Leaves the turn under way open in the ledger and refuses what waits in the mailbox. */
  detach(reason: string): void {
    this.#detached = { type: 'detached', reason, code: 'runtime-closed' };
    for (const job of this.#mailbox.splice(0)) {
      this.#unqueueInMachine(job);
      job.refuse({ kind: 'runtime-closed', message: reason });
    }
    this.stop?.stop(this.#detached);
    this.#leaving.abort();
  }

  /** Whether it has something to do. */
  get isBusy(): boolean {
    return this.#draining !== undefined;
  }

  /** Resolves when the actor has nothing to do any more. */
  async settled(): Promise<void> {
    while (this.#draining !== undefined) await this.#draining;
  }

  /** At rest an input starts the next turn; while one is under way it waits in the mailbox. */
  #queueInMachine(job: SessionJob): void {
    const { root, parent, agent } = job.identity;
    const parentId = parent === undefined ? {} : { parentId: parent };
    this.#machine ??= this.#parts.lifecycle.start('agent', {
      id: this.sessionId,
      name: agent,
      rootId: root,
      session: this.sessionId,
      ...parentId,
      // A fault costs the turn, not the session: what waits in the mailbox gets a session opened anew.
      input: { agentId: this.sessionId, maxRestarts: Number.POSITIVE_INFINITY, ...parentId },
    });
    if (this.#isBetweenTurns) this.#heldMail += job.wakes === 'message' ? 1 : 0;
    else if (this.#machine.state !== 'idle' && job.wakes === 'message')
      this.#machine.send({ type: 'MESSAGE' });
    else if (this.#draining === undefined) this.#wakeMachine(job);
  }

  /** A machine that counts mail which is not there stays at work, and never ends. */
  #unqueueInMachine({ wakes }: SessionJob): void {
    if (wakes !== 'message') return;
    if (this.#heldMail > 0) this.#heldMail -= 1;
    else this.#machine?.send({ type: 'WITHDRAWN' });
  }

  /** Brings the machine to where a turn is under way, if it is not there. */
  #wakeMachine(job: SessionJob): void {
    const machine = this.#machine;
    if (job.wakes === 'nothing' || machine === undefined) return;
    if (machine.state === 'faulted') machine.send({ type: 'RESTART' });
    if (machine.state === 'running') return;
    machine.send(job.wakes === 'message' ? { type: 'MESSAGE' } : { type: 'WAKE', reason: 'resume' });
    if (job.wakes === 'message' && this.#heldMail > 0) this.#heldMail -= 1;
    this.#tellHeldMail();
  }

  /** A job that goes on with another turn, once its schedule has news: the agent waits, and its mail too. */
  #giveWay(status: 'completed' | 'yielded'): void {
    const machine = this.#machine;
    // To the machine, mail is the next turn.
    if (machine?.state !== 'running' || machine.context.mailboxSize > 0) return;
    this.#isBetweenTurns = true;
    machine.send(
      status === 'yielded' ? { type: 'TURN_YIELDED' } : { type: 'TURN_DONE', status, graph: 'live' },
    );
  }

  #wakeForGraph(): void {
    if (!this.#isBetweenTurns) return;
    this.#isBetweenTurns = false;
    this.#machine?.send({ type: 'WAKE', reason: 'graph' });
    this.#tellHeldMail();
  }

  /** Mail that came between two turns of a job, which would have begun a turn of its own. */
  #tellHeldMail(): void {
    for (; this.#heldMail > 0; this.#heldMail -= 1) this.#machine?.send({ type: 'MESSAGE' });
  }

  async #drain(first: SessionJob): Promise<void> {
    // Nothing is durable before the caller has its handle.
    await Promise.resolve();
    for (let job: SessionJob | undefined = first; job !== undefined; job = this.#mailbox.shift()) {
      this.#hooks = [...this.#parts.hooks, ...job.hooks];
      await this.#runJob(job);
      if (this.#mailbox.length === 0) await this.#release();
      for (const tell of this.#afterJob.splice(0)) tell();
    }
    this.#draining = undefined;
    this.#machine?.send({ type: 'STOP' });
    this.#machine = undefined;
    this.#home.retired(this);
  }

  async #runJob(job: SessionJob): Promise<void> {
    this.#wakeMachine(job);
    let broken: string | undefined;
    try {
      if (this.#detached !== undefined) throw new SwarmError('runtime-closed', this.#detached.reason);
      const held = await this.#hold(job);
      const records = await this.#parts.ledger.read(this.sessionId);
      const facts = foldSession(records);
      for (const [key, decided] of facts.remembered) rememberSession(held.memory, key, decided.data);
      held.effects.recover(lastTurnRecords(records, facts), facts.effectsDone);
      // A new turn makes the last one an older one, whose effects nobody looks for any more.
      if (job.wakes === 'message') await held.effects.idle();
      await job.run({
        ...this.#openSession(held, facts),
        broke(kind) {
          broken = kind;
        },
      });
      await held.effects.idle();
    } catch (error) {
      job.refuse(failureOf(error));
    } finally {
      this.#follows = undefined;
      this.#setTurn(undefined);
      const isBetween = this.#isBetweenTurns;
      this.#isBetweenTurns = false;
      if (job.wakes !== 'nothing' && !isBetween) {
        this.#machine?.send(
          broken === undefined
            ? { type: 'TURN_DONE', status: 'done' }
            : { type: 'TURN_BROKEN', kind: broken },
        );
      }
    }
  }

  #openSession(held: Held, facts: SessionFacts): Omit<OpenSession, 'broke'> {
    const parts = this.#parts;
    return {
      facts,
      log: held.log,
      parts,
      leaving: this.#leaving.signal,
      commitLast: (records) => this.#commitLast(held, records),
      setTurn: (scope) => this.#setTurn(scope),
      follow: (turn) => {
        this.#follows = turn;
      },
      setGraph: (graph) => {
        this.#graph = graph;
        this.#nextTurn.resolve();
        this.#nextTurn = Promise.withResolvers<void>();
        if (this.#detached !== undefined) graph?.stop.stop(this.#detached);
      },
      whenFree: (tell) => void this.#afterJob.push(tell),
      gaveWay: (status) => this.#giveWay(status),
      woke: async () => {
        await held.effects.idle();
        this.#wakeForGraph();
      },
      child: (event) => void this.#machine?.send(event),
      watch: (tell) => {
        held.watcher = tell;
      },
      turnSession: (agentPath) => ({
        sessionId: this.sessionId,
        rootId: held.log.identity.root,
        agentPath,
        ledger: parts.ledger,
        log: held.log,
        conversation: held.conversation,
        memory: held.memory,
        clock: parts.clock,
        lifecycle: parts.lifecycle,
        random: parts.random,
        report: (record) => this.#report(held.log, record),
        steered: () => {
          // A turn that pauses meanwhile keeps the text in the ledger.
          if (this.#machine?.state === 'running') this.#machine.send({ type: 'STEER' });
        },
      }),
    };
  }

  async #commitLast({ log, effects, leave }: Held, records: readonly NewRecord[]): Promise<void> {
    await effects.idle();
    if (this.#mailbox.length > 0 || effects.isWanted(records)) await log.commit(records);
    else {
      // Messages are for who has the session.
      leave.abort();
      await log.commitLast(records);
    }
  }

  #report(log: SessionLog, record: NewRecord): void {
    log.commit([record]).catch(() => {
      // The session was given back meanwhile: it is taken once more, for the fact alone.
      this.#home.current().submit({
        identity: log.identity,
        hooks: [],
        wakes: 'nothing',
        run: (session) =>
          session.log.commit([record]).then(
            () => undefined,
            () => undefined,
          ),
        refuse: () => undefined,
      });
    });
  }

  #setTurn(scope: TurnScope | undefined): void {
    this.#turn = scope;
    this.#graph = undefined;
    this.#nextTurn.resolve();
    this.#nextTurn = Promise.withResolvers<void>();
    if (scope === undefined) return;
    if (this.#detached !== undefined) scope.stop.stop(this.#detached);
    // What waits behind this turn may be what this turn waits for.
    const waiting = this.#mailbox.splice(0);
    const taken = new Set(waiting.filter((job) => job.handOver?.(scope) === true));
    this.#mailbox.unshift(...waiting.filter((job) => !taken.has(job)));
    for (const job of taken) this.#unqueueInMachine(job);
  }

  async #hold(job: SessionJob): Promise<Held> {
    const held = this.#held;
    // A session that nobody listens for any more, as its last append was refused, is taken anew.
    if (held !== undefined && !held.log.lost.aborted && !held.leave.signal.aborted) return held;
    await this.#release();
    const writer = await this.#parts.ledger.acquire(job.identity, { isNew: job.isNew });
    const log: SessionLog = createSessionLog(writer, {
      onCommitted: (records) => {
        effects.committed(records);
        for (const record of records) this.#held?.watcher?.(record);
      },
    });
    const effects = createEffectQueue({
      log,
      hooks: () => this.#hooks,
      runner: this.#parts.hookRunner,
      signal: this.#parts.signal,
    });
    const conversation = createConversation(this.#parts.ledger, this.sessionId, replayName);
    const leave = new AbortController();
    this.#held = { log, conversation, memory: new Map(), effects, leave };
    const { ids, limits } = this.#parts;
    void serveInbox(this.#parts.ledger, this.sessionId, this, {
      ids,
      signal: leave.signal,
      steeringQueue: limits.steeringQueue,
    });
    return this.#held;
  }

  async #release(): Promise<void> {
    const held = this.#held;
    this.#held = undefined;
    if (held === undefined) return;
    held.leave.abort();
    // A store that cannot give the session back loses it to the next owner, who fences this process.
    await held.log.release().catch(() => undefined);
  }
}

/** Records of the last turn: effects of older ones are done or were given up with it. */
function lastTurnRecords(records: readonly LedgerRecord[], facts: SessionFacts): readonly LedgerRecord[] {
  const last = facts.turns.at(-1);
  return last === undefined ? [] : records.filter((record) => record.turn === last.turnId);
}

function rememberSession(
  memory: Map<string, RememberedDecision>,
  key: string,
  decided: {
    readonly decision: 'approve' | 'deny';
    readonly request: string;
    readonly reason?: string | undefined;
  },
): void {
  const { decision, request, reason } = decided;
  memory.set(key, { decision, by: request, ...(reason === undefined ? {} : { reason }) });
}
