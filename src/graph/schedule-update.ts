import { createHash } from 'node:crypto';
import { canonicalJson } from '../ledger/canonical-json.ts';
import type { GraphUpdate, OperatorState, WorkState } from './work-state.ts';

/** What somebody wants of a schedule; revision and fingerprint follow from it. */
export type UpdateRequest = Pick<GraphUpdate, 'update'> &
  Partial<Pick<GraphUpdate, 'operators' | 'works' | 'stops' | 'finish'>>;

/** Why an update changes nothing: stable codes, and words for a model or a person. */
export interface UpdateRejection {
  readonly code:
    | 'graph-finished'
    | 'finish-with-work'
    | 'identity-reused'
    | 'stopped-meanwhile'
    | 'unknown-operator'
    | 'duplicate-operator'
    | 'unknown-work'
    | 'duplicate-work'
    | 'reserved-name'
    | 'cycle'
    | 'unknown-record'
    | 'unknown-result'
    | 'join-unmet';
  readonly message: string;
}

/** The state an update is held against. */
export interface UpdateBasis {
  readonly isFinished: boolean;
  readonly works: ReadonlyMap<string, WorkState>;
  readonly operators: ReadonlyMap<string, OperatorState>;
  /** Absent where facts are folded: what a record says may be known later than the update that names it. */
  readonly isCommitted?: (record: string) => boolean;
}

/** Hash of what an update says; the same words again are the same update. */
export function fingerprintOf(request: UpdateRequest): string {
  const { operators = [], works = [], stops = [], finish = null } = request;
  return createHash('sha256').update(canonicalJson({ operators, works, stops, finish })).digest('hex');
}

/**
 * Whether an update may be made. Operators and works come after all they depend on, in the update or before it: so
 * there is no cycle, and none can come to be.
 */
export function checkUpdate(request: UpdateRequest, basis: UpdateBasis): UpdateRejection | undefined {
  if (basis.isFinished) return { code: 'graph-finished', message: 'the graph is finished' };
  if (request.finish !== undefined && (request.works ?? []).length > 0) {
    return { code: 'finish-with-work', message: 'an update that finishes the graph adds no work' };
  }
  return checkOperators(request, basis) ?? checkWorks(request, basis) ?? checkFinish(request, basis);
}

function checkOperators(
  { operators = [] }: UpdateRequest,
  { operators: known }: UpdateBasis,
): UpdateRejection | undefined {
  const all = new Set(operators.map(({ operator }) => operator));
  const here = new Set<string>();
  for (const { operator, routes = [] } of operators) {
    if (isDerived(operator)) return reservedName(operator);
    if (known.has(operator) || here.has(operator)) {
      return { code: 'duplicate-operator', message: `there is an operator ${operator} already` };
    }
    for (const route of routes) {
      if (known.has(route) || here.has(route)) continue;
      if (all.has(route))
        return { code: 'cycle', message: `${operator} is routed from ${route}, which comes after it` };
      return {
        code: 'unknown-operator',
        message: `${operator} is routed from ${route}, which is no operator`,
      };
    }
    here.add(operator);
  }
  return undefined;
}

function checkWorks(
  { operators = [], works = [] }: UpdateRequest,
  basis: UpdateBasis,
): UpdateRejection | undefined {
  const newOperators = new Set(operators.map(({ operator }) => operator));
  const all = new Set(works.map(({ work }) => work));
  const here = new Set<string>();
  for (const { work, operator, inputs, records = [], need, replaces } of works) {
    if (isDerived(work)) return reservedName(work);
    if (basis.works.has(work) || here.has(work)) {
      return { code: 'duplicate-work', message: `there is a work ${work} already` };
    }
    if (!newOperators.has(operator) && !basis.operators.has(operator)) {
      return { code: 'unknown-operator', message: `${work} is for ${operator}, which is no operator` };
    }
    for (const input of replaces === undefined ? inputs : [...inputs, replaces]) {
      if (basis.works.has(input) || here.has(input)) continue;
      if (all.has(input)) return { code: 'cycle', message: `${work} needs ${input}, which comes after it` };
      return { code: 'unknown-work', message: `${work} names ${input}, which is no work` };
    }
    const missing = records.find((record) => basis.isCommitted?.(record) === false);
    if (missing !== undefined) {
      return { code: 'unknown-record', message: `${work} names ${missing}, which is no record of the graph` };
    }
    if (need !== undefined && (need === 0 || need > inputs.length)) {
      return {
        code: 'join-unmet',
        message: `${work} needs ${need} of ${inputs.length} inputs: it can never run`,
      };
    }
    here.add(work);
  }
  return undefined;
}

/** Names the schedule makes itself, of items and of routed results; see `work-store`. */
function isDerived(name: string): boolean {
  return name === '*' || name.includes('[') || name.includes('<');
}

function reservedName(name: string): UpdateRejection {
  return { code: 'reserved-name', message: `${name}: names of a schedule have no [ and no <` };
}

/** Results a graph is finished with are those of works that completed. */
function checkFinish({ finish }: UpdateRequest, basis: UpdateBasis): UpdateRejection | undefined {
  if (finish === undefined || basis.isCommitted === undefined) return undefined;
  const wrong = finish.results.find((result) => basis.works.get(result)?.status !== 'completed');
  if (wrong === undefined) return undefined;
  return { code: 'unknown-result', message: `${wrong} is no work that completed` };
}
