import type { JsonObject, JsonValue } from '../ledger/content.ts';
import { safeText } from '../tools/safe-text.ts';
import type { OperatorDriver } from './operator-driver.ts';
import { operatorStatus } from './schedule-view.ts';
import { itemStatus, swarmStatus, worksInOrder } from './swarm-status.ts';
import { isSettled, type OperatorState, type WorkState } from './work-state.ts';

/** Works, operators and the like that one view shows of each kind. */
const MAX_SHOWN = 64;
/** Characters of an instruction in a view, and of one in the result of an update. */
const VIEW_CHARS = 2_000;
const BRIEF_CHARS = 160;
/** Characters of all instructions in one view. */
const ALL_CHARS = 24_000;

/** How much of the graph a supervisor is shown. */
export type ViewDetail = 'full' | 'brief';

/**
 * The graph as a supervisor is shown it: what is open, what ended last, who is at work. Bounded, with counts of what
 * was left out; cost O(works).
 */
export function graphView(driver: OperatorDriver, detail: ViewDetail): JsonObject {
  const { schedule } = driver;
  const works = worksInOrder(schedule);
  const open = works.filter(({ status }) => !isSettled(status));
  const ended = driver.live.lastSettled(MAX_SHOWN);
  const { deferred } = driver;
  const chars = charsOf(Math.min(open.length, MAX_SHOWN) + ended.length, detail);
  const show = (work: WorkState) => workView(work, driver, { chars, deferred: deferred.get(work) });
  const operators = [...schedule.operators.values()];
  const { status, counts } = swarmStatus(schedule, (work) => driver.isBlocked(work));
  return {
    status: schedule.status,
    attention: status === 'needs_attention',
    counts: { ...counts },
    open_works: open.slice(0, MAX_SHOWN).map(show),
    ended_works: ended.map(show),
    ...(detail === 'brief'
      ? {}
      : { operators: operators.slice(-MAX_SHOWN).map((one) => operatorView(one, driver)) }),
    ...(schedule.finish === undefined ? {} : { finished: { result_ids: [...schedule.finish.results] } }),
    omitted: {
      open_works: Math.max(0, open.length - MAX_SHOWN),
      ended_works: works.length - open.length - ended.length,
      ...(detail === 'brief' ? {} : { operators: Math.max(0, operators.length - MAX_SHOWN) }),
    },
  };
}

/** One page of all works in their order; `undefined` for a cursor that is of another state of the graph. */
export function graphPage(driver: OperatorDriver, cursor: string | undefined): JsonObject | undefined {
  const works = worksInOrder(driver.schedule);
  const [size, offset] = (cursor ?? `${works.length}.0`).split('.').map(Number);
  if (size !== works.length || offset === undefined || !(offset >= 0)) return undefined;
  const page = works.slice(offset, offset + MAX_SHOWN);
  const { deferred } = driver;
  const next = offset + page.length;
  const chars = charsOf(page.length, 'full');
  return {
    works: page.map((work) => workView(work, driver, { chars, deferred: deferred.get(work) })),
    returned: page.length,
    total: works.length,
    ...(next < works.length ? { next_cursor: `${works.length}.${next}` } : {}),
  };
}

/** Characters that each of so many works may show of its instruction. */
function charsOf(works: number, detail: ViewDetail): number {
  return Math.min(detail === 'full' ? VIEW_CHARS : BRIEF_CHARS, Math.floor(ALL_CHARS / Math.max(1, works)));
}

interface Shown {
  /** Of an instruction. */
  readonly chars: number;
  /** Why it does not run though it could. */
  readonly deferred: string | undefined;
}

function workView(work: WorkState, driver: OperatorDriver, { chars, deferred }: Shown): JsonObject {
  const { spec, operator, outcome, inputs } = work;
  const { instruction } = spec;
  const why = outcome?.error?.kind ?? work.skipped ?? work.stopped?.reason ?? deferred;
  return {
    work_id: work.work,
    operator_id: operator.spec.operator,
    agent: operator.spec.target ?? '',
    status: itemStatus(work, driver.isBlocked(work)),
    ...(instruction === undefined ? {} : { instruction: safeText(instruction, chars) }),
    ...(inputs.length === 0 ? {} : { input_ids: inputs.map((input) => input.work) }),
    ...(why === undefined ? {} : { why: safeText(why, 200) }),
  };
}

function operatorView(operator: OperatorState, driver: OperatorDriver): JsonValue {
  const { spec, works } = operator;
  const isBlocked = works.some((work) => driver.isBlocked(work));
  return {
    operator_id: spec.operator,
    agent: spec.target ?? '',
    status: isBlocked ? 'blocked' : operatorStatus(operator),
    works: works.length,
  };
}
