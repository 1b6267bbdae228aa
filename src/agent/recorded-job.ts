import { isSwarmError, SwarmError } from '../errors.ts';
import type { Failure, LedgerRecord, NewRecord } from '../ledger/records.ts';
import { standingOf } from '../ledger/run-standing.ts';
import type { ActiveRun } from './active-run.ts';
import type { AnyAgent } from './define-agent.ts';
import type { RunResult } from './run-result.ts';
import type { OpenSession, SessionJob, SessionParts } from './session-parts.ts';
import { withSession } from './session-task.ts';
import { endedFact, settledFact } from './settled-run.ts';
import { failureOf } from './thrown-failure.ts';
import type { WorkUnit } from './turn-owner.ts';

/** Whose run a job is, for whoever waits for it in another process. */
export interface RunTicket {
  /** Id under which it was given. */
  readonly run: string;
  /** The run that took it up, where that is another one. */
  readonly by?: string | undefined;
  /** The session it was given to, and whose that is. */
  readonly session: string;
  readonly name: string;
  /** It is to begin; nothing is done where it has begun already. */
  readonly begins?: true;
  /** Its session is held to be new. */
  readonly isNew?: boolean | undefined;
  /** Of a child: the session that asked for it, and the root of both. */
  readonly parent?: { readonly session: string; readonly root: string };
  /** The agent whose turns the session has; absent for a graph, whose output is in no turn of an agent. */
  readonly agent: AnyAgent | undefined;
}

/** What became of a run in this process. */
export type Recorded =
  /** Told in the ledger. */
  | { readonly type: 'told'; readonly result: RunResult<unknown> }
  /** There was nothing to do. */
  | { readonly type: 'none' }
  /** Nothing is told: it is open, for this or another process. */
  | { readonly type: 'open'; readonly kind: string };

/** Kinds of a failed run that say nothing of it: somebody else, or this process later, brings it to an end. */
const PASSING: ReadonlySet<string> = new Set([
  'runtime-closed',
  'session-owned-elsewhere',
  'session-lost',
  // What was at work on the session here before has not quite ended.
  'duplicate-instance',
  'ledger-closed',
  'ledger-unavailable',
  'ledger-indeterminate',
  'ledger-rejected',
]);

/** What had ended is told by its facts. */
const NOTHING = 'nothing-to-resume';

const AT_WORK: Failure = {
  kind: 'session-owned-elsewhere',
  message: 'a turn of the session is under way in this process',
};

/** Nothing of the batch was written, and parts of it may be. */
const TOO_MUCH = ['ledger-limit', 'invalid-record'] as const;

const BEGUN: Failure = { kind: 'turn-open', message: 'the run was begun already' };

/** A run that tells in the ledger what became of it, before its session is given back. */
export class RecordedRun {
  readonly recorded: Promise<Recorded>;
  readonly #ticket: RunTicket;
  readonly #resolve: (recorded: Recorded) => void;
  /** Somebody sees to what is told. */
  #isTaken = false;
  /** What was told with the end of its last turn. */
  #told: RunResult<unknown> | undefined;

  /** The part of the run that is worked on here. */
  readonly unit: WorkUnit;

  constructor(ticket: RunTicket) {
    this.#ticket = ticket;
    this.unit = {
      session: ticket.session,
      resumedBy: ticket.by,
      commitEnd: (session, batch, result) => this.#commitEnd(session, batch, result),
    };
    const { promise, resolve } = Promise.withResolvers<Recorded>();
    this.recorded = promise;
    this.#resolve = resolve;
  }

  /** The job of the run with the fact of its end behind it. */
  around(job: SessionJob, { result }: Pick<ActiveRun, 'result'>): SessionJob {
    return {
      ...job,
      isNew: this.#ticket.isNew,
      run: async (session) => {
        if (await this.#wasBegun(session)) return this.#refuse(job, BEGUN);
        this.#isTaken = true;
        const whenFree: (() => void)[] = [];
        await job.run({ ...session, whenFree: (tell) => void whenFree.push(tell) });
        for (const tell of whenFree) tell();
        const recorded = await this.#tell(await result, session.parts, session);
        session.whenFree(() => this.#resolve(recorded));
      },
      refuse: (failure) => this.#refuse(job, failure),
      // Another place of this process has the session: as good as elsewhere, and nothing waits behind it.
      handOver: () => {
        this.#refuse(job, AT_WORK);
        return true;
      },
    };
  }

  #refuse(job: SessionJob, failure: Failure): void {
    this.#isTaken = true;
    job.refuse(failure);
    this.#resolve({ type: 'open', kind: failure.kind });
  }

  /**
   * A run may be given twice, and both be found new before either has the session: only whoever has it knows whether
   * the other was first, or whether it was told to be over.
   */
  async #wasBegun({ facts, parts, log }: OpenSession): Promise<boolean> {
    const { begins, run } = this.#ticket;
    if (begins !== true || facts.head === undefined) return false;
    const records = await parts.ledger.read(log.identity.session);
    return records.some(
      ({ type, data }) => (type === 'turn.opened' || type === 'run.settled') && data.run === run,
    );
  }

