import { createRandom, type Random } from './random.ts';
import { TASK_KINDS, type Task } from './tasks.ts';

/** Something that is done to the processes of a pool. */
export type Fault =
  /** SIGKILL of a worker; another one starts in its place later. */
  | { readonly type: 'kill'; readonly worker: number; readonly forMs: number }
  /** SIGSTOP past the lease, then SIGCONT. */
  | { readonly type: 'freeze'; readonly worker: number; readonly forMs: number }
  /** SIGTERM, and another one in its place. */
  | { readonly type: 'end'; readonly worker: number }
  /** SIGKILL of the server, which starts again on its files. */
  | { readonly type: 'broker'; readonly forMs: number }
  /** Every flush of the server takes longer. */
  | { readonly type: 'slow-disk'; readonly flushMs: number; readonly forMs: number }
  /** A turn that is under way is handed out once more. */
  | { readonly type: 'redeliver' }
  /** A turn that was submitted is put into the queue once more. */
  | { readonly type: 'resubmit' };

/** What happens when, in milliseconds from the start. */
export interface Schedule {
  readonly seed: number;
  readonly tasks: readonly { readonly atMs: number; readonly task: Task }[];
  readonly faults: readonly { readonly atMs: number; readonly fault: Fault }[];
  /** Whether a call in doubt is run again, or given up. */
  readonly doubt: 'retry' | 'abandon';
}

export interface ScheduleBounds {
  readonly lengthMs: number;
  readonly leaseMs: number;
  readonly workers: number;
  readonly tasks: number;
  readonly faults: number;
}

/** The schedule of a seed. */
export function scheduleOf(seed: number, bounds: ScheduleBounds): Schedule {
  const random = createRandom(seed);
  const spread = <T>(count: number, make: (at: number) => T) =>
    Array.from({ length: count }, (_, at) => ({
      atMs: random.between(0, bounds.lengthMs),
      made: make(at),
    })).sort((a, b) => a.atMs - b.atMs);
  const tasks = spread(bounds.tasks, (at) => ({ id: `${seed}-${at}`, kind: random.pick(TASK_KINDS) }));
  const faults = spread(bounds.faults, () => faultOf(random, bounds));
  return {
    seed,
    tasks: tasks.map(({ atMs, made }) => ({ atMs, task: made })),
    faults: faults.map(({ atMs, made }) => ({ atMs, fault: made })),
    doubt: random.pick(['retry', 'abandon']),
  };
}

const KINDS = ['kill', 'kill', 'freeze', 'end', 'broker', 'slow-disk', 'redeliver', 'resubmit'] as const;

/** Some fault. */
export function faultOf(
  random: Random,
  { leaseMs, workers }: Pick<ScheduleBounds, 'leaseMs' | 'workers'>,
): Fault {
  const worker = random.between(0, workers - 1);
  const type = random.pick(KINDS);
  switch (type) {
    case 'kill':
      return { type, worker, forMs: random.between(0, 2_000) };
    case 'freeze':
      return { type, worker, forMs: leaseMs + random.between(100, 1_500) };
    case 'end':
      return { type, worker };
    case 'broker':
      return { type, forMs: random.between(0, 1_500) };
    case 'slow-disk':
      return { type, flushMs: random.between(5, 40), forMs: random.between(500, 1_500) };
    case 'redeliver':
    case 'resubmit':
      return { type };
  }
}
