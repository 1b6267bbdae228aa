import { hash } from 'node:crypto';
import type { Failure, NewRecord, RecordOf } from '../ledger/records.ts';
import type { AnyAgent } from './define-agent.ts';
import type { Lineage } from './lineage.ts';

/** What a ceiling is worked out from. */
interface CeilingRequest {
  readonly agent: AnyAgent;
  readonly lineage: Lineage;
  /** Hard ceiling of the run, by tool name. */
  readonly boundTools: readonly string[] | undefined;
}

type Named = { readonly agents: ReadonlyMap<string, AnyAgent> };

/**
 * Names of the tools a session may ever use: the agent's own and those of the agents it declares, all the way down,
 * within what the session above was opened with and the ceiling of the run. In order of name.
 */
export function ceilingIn({ agent, lineage, boundTools }: CeilingRequest, named: Named): readonly string[] {
  const names = new Set<string>();
  const seen = new Set<AnyAgent>();
  const queue = [agent];
  for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
    if (seen.has(one)) continue;
    seen.add(one);
    for (const bound of one.binding.tools) names.add(bound.name);
    queue.push(...one.agents, ...one.handoffs.flatMap((target) => resolved(target, named) ?? []));
  }
  // The root may be given another ceiling with its next run; what is below it belongs to this one alone.
  const outer = lineage.bounds === undefined ? [] : [lineage.ceiling, boundTools];
  for (const ceiling of outer) {
    if (ceiling === undefined) continue;
    const allowed = new Set(ceiling);
    for (const name of names) if (!allowed.has(name)) names.delete(name);
  }
  return [...names].sort();
}

function resolved(target: AnyAgent | string, { agents }: Named): AnyAgent | undefined {
  return typeof target === 'string' ? agents.get(target) : target;
}

/** The first fact of a session. */
export function sessionOpened(
  { lineage }: Pick<CeilingRequest, 'lineage'>,
  ceiling: readonly string[],
  kind: 'agent' | 'graph' = 'agent',
): NewRecord {
  const { agentPath, depth } = lineage;
  return {
    type: 'session.opened',
    data: {
      kind,
      ceiling: [...ceiling],
      ceilingHash: hashOf(ceiling),
      agentPath: [...agentPath],
      depth,
    },
  };
}

function hashOf(ceiling: readonly string[]): string {
  return hash('sha256', [...ceiling].sort().join('\n'));
}

/**
 * Whether a session that is taken up may still use what it was opened with. The root loses the tools that are gone; a
 * child whose parent was narrowed meanwhile does not go on.
 */
export function checkCeiling(
  request: CeilingRequest,
  named: Named,
  opened: RecordOf<'session.opened'> | undefined,
): Failure | undefined {
  if (opened === undefined || request.lineage.bounds === undefined) return undefined;
  const { ceiling, ceilingHash } = opened.data;
  const now = ceilingIn(request, named);
  if (hashOf(now) === ceilingHash) return undefined;
  const allowed = new Set(now);
  const gone = ceiling.filter((name) => !allowed.has(name));
  if (gone.length === 0) return undefined;
  return {
    kind: 'ceiling-changed',
    message: `${request.agent.name} was opened with tools that it or those above it may not use any more: ${gone.join(', ')}`,
  };
}
