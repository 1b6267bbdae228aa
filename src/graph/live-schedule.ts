import type { LedgerRecord, NewRecord } from '../ledger/records.ts';
import type { SessionLog } from '../ledger/session-log.ts';
import { type Proposal, Schedule } from './schedule.ts';
import type { UpdateRequest } from './schedule-update.ts';
import { isSettled, type WorkState } from './work-state.ts';

/** Facts of one append: a pass over thousands of works is several of them. */
const MAX_BATCH = 100;

/**
 * A schedule with the session its facts stand in: what is written here is durable, and then applied. Only the owner of
 * the session has one, so that revisions have one author.
 */
export class LiveSchedule {
  readonly schedule: Schedule;
  readonly #log: SessionLog;
  /** Where each settled work was settled in the session. */
  readonly #settledAt = new Map<string, number>();
  /** The facts by which works were entered. */
  readonly #entries = new Map<string, string>();
  #updating: Promise<unknown> = Promise.resolve();

  /**
   * Takes up the schedule of a session, that after the last one that ended. Cost: one fold over its facts.
   */
  constructor(session: string, records: readonly LedgerRecord[], log: SessionLog) {
    this.schedule = new Schedule(session);
    this.#log = log;
    const ended = records.findLastIndex(({ type }) => type === 'graph.finished');
    for (const record of records.slice(ended + 1)) this.#apply(record);
  }

  /** Sequence of the last fact of the session: what was said up to here has been seen by whoever looks now. */
  get position(): number {
    return this.#log.headSeq;
  }

  /** Works that were settled after a place in the session, in that order. */
  settledAfter(position: number): readonly WorkState[] {
    // Facts come in the order of the session.
    return [...this.#settledAt]
      .filter(([, seq]) => seq > position)
      .flatMap(([work]) => this.schedule.works.get(work) ?? []);
  }

  /** The works that were settled last, newest first. */
  lastSettled(count: number): readonly WorkState[] {
    return this.settledAfter(0).slice(-count).reverse();
  }

  /**
   * Makes a change, one at a time. `make` sees the schedule as it is when its time comes; `basis` is the revision the
   * change was decided on.
   * @throws SwarmError when the fact could not be made durable
   */
  update(make: (schedule: Schedule) => UpdateRequest, basis?: number): Promise<Proposal> {
    const made = this.#updating.then(async () => {
      const proposal = this.schedule.propose(make(this.schedule), basis);
      if (proposal.type === 'new') await this.write([{ type: 'graph.updated', data: proposal.data }]);
      return proposal;
    });
    this.#updating = made.catch(() => undefined);
    return made;
  }

  /** @throws SwarmError when the facts could not be made durable */
  async write(facts: readonly NewRecord[]): Promise<void> {
    for (let at = 0; at < facts.length; at += MAX_BATCH) {
      for (const record of await this.#log.commit(facts.slice(at, at + MAX_BATCH))) this.#apply(record);
    }
  }

  /** Id of the fact by which a work was entered. */
  entryOf(work: WorkState): string | undefined {
    return this.#entries.get(work.work);
  }

  #apply(record: LedgerRecord): void {
    this.schedule.apply(record);
    if (record.type === 'node.started') this.#entries.set(record.data.work, record.id);
    if (record.type !== 'node.finished' && record.type !== 'node.skipped') return;
    const work = this.schedule.works.get(record.data.work);
    if (work !== undefined && isSettled(work.status)) this.#settledAt.set(work.work, record.seq);
  }
}
