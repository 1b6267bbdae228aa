import type { LedgerRecord } from '../ledger/records.ts';
import { type OperatorRecord, operatorRecordOf, RecentRecords } from './operator-records.ts';
import {
  checkUpdate,
  fingerprintOf,
  type UpdateBasis,
  type UpdateRejection,
  type UpdateRequest,
} from './schedule-update.ts';
import { noteFact, type WorkFact } from './work-facts.ts';
import type { GraphUpdate, OperatorState, Verdict, WorkState, WorkStatus } from './work-state.ts';
import { WorkStore } from './work-store.ts';

/** What became of a proposed update. */
export type Proposal =
  /** To be committed as `graph.updated` and then applied. */
  | { readonly type: 'new'; readonly data: GraphUpdate }
  /** The very same update was made before: nothing is left to do. */
  | { readonly type: 'repeated'; readonly revision: number }
  | ({ readonly type: 'rejected' } & UpdateRejection);

/** What a schedule as a whole is at. */
export type ScheduleStatus =
  /** Nothing was ever scheduled. */
  | 'empty'
  /** Something runs or can be done. */
  | 'active'
  /** Nothing can be done: works wait for inputs, people, time or further updates. */
  | 'waiting'
  /** Everything is settled and nothing of it completed. */
  | 'failed'
  /** Finished, with works that are not settled. */
  | 'closing'
  | 'completed'
  /** Facts contradict each other: nothing is scheduled any more. See `faults`. */
  | 'corrupt';

/** Records that are kept in order for views. */
const RECENT_RECORDS = 64;

type GraphFact = Extract<LedgerRecord, { readonly type: `graph.${string}` | `node.${string}` }>;

/**
 * The state of one durable schedule: a pure function of the set of facts it was given. In whichever order facts come,
 * and however often, the same set gives the same state; a fact that names what is not known yet waits for it. Facts
 * that contradict each other leave it `corrupt`, and a corrupt schedule offers nothing to do.
 *
 * It serves graphs in code and schedules a model makes alike. The owner of the session asks {@link propose} for the
 * fact of a change, commits it, and applies what was committed; {@link actionable} says what to do next. Applying a
 * fact costs O(dependents of the work it settles), whatever the size of the schedule.
 */
export class Schedule {
  /** Session the schedule belongs to. */
  readonly session: string;
  readonly #store = new WorkStore((work) => this.#welcome(work));
  readonly #bySession = new Map<string, OperatorState>();
  readonly #records = new Map<string, OperatorRecord>();
  readonly #recent = new RecentRecords(RECENT_RECORDS);
  readonly #seen = new Set<string>();
  readonly #faults = new Set<string>();
  readonly #updates = new Map<string, GraphUpdate>();
  readonly #fingerprints = new Map<number, string>();
  /** Facts that wait for what they name. */
  readonly #laterUpdates = new Map<number, GraphUpdate>();
  readonly #laterFacts = new Map<string, WorkFact[]>();
  readonly #laterRecords = new Map<string, OperatorRecord[]>();
  readonly #waitingForRecord = new Map<string, WorkState[]>();
  /** Why the next update cannot be applied yet: it names a work that other facts may still bring. */
  #blocked: string | undefined;
  #revision = 0;
  #stoppedAt = 0;
  #finish: GraphUpdate['finish'];
  #isEnded = false;

  constructor(session: string) {
    this.session = session;
  }

  /** Updates applied so far, without gaps. */
  get revision(): number {
    return this.#revision;
  }

  /** Counts the facts the state is made of: the same for the same set, another for every other state. */
  get version(): number {
    return this.#seen.size + this.#records.size;
  }

  get works(): ReadonlyMap<string, WorkState> {
    return this.#store.works;
  }

  get operators(): ReadonlyMap<string, OperatorState> {
    return this.#store.operators;
  }

  /** How many works have a status. */
  count(status: WorkStatus): number {
    return this.#store.count(status);
  }

  /** Works in child sessions that were claimed and are not settled. */
  get activeChildren(): number {
    return this.#store.activeChildren;
  }

  /** What the update that closed the schedule said. */
  get finish(): GraphUpdate['finish'] {
    return this.#finish;
  }

  /** Whether the fact that ends the schedule is known. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** The operator a session is bound to. */
  operatorOf(session: string): OperatorState | undefined {
    return this.#bySession.get(session);
  }

