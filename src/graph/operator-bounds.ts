import type { OperatorParts } from './run-operator.ts';
import type { WorkState } from './work-state.ts';

/** Takes the place of a new operator among the agents of its run, or says which bound leaves none. */
export function exceededBound(
  { supervisor, run }: Pick<OperatorParts, 'supervisor' | 'run'>,
  { operator }: WorkState,
): { readonly kind: string; readonly message: string } | undefined {
  const { limits, lineage } = supervisor;
  if (limits.depth < 1) {
    const message = `agents may work ${lineage.depth} levels below the root, and no deeper`;
    return { kind: 'depth-limit', message };
  }
  // It has its place since its first work.
  if (operator.session !== undefined) return undefined;
  const over = run.budget.reserveAgent(limits.agents);
  if (over === undefined) return undefined;
  return { kind: 'agent-limit', message: `the run may have ${over.limit} agents` };
}
