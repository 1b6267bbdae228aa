import { closedOutcome } from '../agent/closed-outcome.ts';
import type { SessionJob, SessionParts } from '../agent/session-parts.ts';
import { type LastOutcome, refusedOutcome } from '../agent/turn-outcome.ts';
import type { LedgerRecord } from '../ledger/records.ts';
import { foldSession } from '../ledger/turn-facts.ts';
import type { AnySwarm } from './define-swarm.ts';
import type { NestedRequest } from './graph-scope.ts';
import { resumeSwarmJob, type SwarmOwner, swarmJob } from './swarm-job.ts';

/** The job that opens or takes up a swarm below another session. */
export function swarmJobFor(
  request: NestedRequest<AnySwarm>,
  { owner, isNew }: { readonly owner: SwarmOwner; readonly isNew: boolean },
): SessionJob {
  const { target: swarm, lineage, sessionId, parent, boundTools, decide = () => 'block' } = request;
  const identity = { session: sessionId, root: parent.root, parent: parent.session, agent: swarm.name };
  const shared = { swarm, identity, lineage, run: owner, boundTools, decide };
  const swarmRequest = { ...shared, clientSources: [], discovery: undefined };
  return isNew ? swarmJob(swarmRequest, request.input) : resumeSwarmJob(swarmRequest);
}

/** What a run of a swarm came to that ended before anybody here ran it: what its last turn did. */
export async function closedSwarm(
  { ledger }: SessionParts,
  { target }: NestedRequest<AnySwarm>,
  records: readonly LedgerRecord[],
): Promise<LastOutcome> {
  const { turns } = foldSession(records);
  const last = turns.at(-1);
  if (last?.closed === undefined) {
    return refusedOutcome({ kind: 'machine-fault', message: `the swarm ${target.name} is gone` });
  }
  const outcome = await closedOutcome(last, last.closed, target.supervisor, ledger);
  if (outcome.type === 'handed-off') {
    return refusedOutcome({ kind: 'machine-fault', message: `the swarm ${target.name} handed over` });
  }
  let steps = 0;
  let toolCalls = 0;
  for (const { closed } of turns) {
    steps += closed?.data.steps ?? 0;
    toolCalls += closed?.data.toolCalls ?? 0;
  }
  return { ...outcome, steps, toolCalls };
}
