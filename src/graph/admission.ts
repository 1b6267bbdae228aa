import type { Schedule } from './schedule.ts';
import { isChild, type SkipReason, type WorkState } from './work-state.ts';

/** Bounds of one pass over a schedule. */
export interface AdmissionLimits {
  /** Works newly claimed in one pass; those claimed before are not counted. 0 claims none. */
  readonly activations: number;
  /** Works in child sessions at once. Functions are not counted. */
  readonly children: number;
}

/** Why a work that could run does not yet. */
export type DeferReason =
  /** The pass has claimed as many as it may. */
  | 'activation-limit'
  /** Its operator does another work. */
  | 'operator-busy'
  /** As many children run as may. */
  | 'fan-out';

/** What to do about a schedule now, in its order. Whoever does it commits the facts of it and asks again. */
export interface Admission {
  /** To be readied, or skipped where a condition says so. */
  readonly ready: readonly WorkState[];
  /** To be claimed and run. */
  readonly admit: readonly WorkState[];
  readonly skip: readonly { readonly work: WorkState; readonly reason: SkipReason }[];
  /** Maps whose items are all settled. */
  readonly gather: readonly WorkState[];
  /** Claimed, not entered, and stopped: to be settled as cancelled. */
  readonly cancel: readonly { readonly work: WorkState; readonly reason: string }[];
  readonly deferred: readonly { readonly work: WorkState; readonly reason: DeferReason }[];
}

/** Chooses what to do about a schedule. Pure; costs O(k log k) in the works something can be done about. */
export function admit(schedule: Schedule, limits: AdmissionLimits): Admission {
  const ready: WorkState[] = [];
  const skip: { work: WorkState; reason: SkipReason }[] = [];
  const gather: WorkState[] = [];
  const cancel: { work: WorkState; reason: string }[] = [];
  const candidates: WorkState[] = [];
  for (const [work, verdict] of schedule.actionable()) {
    if (verdict.type === 'ready') ready.push(work);
    else if (verdict.type === 'admit') candidates.push(work);
    else if (verdict.type === 'skip') skip.push({ work, reason: verdict.reason });
    else if (verdict.type === 'gather') gather.push(work);
    else if (verdict.type === 'cancel') cancel.push({ work, reason: verdict.reason });
  }
  return { ready, skip, gather, cancel, ...chooseWorks(candidates, schedule.activeChildren, limits) };
}

/** First come, first served: one work of an operator at a time, children within their bound. */
function chooseWorks(
  candidates: readonly WorkState[],
  running: number,
  limits: AdmissionLimits,
): Pick<Admission, 'admit' | 'deferred'> {
  const chosen: WorkState[] = [];
  const deferred: { work: WorkState; reason: DeferReason }[] = [];
  const taken = new Set<WorkState['operator']>();
  let children = running;
  const obstacle = (work: WorkState): DeferReason | undefined => {
    if (work.operator.active > 0 || taken.has(work.operator)) return 'operator-busy';
    if (isChild(work) && children >= limits.children) return 'fan-out';
    return chosen.length >= limits.activations ? 'activation-limit' : undefined;
  };
  for (const work of candidates) {
    const reason = obstacle(work);
    if (reason !== undefined) {
      deferred.push({ work, reason });
      continue;
    }
    chosen.push(work);
    taken.add(work.operator);
    if (isChild(work)) children += 1;
  }
  return { admit: chosen, deferred };
}
