import {
  classOf,
  compareWorks,
  emptyTally,
  type InputClass,
  isActive,
  isChild,
  isSettled,
  itemsInReach,
  type OperatorSpec,
  type OperatorState,
  statusOf,
  type Verdict,
  verdictOf,
  type WorkOrder,
  type WorkSpec,
  type WorkState,
  type WorkStatus,
} from './work-state.ts';

/** Id of one item of a work that runs once for each. */
export function itemIdOf(work: string, index: number): string {
  return `${work}[${index}]`;
}

/**
 * Works and operators with what follows from the status of one for the others. Every change is a sum over facts, so it
 * does not matter in which order they come; telling of a settled work costs O(its dependents).
 */
export class WorkStore {
  readonly works = new Map<string, WorkState>();
  readonly operators = new Map<string, OperatorState>();
  /** Works somebody has something to do about. */
  readonly #actionable = new Set<WorkState>();
  readonly #statuses = new Map<WorkStatus, number>();
  readonly #onAdded: (work: WorkState) => void;
  /** Works in child sessions that were claimed and are not settled. */
  activeChildren = 0;
  /** Nothing is added any more: what was not claimed will not run. */
  isFinished = false;

  /** `onAdded`: a work was made; facts that wait for it can be taken. */
  constructor(onAdded: (work: WorkState) => void) {
    this.#onAdded = onAdded;
  }

  count(status: WorkStatus): number {
    return this.#statuses.get(status) ?? 0;
  }

  get hasActionable(): boolean {
    return this.#actionable.size > 0;
  }

  actionable(): readonly (readonly [WorkState, Verdict])[] {
    return [...this.#actionable]
      .sort(compareWorks)
      .map((work) => [work, verdictOf(work, this.isFinished)] as const);
  }

  addOperator(spec: OperatorSpec, revision: number, index: number): OperatorState {
    const operator: OperatorState = {
      spec,
      revision,
      index,
      works: [],
      routedTo: [],
      session: undefined,
      active: 0,
      requests: new Map(),
      stopped: undefined,
    };
    this.operators.set(spec.operator, operator);
    for (const route of spec.routes ?? []) {
      const source = this.operators.get(route);
      source?.routedTo.push(operator);
      for (const work of source?.works ?? []) if (work.status === 'completed') this.#route(work, operator);
    }
    return operator;
  }

  /** The operator of `spec` is there; items of one work run beside each other, so each has one of its own. */
  addWork(spec: WorkSpec, order: WorkOrder, itemOf?: WorkState['itemOf']): WorkState {
    const operator =
      this.operators.get(spec.operator) ??
      this.addOperator({ operator: spec.operator, kind: 'function' }, order[0], order[1]);
    const work = newWork(spec, operator, order, itemOf);
    for (const input of spec.inputs) {
      const source = this.works.get(input);
      if (source === undefined) continue;
      work.inputs.push(source);
      source.dependents.push(work);
      work.tally[source.inputClass] += 1;
    }
    this.works.set(spec.work, work);
    this.#recount(undefined, 'waiting');
    operator.works.push(work);
    if (itemOf !== undefined) itemOf.of.itemTally.unsettled += 1;
    if (spec.replaces !== undefined) this.stop(this.works.get(spec.replaces), 'it was replaced', true);
    this.#onAdded(work);
    this.refresh(work);
    return work;
  }

  /** Makes the items of a work that runs once for each. */
  addItems(work: WorkState, items: number): void {
    const { each: _, need: __, replaces: ___, records: ____, ...spec } = work.spec;
    const [revision, index] = work.order;
    for (let at = 0; at < items; at += 1) {
      const id = itemIdOf(work.work, at);
      const item: WorkSpec = { ...spec, work: id, operator: id, inputs: [] };
      const made = this.addWork(item, [revision, index, at + 1], { of: work, index: at });
      work.items.push(made);
      if (work.stopped !== undefined) this.stop(made, work.stopped.reason, false);
    }
  }

  stop(work: WorkState | undefined, reason: string, superseded: boolean): void {
    if (work === undefined || work.stopped !== undefined) return;
    work.stopped = { reason, superseded };
    for (const item of work.items) this.stop(item, reason, false);
    this.refresh(work);
  }

  /** Stops all works an operator has, and those its routes bring later. */
  stopOperator(operator: OperatorState, reason: string): void {
    operator.stopped ??= reason;
    for (const work of operator.works) this.stop(work, reason, false);
  }

  /** Brings a work's status to what its facts say, and tells those that depend on it. */
  refresh(work: WorkState): void {
    const before = work.status;
    const after = statusOf(work);
    work.status = after;
    if (before !== after) {
      this.#recount(before, after);
      const activated = Number(isActive(after)) - Number(isActive(before));
      work.operator.active += activated;
      if (isChild(work)) this.activeChildren += activated;
      const classBefore = work.inputClass;
      work.inputClass = classOf(work);
      this.#tell(work, classBefore, work.inputClass);
      if (after === 'completed') for (const to of work.operator.routedTo) this.#route(work, to);
    }
    this.judge(work);
  }

  judge(work: WorkState): void {
    if (isSettled(work.status) || verdictOf(work, this.isFinished).type === 'none') {
      this.#actionable.delete(work);
    } else this.#actionable.add(work);
  }

  /** One work for each result of a routed operator; its id follows from both, so it is the same in every process. */
  #route(from: WorkState, to: OperatorState): void {
    const work = `${to.spec.operator}<${from.work}`;
    if (this.works.has(work)) return;
    const { operator, instruction } = to.spec;
    // A result that came before the operator counts as of its update: results keep the order of their works.
    const order: WorkOrder = [Math.max(to.revision, from.order[0]), from.order[1], from.order[2]];
    const spec: WorkSpec = { work, operator, inputs: [from.work], onError: 'fail' };
    const made = this.addWork(instruction === undefined ? spec : { ...spec, instruction }, order);
    if (to.stopped !== undefined) this.stop(made, to.stopped, false);
  }