  /** Tells what became of a run whose job was never begun. */
  async ended(result: RunResult<unknown>, parts: SessionParts): Promise<void> {
    if (this.#isTaken) return;
    this.#isTaken = true;
    this.#resolve(await this.#tell(result, parts));
  }

  /**
   * A run that ends with a turn is told to be over in the append that closes the turn: one write less, and nobody finds
   * the one without the other. Where they are too much for one append, or nothing is to be told, the turn is closed alone.
   * In the session that it was given to a run has one turn, whose counts are its own.
   */
  async #commitEnd(
    session: OpenSession,
    batch: readonly NewRecord[],
    result: RunResult<unknown>,
  ): Promise<void> {
    if (!this.#isHere(session) || !isToldAsIs(result)) {
      await session.log.commit(batch);
      return;
    }
    try {
      await session.commitLast([...batch, await this.#settledFact(result, session.parts)]);
      this.#told = result;
    } catch (error) {
      if (!TOO_MUCH.some((code) => isSwarmError(error, code))) throw error;
      await session.log.commit(batch);
    }
  }

  /** A run that was taken up may have come to another session than the one it was given to. */
  #isHere({ log }: Pick<OpenSession, 'log'>): boolean {
    return log.identity.session === this.#ticket.session;
  }

  async #tell(
    result: RunResult<unknown>,
    parts: SessionParts,
    session?: Pick<OpenSession, 'log' | 'commitLast'>,
  ): Promise<Recorded> {
    if (this.#told !== undefined) return { type: 'told', result: this.#told };
    if (result.status === 'failed' && PASSING.has(result.error.kind)) {
      return { type: 'open', kind: result.error.kind };
    }
    try {
      const fact = await this.#fact(result, parts);
      // Somebody else ended it, and told, before this process had the session.
      if (fact === undefined) return { type: 'none' };
      if (session !== undefined && this.#isHere(session)) await session.commitLast([fact]);
      else await this.#tellElsewhere(fact, parts);
      return { type: 'told', result };
    } catch (error) {
      return { type: 'open', kind: failureOf(error).kind };
    }
  }

  async #tellElsewhere(fact: NewRecord, { ledger, registry }: SessionParts): Promise<void> {
    const { session, name, parent } = this.#ticket;
    const above = parent === undefined ? {} : { parent: parent.session };
    const identity = { session, root: parent?.root ?? session, agent: name, ...above };
    await withSession({ registry, ledger: Promise.resolve(ledger) }, identity, {
      // Whoever else was asked to see to it may have told meanwhile.
      between: async ({ log }) => {
        if (!wasTold(await ledger.read(session), fact)) await log.commit([fact]);
      },
      inside: () => Promise.reject(new SwarmError('session-owned-elsewhere', AT_WORK.message)),
    });
  }

  async #fact(result: RunResult<unknown>, parts: SessionParts): Promise<NewRecord | undefined> {
    if (result.status !== 'failed' || result.error.kind !== NOTHING) return this.#settledFact(result, parts);
    const { session, agent } = this.#ticket;
    const { ledger, agents: named } = parts;
    return endedFact(session, this.#ids(parts), { ledger, agent, named });
  }

  #settledFact(result: RunResult<unknown>, parts: SessionParts): Promise<NewRecord> {
    const isGraph = this.#ticket.agent === undefined;
    return settledFact(result, { ...this.#ids(parts), isGraph }, parts.ledger);
  }

  #ids({ pool: desk }: SessionParts) {
    const { run, by } = this.#ticket;
    const pool = desk === undefined ? {} : { pool: desk.name };
    return { run, ...pool, ...(by === undefined || by === run ? {} : { by }) };
  }
}

/** Whether a result says all there is to tell. */
function isToldAsIs(result: RunResult<unknown>): boolean {
  return result.status !== 'failed' || !(PASSING.has(result.error.kind) || result.error.kind === NOTHING);
}

/** Whether the last that was told of a run is its end, told to the same one. */
function wasTold(records: readonly LedgerRecord[], { type, data }: NewRecord): boolean {
  if (type !== 'run.settled') return false;
  const standing = standingOf(records, data.run, 0);
  return standing.type === 'settled' && standing.told.data.by === data.by;
}