  /** A committed record of an operator. */
  record(id: string): OperatorRecord | undefined {
    return this.#records.get(id);
  }

  /** The newest records of all operators, oldest first. */
  get recentRecords(): readonly OperatorRecord[] {
    return this.#recent.list;
  }

  /** What contradicts each other or names what nobody knows, in code unit order; empty if all is well. */
  get faults(): readonly string[] {
    const blocked = this.#blocked === undefined ? [] : [this.#blocked];
    return [...this.#faults, ...blocked].sort();
  }

  /** Works with something to be done about them, in the order of the schedule. None while facts contradict. */
  actionable(): readonly (readonly [WorkState, Verdict])[] {
    return this.#isCorrupt ? [] : this.#store.actionable();
  }

  get status(): ScheduleStatus {
    if (this.#isCorrupt) return 'corrupt';
    if (this.works.size === 0 && this.#finish === undefined) return 'empty';
    const held = this.count('claimed') + this.count('running') + this.count('retrying');
    const open = held + this.count('waiting') + this.count('ready') + this.count('indeterminate');
    if (this.#finish !== undefined) return open > 0 ? 'closing' : 'completed';
    if (this.count('running') > 0 || this.#store.hasActionable) return 'active';
    return open > 0 || this.count('completed') > 0 ? 'waiting' : 'failed';
  }

  /**
   * The fact of a change, or why there is none. `basis`: the revision the change was decided on; one that was decided
   * before everything was stopped does not set it going again.
   */
  propose(request: UpdateRequest, basis = this.#revision): Proposal {
    const fingerprint = fingerprintOf(request);
    const before = this.#updates.get(request.update);
    if (before !== undefined) {
      if (before.fingerprint === fingerprint) return { type: 'repeated', revision: before.revision };
      const message = `the update ${request.update} was made before with other content`;
      return { type: 'rejected', code: 'identity-reused', message };
    }
    if (basis < this.#stoppedAt && (request.works ?? []).length > 0) {
      const message = 'everything was stopped after this was decided';
      return { type: 'rejected', code: 'stopped-meanwhile', message };
    }
    const isCommitted = (record: string) => this.#records.has(record);
    const rejection = checkUpdate(request, { ...this.#basis(), isCommitted });
    if (rejection !== undefined) return { type: 'rejected', ...rejection };
    const { update, operators = [], works = [], stops = [], finish } = request;
    const rest = finish === undefined ? {} : { finish };
    const revision = this.#revision + 1;
    return { type: 'new', data: { revision, update, fingerprint, operators, works, stops, ...rest } };
  }

  /** Takes in a fact of the schedule's own session or of an operator's. Others, and known ones, change nothing. */
  apply(fact: LedgerRecord): void {
    if (fact.session !== this.session) {
      this.#applyRecord(fact);
      return;
    }
    if (!isGraphFact(fact) || this.#seen.has(fact.id)) return;
    this.#seen.add(fact.id);
    if (fact.type === 'graph.updated') this.#takeUpdate(fact.data);
    else if (fact.type === 'graph.finished') this.#isEnded = true;
    else this.#takeFact(fact);
    if (this.#blocked !== undefined) this.#advance();
  }

  get #isCorrupt(): boolean {
    return this.#faults.size > 0 || this.#blocked !== undefined;
  }

  #basis(): UpdateBasis {
    return { isFinished: this.#finish !== undefined, works: this.works, operators: this.operators };
  }

  #takeUpdate(data: GraphUpdate): void {
    const known = this.#fingerprints.get(data.revision);
    if (known === undefined) {
      this.#fingerprints.set(data.revision, data.fingerprint);
      this.#laterUpdates.set(data.revision, data);
    } else this.#faults.add(`revision ${data.revision} stands twice`);
    this.#advance();
  }

  /** Revisions have no gaps: what is beyond one waits until it is filled. */
  #advance(): void {
    this.#blocked = undefined;
    let next = this.#laterUpdates.get(this.#revision + 1);
    while (next !== undefined && this.#blocked === undefined) {
      this.#applyUpdate(next);
      next = this.#laterUpdates.get(this.#revision + 1);
    }
  }

  #applyUpdate(data: GraphUpdate): void {
    const rejection = this.#updates.has(data.update)
      ? { code: 'identity-reused', message: data.update }
      : checkUpdate(data, this.#basis());
    const fault = `revision ${data.revision}: ${rejection?.code}: ${rejection?.message}`;
    if (rejection?.code === 'unknown-work') {
      this.#blocked = fault;
      return;
    }
    this.#laterUpdates.delete(data.revision);
    this.#revision = data.revision;
    this.#updates.set(data.update, data);
    if (rejection !== undefined) {
      this.#faults.add(fault);
      return;
    }
    for (const [index, spec] of data.operators.entries()) {
      this.#store.addOperator(spec, data.revision, index);
    }
    for (const [index, spec] of data.works.entries()) this.#store.addWork(spec, [data.revision, index, 0]);
    for (const stop of data.stops) this.#stop(stop.target, stop.reason);
    if (data.finish === undefined) return;
    this.#finish = data.finish;
    this.#store.isFinished = true;
    for (const work of this.works.values()) this.#store.judge(work);
  }

  #stop(target: string, reason: string): void {
    if (target === '*') {
      this.#stoppedAt = this.#revision;
      for (const operator of this.operators.values()) this.#store.stopOperator(operator, reason);
      return;
    }
    const operator = this.operators.get(target);
    if (operator === undefined) this.#store.stop(this.works.get(target), reason, false);
    else this.#store.stopOperator(operator, reason);
  }

  /** A new work waits for records it is given, and facts may have waited for it. */
  #welcome(work: WorkState): void {
    for (const record of work.spec.records ?? []) {
      if (this.#records.has(record)) continue;
      work.missingRecords += 1;
      addTo(this.#waitingForRecord, record, work);
    }
    const facts = this.#laterFacts.get(work.work) ?? [];
    this.#laterFacts.delete(work.work);
    for (const fact of facts) this.#takeFact(fact);
  }

  #takeFact(fact: WorkFact): void {
    const work = this.works.get(fact.data.work);
    if (work === undefined) {
      addTo(this.#laterFacts, fact.data.work, fact);
      return;
    }
    for (const fault of noteFact(work, fact)) this.#faults.add(fault);
    if (fact.type === 'graph.readied' && fact.data.items !== undefined && work.items.length === 0) {
      this.#store.addItems(work, fact.data.items);
    }
    if (fact.type === 'graph.claimed' && fact.data.child !== undefined) this.#bind(work, fact.data.child);
    this.#store.refresh(work);
  }

  /** One session an operator, one operator a session. */
  #bind({ operator }: WorkState, child: string): void {
    const bound = this.#bySession.get(child);
    if (bound !== undefined && bound !== operator) {
      this.#faults.add(`the session ${child} is bound to two operators`);
      return;
    }
    if (operator.session !== undefined && operator.session !== child) {
      this.#faults.add(`the operator ${operator.spec.operator} is bound to two sessions`);
      return;
    }
    operator.session = child;
    this.#bySession.set(child, operator);
    const records = this.#laterRecords.get(child) ?? [];
    this.#laterRecords.delete(child);
    for (const record of records) this.#takeRecord(operator, record);
  }

  #applyRecord(fact: LedgerRecord): void {
    const record = this.#records.has(fact.id) ? undefined : operatorRecordOf(fact);
    if (record === undefined) return;
    const operator = this.#bySession.get(record.session);
    if (operator === undefined) addTo(this.#laterRecords, record.session, record);
    else this.#takeRecord(operator, record);
  }

  #takeRecord(operator: OperatorState, record: OperatorRecord): void {
    if (this.#records.has(record.id)) return;
    this.#records.set(record.id, record);
    this.#recent.add(record);
    noteRequest(operator, record);
    const waiting = this.#waitingForRecord.get(record.id) ?? [];
    this.#waitingForRecord.delete(record.id);
    for (const work of waiting) {
      work.missingRecords -= 1;
      this.#store.judge(work);
    }
  }
}

function noteRequest({ requests }: OperatorState, { facet, request, seq }: OperatorRecord): void {
  if (request === undefined) return;
  const known = requests.get(request) ?? { asked: 0, answered: 0 };
  requests.set(request, known);
  if (facet === 'approval-request') known.asked = Math.max(known.asked, seq);
  else known.answered = Math.max(known.answered, seq);
}

function addTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

function isGraphFact(fact: LedgerRecord): fact is GraphFact {
  return fact.type.startsWith('graph.') || fact.type.startsWith('node.');
}
