import { Schedule } from '../../src/graph/schedule.ts';
import type { UpdateRequest } from '../../src/graph/schedule-update.ts';
import type { GraphUpdate, NodeFinished } from '../../src/graph/work-state.ts';
import {
  GENESIS_HASH,
  type LedgerRecord,
  type RecordData,
  type RecordType,
} from '../../src/ledger/records.ts';

export const GRAPH = 's-graph';

type Operator = GraphUpdate['operators'][number];
type Work = GraphUpdate['works'][number];

/** An operator that runs an agent. */
export function operator(name: string, more: Partial<Operator> = {}): Operator {
  return { operator: name, kind: 'agent', target: 'worker', ...more };
}

/** A work of the operator of the same name unless it says otherwise. */
export function work(name: string, inputs: readonly string[] = [], more: Partial<Work> = {}): Work {
  return { work: name, operator: name, inputs: [...inputs], onError: 'fail', ...more };
}

/** Writes facts as a ledger would hold them, and applies each to a schedule. */
export class FactLog {
  readonly facts: LedgerRecord[] = [];
  readonly schedule = new Schedule(GRAPH);
  readonly #heads = new Map<string, number>();
  #now = 1_000;

  /** One fact of a session. */
  write<T extends RecordType>(type: T, data: RecordData<T>, session = GRAPH): LedgerRecord {
    const seq = (this.#heads.get(session) ?? 0) + 1;
    this.#heads.set(session, seq);
    this.#now += 1;
    const at = { session, root: GRAPH, agent: 'a', id: `${session}:${seq}`, seq, at: this.#now };
    const chain = { v: 1, epoch: 1, tv: 1, prev: GENESIS_HASH, hash: GENESIS_HASH };
    // Type and data are of one entry of the table.
    const fact = { type, data, ...at, ...chain } as unknown as LedgerRecord;
    this.facts.push(fact);
    this.schedule.apply(fact);
    return fact;
  }

  /** An update that must be new. */
  update(request: UpdateRequest): LedgerRecord {
    const proposal = this.schedule.propose(request);
    if (proposal.type !== 'new') throw new Error(JSON.stringify(proposal));
    return this.write('graph.updated', proposal.data);
  }

  /** Operators and one work for each, without inputs. */
  scheduleAll(names: readonly string[]): void {
    this.update({
      update: `all of ${names}`,
      operators: names.map((name) => operator(name)),
      works: names.map((name) => work(name)),
    });
  }

  ready(name: string, items?: number): void {
    const known = this.#work(name);
    const rest = items === undefined ? {} : { items };
    this.write('graph.readied', { work: name, operator: known.operator.spec.operator, inputs: [], ...rest });
  }

  claim(name: string, child?: string): void {
    const { operator: by } = this.#work(name);
    const rest = child === undefined ? {} : { child };
    const activation = by.works.findIndex((one) => one.work === name) + 1;
    const { revision } = this.schedule;
    this.write('graph.claimed', { work: name, operator: by.spec.operator, activation, revision, ...rest });
  }

  start(name: string, attempt = 1): void {
    const node = this.#work(name).operator.spec.operator;
    this.write('node.started', { work: name, node, attempt, operationId: `op-${name}` });
  }

  finish(name: string, status: NodeFinished['status'] = 'completed', more: Partial<NodeFinished> = {}): void {
    const node = this.#work(name).operator.spec.operator;
    const attempt = Math.max(1, this.#work(name).lastAttempt);
    this.write('node.finished', { work: name, node, attempt, status, durationMs: 1, ...more });
  }

  skip(name: string, reason: RecordData<'node.skipped'>['reason'] = 'condition'): void {
    this.write('node.skipped', { work: name, node: this.#work(name).operator.spec.operator, reason });
  }

  /** Everything a work without a child goes through. */
  run(name: string, status: NodeFinished['status'] = 'completed'): void {
    this.ready(name);
    this.claim(name);
    this.start(name);
    this.finish(name, status);
  }

  statusOf(name: string): string {
    return this.#work(name).status;
  }

  #work(name: string) {
    const known = this.schedule.works.get(name);
    if (known === undefined) throw new Error(`no work ${name}`);
    return known;
  }
}

/** A schedule made of facts in another order. */
export function scheduleOf(facts: readonly LedgerRecord[]): Schedule {
  const schedule = new Schedule(GRAPH);
  for (const fact of facts) schedule.apply(fact);
  return schedule;
}
