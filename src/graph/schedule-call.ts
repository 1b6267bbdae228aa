import { safeName } from '../tools/safe-text.ts';
import type { OrchestrationInput } from './orchestration-tools.ts';
import type { Schedule } from './schedule.ts';
import type { UpdateRequest } from './schedule-update.ts';
import { isSettled, type OperatorSpec, type WorkSpec } from './work-state.ts';

type UpdateInput = OrchestrationInput['update_agent_graph'];
type Item = NonNullable<UpdateInput['add_work']>[number];

/** An update as a model asked for it, ready to be proposed; or why it makes no sense, in words for the model. */
export type UpdateCall =
  | {
      readonly type: 'update';
      readonly request: UpdateRequest;
      /** What the model is told of each item. */
      readonly added: readonly { readonly work_id?: string; readonly operator_id: string }[];
      readonly stopped: readonly { readonly target_id: string; readonly outcome: StopOutcome }[];
    }
  | { readonly type: 'wrong'; readonly code: string; readonly message: string };

type StopOutcome = 'stopping' | 'already_terminal' | 'ignored_unknown';

/** What an update call is read against. */
export interface UpdateBasis {
  /** The call, as identity of the update: the same call again is the same update. */
  readonly callId: string;
  readonly schedule: Schedule;
  /** Names of the agents that may be given work. */
  readonly presets: ReadonlySet<string>;
}

/** Reads the payload that goes with the operation; others are passed over. Pure. */
export function readUpdateCall(input: UpdateInput, basis: UpdateBasis): UpdateCall {
  switch (input.operation) {
    case 'add_work':
      return input.add_work === undefined ? missing('add_work') : addWork(input.add_work, basis);
    case 'stop':
      return input.stop === undefined ? missing('stop') : stop(input.stop, basis);
    case 'finish':
      return input.finish === undefined ? missing('finish') : finish(input.finish, basis);
  }
}

function missing(operation: string): UpdateCall {
  const message = `operation is ${operation}, and there is no ${operation} to carry out`;
  return { type: 'wrong', code: 'missing-payload', message };
}

/**
 * Ids are made of the place of the call, `<turn>.<step>.<call>`, and the place of the item: whoever reads the same call
 * again, in whichever process, makes the same ids.
 */
function idsOf(callId: string, index: number): { readonly work: string; readonly operator: string } {
  const place = callId.split('.').slice(1).join('.');
  return { work: `w${place}.${index + 1}`, operator: `o${place}.${index + 1}` };
}

function addWork(items: readonly Item[], basis: UpdateBasis): UpdateCall {
  const operators: OperatorSpec[] = [];
  const works: WorkSpec[] = [];
  const added: { work_id?: string; operator_id: string }[] = [];
  for (const [index, item] of items.entries()) {
    const complaint = complaintOf(item, basis);
    if (complaint !== undefined) return complaint;
    const ids = idsOf(basis.callId, index);
    const isNew = item.target.type === 'new_agent';
    const operator = isNew ? ids.operator : item.target.id;
    if (item.join === 'map') {
      operators.push({ ...newOperator(operator, item), routes: routesOf(item, basis.schedule) });
      added.push({ operator_id: operator });
      continue;
    }
    if (isNew) operators.push(newOperator(operator, item));
    works.push(workOf(item, ids.work, operator));
    added.push({ work_id: ids.work, operator_id: operator });
  }
  return { type: 'update', request: { update: basis.callId, operators, works }, added, stopped: [] };
}

function complaintOf(item: Item, { presets, schedule }: UpdateBasis): UpdateCall | undefined {
  const { target, join } = item;
  if (target.type === 'new_agent' && !presets.has(target.id)) {
    const message = `there is no agent ${safeName(target.id)}; agents: ${[...presets].join(', ')}`;
    return { type: 'wrong', code: 'unknown-agent', message };
  }
  if (join !== 'map') return undefined;
  if (target.type !== 'new_agent') {
    return { type: 'wrong', code: 'map-needs-new-agent', message: 'join map needs a new_agent' };
  }
  if (routesOf(item, schedule).length > 0) return undefined;
  return {
    type: 'wrong',
    code: 'map-needs-inputs',
    message: 'join map needs input_ids of works or operators',
  };
}

function newOperator(operator: string, { target, join, instruction }: Item): OperatorSpec {
  return { operator, kind: 'agent', target: target.id, ...(join === 'map' ? { instruction } : {}) };
}

function workOf({ instruction, input_ids, replaces }: Item, work: string, operator: string): WorkSpec {
  return {
    work,
    operator,
    inputs: [...new Set(input_ids ?? [])],
    // A supervisor decides about what failed: it is handed on like all else.
    onError: 'collect',
    instruction,
    ...(replaces === undefined ? {} : { replaces }),
  };
}

/** The operators whose results are mapped: named themselves, or by one of their works. */
function routesOf({ input_ids = [] }: Item, schedule: Schedule): string[] {
  const names = input_ids.map((id) => schedule.works.get(id)?.operator.spec.operator ?? id);
  return [...new Set(names)];
}

function stop(stops: NonNullable<UpdateInput['stop']>, { callId, schedule }: UpdateBasis): UpdateCall {
  const stopped = stops.map(({ target_id }) => ({ target_id, outcome: outcomeOf(target_id, schedule) }));
  const request = {
    update: callId,
    // `*` is everything to a schedule, and no id a model was ever given.
    stops: stops
      .filter(({ target_id }) => target_id !== '*')
      .map(({ target_id, reason }) => ({ target: target_id, reason })),
  };
  return { type: 'update', request, added: [], stopped };
}

function outcomeOf(target: string, { works, operators }: Schedule): StopOutcome {
  const work = works.get(target);
  if (work !== undefined) return isSettled(work.status) ? 'already_terminal' : 'stopping';
  const operator = operators.get(target);
  if (operator === undefined) return 'ignored_unknown';
  return operator.works.every(({ status }) => isSettled(status)) ? 'already_terminal' : 'stopping';
}

function finish(
  { result_ids, reason }: NonNullable<UpdateInput['finish']>,
  { callId }: UpdateBasis,
): UpdateCall {
  const results = [...new Set(result_ids)];
  if (results.length < result_ids.length) {
    return { type: 'wrong', code: 'duplicate-result', message: 'result_ids name a result twice' };
  }
  return { type: 'update', request: { update: callId, finish: { results, reason } }, added: [], stopped: [] };
}
