import type { SwarmMode } from './define-swarm.ts';
import type { Schedule } from './schedule.ts';
import { compareWorks, isSettled, type WorkState, type WorkStatus } from './work-state.ts';

/** Where one work stands, as a supervisor is told. */
export type ItemStatus =
  | 'queued'
  | 'running'
  /** It waits for a person, or for somebody to say what became of it. */
  | 'blocked'
  | 'completed'
  | 'failed'
  /** Stopped while it ran. */
  | 'aborted'
  /** Stopped before it ran. */
  | 'cancelled'
  /** It will not run: what it needs never came. */
  | 'stopped'
  | 'superseded';

/** What a swarm as a whole is at. */
export interface SwarmStatus {
  readonly status: 'running' | 'needs_attention' | 'settled';
  /** Works by status; those there are none of are left out. */
  readonly counts: Readonly<Partial<Record<ItemStatus, number>>>;
}

const ATTENTION: ReadonlySet<ItemStatus> = new Set(['blocked', 'failed', 'aborted', 'cancelled']);

/** Whether a work says that somebody should look. What a supervisor stopped itself says nothing new. */
export function needsAttention(work: WorkState, isBlocked: boolean): boolean {
  return work.stopped === undefined && ATTENTION.has(itemStatus(work, isBlocked));
}

/** `isBlocked`: its session waits for a person. */
export function itemStatus(work: WorkState, isBlocked: boolean): ItemStatus {
  const { status } = work;
  switch (status) {
    case 'waiting':
    case 'ready':
      return 'queued';
    case 'claimed':
    case 'running':
    case 'retrying':
      return isBlocked ? 'blocked' : 'running';
    case 'indeterminate':
      return 'blocked';
    case 'skipped':
      return 'stopped';
    case 'cancelled':
      if (work.stopped?.superseded === true) return 'superseded';
      return work.lastAttempt > 0 ? 'aborted' : 'cancelled';
    case 'completed':
    case 'failed':
    case 'superseded':
      return status;
  }
}

/** The status of all works together. O(works). */
export function swarmStatus(schedule: Schedule, isBlocked: (work: WorkState) => boolean): SwarmStatus {
  const counts: Partial<Record<ItemStatus, number>> = {};
  let attention = false;
  for (const work of schedule.works.values()) {
    const status = itemStatus(work, isBlocked(work));
    counts[status] = (counts[status] ?? 0) + 1;
    attention ||= needsAttention(work, isBlocked(work));
  }
  const open = openWorks(schedule);
  return { status: attention ? 'needs_attention' : open > 0 ? 'running' : 'settled', counts };
}

/** Works in the order in which they were asked for. O(n log n). */
export function worksInOrder(schedule: Schedule): readonly WorkState[] {
  return [...schedule.works.values()].sort(compareWorks);
}

const OPEN: readonly WorkStatus[] = ['waiting', 'ready', 'claimed', 'running', 'retrying', 'indeterminate'];

/** Works that are not settled. O(1). */
export function openWorks(schedule: Schedule): number {
  return OPEN.reduce((sum, status) => sum + schedule.count(status), 0);
}

/** What a supervisor has not been told of. */
export interface Unseen {
  /** Settled since. */
  readonly settled: readonly WorkState[];
  /** Waiting for a person since. */
  readonly blocked: readonly WorkState[];
}

/**
 * Whether a supervisor without a turn is given one. In graph mode each milestone does, in swarm mode what needs
 * somebody; and in both the end of everything, where it has not heard of it or gave way for it.
 */
export function isWakeDue(mode: SwarmMode, schedule: Schedule, unseen: Unseen, hasYielded: boolean): boolean {
  if (openWorks(schedule) === 0) return unseen.settled.length > 0 || hasYielded;
  const news = [...unseen.settled.filter(isNews), ...unseen.blocked];
  if (mode === 'graph') return news.length > 0;
  return (
    unseen.blocked.length > 0 || news.some((work) => isSettled(work.status) && needsAttention(work, false))
  );
}

/** What was stopped on its word is no news to a supervisor. */
function isNews({ stopped, status }: WorkState): boolean {
  return stopped === undefined || status === 'completed' || status === 'failed';
}