  #tell(work: WorkState, before: InputClass, after: InputClass): void {
    if (before === after) return;
    for (const dependent of work.dependents) {
      dependent.tally[before] -= 1;
      dependent.tally[after] += 1;
      this.judge(dependent);
    }
    const parent = work.itemOf?.of;
    if (parent === undefined) return;
    parent.itemTally[before] -= 1;
    parent.itemTally[after] += 1;
    this.#judgeReach(parent);
    // The first item that fails settles those that have not begun.
    if (after === 'failed' && parent.itemTally.failed === 1)
      for (const item of parent.items) this.judge(item);
    this.refresh(parent);
  }

  /** One more item comes into reach as one settles. */
  #judgeReach(map: WorkState): void {
    const reach = itemsInReach(map);
    for (const at of [reach - 1, reach]) {
      const item = map.items[at];
      if (item !== undefined) this.judge(item);
    }
  }

  #recount(before: WorkStatus | undefined, after: WorkStatus): void {
    if (before !== undefined) this.#statuses.set(before, this.count(before) - 1);
    this.#statuses.set(after, this.count(after) + 1);
  }
}

function newWork(
  spec: WorkSpec,
  operator: OperatorState,
  order: WorkOrder,
  itemOf: WorkState['itemOf'],
): WorkState {
  return {
    work: spec.work,
    spec,
    operator,
    order,
    inputs: [],
    dependents: [],
    itemOf,
    items: [],
    tally: emptyTally(),
    itemTally: emptyTally(),
    missingRecords: 0,
    readied: undefined,
    claimed: undefined,
    attempts: new Map(),
    lastAttempt: -1,
    outcome: undefined,
    skipped: undefined,
    stopped: undefined,
    status: 'waiting',
    inputClass: 'unsettled',
  };
}
