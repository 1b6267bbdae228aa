import type { Schedule, ScheduleStatus } from './schedule.ts';
import {
  compareWorks,
  isActive,
  isSettled,
  type OperatorState,
  openRequests,
  type WorkState,
  type WorkStatus,
} from './work-state.ts';

/** What an operator is at, from its works. */
export type OperatorStatus =
  | 'not-started'
  | 'waiting'
  | 'runnable'
  | 'running'
  /** It waits for a person. */
  | 'blocked'
  | 'completed'
  | 'failed'
  /** Stopped while it ran. */
  | 'aborted'
  /** Stopped before it ran. */
  | 'cancelled';

/** One work as plain data. */
export interface WorkView {
  readonly work: string;
  readonly operator: string;
  readonly status: WorkStatus;
  readonly inputs: readonly string[];
  readonly attempts: number;
  readonly skipped?: string;
  readonly stopped?: string;
  /** What it failed with. */
  readonly error?: string;
}

export interface OperatorView {
  readonly operator: string;
  readonly status: OperatorStatus;
  readonly session?: string;
  readonly works: readonly string[];
}

/** A whole schedule as plain data, in an order that depends on nothing but its facts. */
export interface ScheduleView {
  readonly status: ScheduleStatus;
  readonly revision: number;
  readonly version: number;
  readonly operators: readonly OperatorView[];
  readonly works: readonly WorkView[];
  readonly recentRecords: readonly string[];
  readonly faults: readonly string[];
}

/** The state of a schedule. Costs O(operators + works). */
export function viewSchedule(schedule: Schedule): ScheduleView {
  return {
    status: schedule.status,
    revision: schedule.revision,
    version: schedule.version,
    operators: [...schedule.operators.values()].map(viewOperator).sort(byKey(({ operator }) => operator)),
    works: [...schedule.works.values()].map(viewWork).sort(byKey(({ work }) => work)),
    recentRecords: schedule.recentRecords.map(({ id }) => id),
    faults: schedule.faults,
  };
}

/** The status of an operator: that of what it does, else of what it is to do, else of what it did last. */
export function operatorStatus(operator: OperatorState): OperatorStatus {
  const { works } = operator;
  const active = works.filter(({ status }) => isActive(status));
  if (active.length > 0) {
    const waits = openRequests(operator) > 0 || active.some(({ status }) => status === 'indeterminate');
    return waits ? 'blocked' : 'running';
  }
  const open = works.filter(({ status }) => !isSettled(status));
  if (open.length > 0) return open.some(({ status }) => status === 'ready') ? 'runnable' : 'waiting';
  return endOf(works);
}

function endOf(works: readonly WorkState[]): OperatorStatus {
  // Routed works come in the order of their facts; which is last must not depend on it.
  let last: WorkState | undefined;
  for (const work of works) {
    if (work.status !== 'skipped' && (last === undefined || compareWorks(last, work) < 0)) last = work;
  }
  switch (last?.status) {
    case 'completed':
    case 'failed':
      return last.status;
    case 'cancelled':
    case 'superseded':
      return last.lastAttempt > 0 ? 'aborted' : 'cancelled';
    default:
      return 'not-started';
  }
}

function viewOperator(operator: OperatorState): OperatorView {
  const { spec, session, works } = operator;
  return {
    operator: spec.operator,
    status: operatorStatus(operator),
    ...(session === undefined ? {} : { session }),
    works: works.map(({ work }) => work).sort(),
  };
}

function viewWork(work: WorkState): WorkView {
  const { skipped, stopped, outcome } = work;
  return {
    work: work.work,
    operator: work.operator.spec.operator,
    status: work.status,
    inputs: work.inputs.map((input) => input.work),
    attempts: Math.max(0, work.lastAttempt),
    ...(skipped === undefined ? {} : { skipped }),
    ...(stopped === undefined ? {} : { stopped: stopped.reason }),
    ...(outcome?.error === undefined ? {} : { error: outcome.error.kind }),
  };
}

function byKey<T>(key: (one: T) => string): (a: T, b: T) => number {
  return (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0);
}
