import { SwarmError } from '../errors.ts';
import type { AppendResult } from '../ledger/ledger.ts';
import type { RecordType } from '../ledger/records.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';
import type { Gate } from './gate.ts';

/** Operations of ports that a fault can stand at. `sink`, `model` and the rest of a ledger have one each. */
export type FaultSite =
  | 'acquire'
  | 'append'
  | 'read'
  | 'head'
  | 'sessions'
  | 'list-open'
  | 'summary'
  | 'tail'
  | 'position'
  | 'put-artifact'
  | 'get-artifact'
  | 'post'
  | 'inbox'
  | 'reply'
  | 'cursor'
  | 'move-cursor'
  | 'release'
  | 'model-request'
  | 'model-event'
  | 'model-outcome';

/** What happens at a fault point. */
export type FaultAction =
  /** The operation throws. Default: SwarmError 'fault-injected'. */
  | { readonly type: 'fail'; readonly error?: unknown }
  /** Only `append`: nothing is written and the answer says so. */
  | { readonly type: 'reject'; readonly reason: Extract<AppendResult, { type: 'rejected' }>['reason'] }
  /** Only `append`: the answer is that nobody knows. With `when: 'after'` the batch is durable all the same. */
  | { readonly type: 'indeterminate' }
  /** The operation never answers. */
  | { readonly type: 'hang' }
  /** The operation waits until the gate opens. */
  | { readonly type: 'pause'; readonly gate: Gate }
  /** The process ends at once, by SIGKILL. */
  | { readonly type: 'crash' }
  /**
   * As if the process had ended, within one that goes on: this and all later operations never answer, and the
   * sessions it wrote are free for the next owner.
   */
  | { readonly type: 'halt' }
  /** Something of the test's own, awaited. */
  | { readonly type: 'call'; run(): unknown };

/** One fault and where it stands. */
export interface Fault {
  /** `any` = every operation counts. */
  readonly at: FaultSite | 'any';
  /** Only appends whose batch holds a record of this type. */
  readonly record?: RecordType;
  /** The first so many operations it fits pass by unharmed. Default 0. */
  readonly skip?: number;
  /** Stands at every operation it fits from there on, not only at one. Default false. */
  readonly every?: boolean;
  /** Before the operation is done (default), or after it and before its answer is given. */
  readonly when?: 'before' | 'after';
  readonly action: FaultAction;
}

/** One operation as it comes by. */
export interface FaultPoint {
  readonly site: FaultSite;
  /** Types of the records of a batch. */
  readonly records?: readonly RecordType[];
  /** Answers for the actions `reject` and `indeterminate`; absent = the site does not know them. */
  answerFor?(action: Extract<FaultAction, { type: 'reject' | 'indeterminate' }>): unknown;
}

/** Faults of a whole process: ports that share them count together and halt together. */
export interface FaultPoints {
  /** Does an operation with the faults around it. */
  around<T>(point: FaultPoint, work: () => Promise<T>): Promise<T>;
  /** Every operation so far, as `site` or `append:<type>+<type>`; its length is what `skip` of an `any` counts. */
  readonly passed: readonly string[];
  /** Faults that fired, in order. */
  readonly fired: readonly Fault[];
  readonly isHalted: boolean;
  /** Runs when a `halt` fires. */
  onHalt(run: () => void): void;
}

const FIELDS: OptionNames<Fault> = {
  at: true,
  record: true,
  skip: true,
  every: true,
  when: true,
  action: true,
};

/** Faults as a port takes them: armed already, to be shared with others, or a list of its own. */
export function armFaults(plan: readonly Fault[] | FaultPoints): FaultPoints {
  const isArmed = typeof plan === 'object' && plan !== null && 'around' in plan;
  return isArmed ? plan : createFaultPoints(plan);
}

/** Arms faults. @throws SwarmError 'invalid-definition' for what is no list of faults, or a field no fault has */
export function createFaultPoints(faults: readonly Fault[]): FaultPoints {
  if (!Array.isArray(faults)) throw new SwarmError('invalid-definition', 'faults are a list');
  for (const fault of faults) assertOptions('a fault', fault, FIELDS);
  const fitted = faults.map(() => 0);
  const passed: string[] = [];
  const fired: Fault[] = [];
  const onHalt: (() => void)[] = [];
  let isHalted = false;

  const due = (point: FaultPoint) =>
    faults.filter((fault, index) => {
      if (!fits(fault, point)) return false;
      const before = fitted[index] ?? 0;
      fitted[index] = before + 1;
      return fault.every === true ? before >= (fault.skip ?? 0) : before === (fault.skip ?? 0);
    });

  const fire = async (fault: Fault, point: FaultPoint): Promise<Answer | undefined> => {
    fired.push(fault);
    if (fault.action.type === 'halt') {
      isHalted = true;
      for (const run of onHalt) run();
      return never();
    }
    return act(fault.action, point);
  };

  const fireAll = async (all: readonly Fault[], when: 'before' | 'after', point: FaultPoint) => {
    for (const fault of all) {
      if ((fault.when ?? 'before') !== when) continue;
      const answer = await fire(fault, point);
      if (answer !== undefined) return answer;
    }
    return undefined;
  };

  return {
    passed,
    fired,
    get isHalted() {
      return isHalted;
    },
    onHalt: (run) => void onHalt.push(run),
    async around<T>(point: FaultPoint, work: () => Promise<T>): Promise<T> {
      if (isHalted) return never();
      passed.push(point.records === undefined ? point.site : `${point.site}:${point.records.join('+')}`);
      const all = due(point);
      const instead = await fireAll(all, 'before', point);
      // An answer is one the site gave for itself, so it is of the type of the work.
      if (instead !== undefined) return instead.value as T;
      if (isHalted) return never();
      const result = await work();
      const after = await fireAll(all, 'after', point);
      if (isHalted) return never();
      return after === undefined ? result : (after.value as T);
    },
  };
}

interface Answer {
  readonly value: unknown;
}

function fits(fault: Fault, { site, records = [] }: FaultPoint): boolean {
  if (fault.at !== 'any' && fault.at !== site) return false;
  return fault.record === undefined || records.includes(fault.record);
}

async function act(
  action: Exclude<FaultAction, { type: 'halt' }>,
  point: FaultPoint,
): Promise<Answer | undefined> {
  switch (action.type) {
    case 'fail':
      throw action.error ?? new SwarmError('fault-injected', `a fault fired at ${point.site}`);
    case 'reject':
    case 'indeterminate':
      if (point.answerFor === undefined) {
        throw new SwarmError('fault-injected', `${action.type} is no fault of ${point.site}`);
      }
      return { value: point.answerFor(action) };
    case 'hang':
      return never();
    case 'pause':
      await action.gate.pass();
      return undefined;
    case 'crash':
      process.kill(process.pid, 'SIGKILL');
      return never();
    case 'call':
      await action.run();
      return undefined;
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}
