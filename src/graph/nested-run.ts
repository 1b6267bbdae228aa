import { ChildOwner } from '../agent/child-owner.ts';
import { type ChildEnd, childEndOf } from '../agent/child-sessions.ts';
import { createRestartBudget } from '../agent/restart-budget.ts';
import { usageOf } from '../agent/run-result.ts';
import type { SessionJob, SessionParts } from '../agent/session-parts.ts';
import { tallyTree } from '../agent/tally-tree.ts';
import { failureOf } from '../agent/thrown-failure.ts';
import type { LastOutcome } from '../agent/turn-outcome.ts';
import type { LedgerRecord } from '../ledger/records.ts';
import { foldSession } from '../ledger/turn-facts.ts';
import { createUsageMeter, type UsageMeter } from '../turn/usage-meter.ts';
import { closedGraph, graphJobFor } from './child-graph.ts';
import { closedSwarm, swarmJobFor } from './child-swarm.ts';
import type { AnyGraph } from './define-graph.ts';
import type { AnySwarm } from './define-swarm.ts';
import type { NestedRequest } from './graph-scope.ts';

/**
 * Runs a graph or a swarm in a session of its own, as `runChild` does an agent: opens it, takes it up, or only says what
 * became of it. Never rejects; settles only when everything it started has settled.
 */
export async function runNested(parts: SessionParts, request: NestedRequest): Promise<ChildEnd> {
  const usage = createUsageMeter(request.run.usage);
  const restarts = createRestartBudget(parts.clock, parts.limits.supervision);
  let first = true;
  try {
    for (;;) {
      const records = await parts.ledger.read(request.sessionId);
      if (first && records.length > 0) await countBefore(parts, records, usage);
      first = false;
      const outcome = await runOnce(parts, request, records, usage);
      const isBroken = outcome.type === 'left' && outcome.failure.kind !== 'runtime-closed';
      if (isBroken && !request.signal.aborted && restarts.take()) continue;
      return endOf(outcome, usage, {
        session: request.sessionId,
        head: await parts.ledger.head(request.sessionId),
      });
    }
  } catch (error) {
    const last = { session: request.sessionId, head: undefined };
    return { type: 'lost', failure: failureOf(error), usage: usageOf(usage), steps: 0, toolCalls: 0, last };
  }
}

async function runOnce(
  parts: SessionParts,
  request: NestedRequest,
  records: readonly LedgerRecord[],
  usage: UsageMeter,
): Promise<LastOutcome> {
  const { target, sessionId } = request;
  const last = foldSession(records).turns.at(-1);
  if (isGraph(request) && last?.closed !== undefined) return closedGraph(parts, request, records);
  const owner = new ChildOwner({ ...request.run, usage }, { ...request, agent: target });
  if (!owner.endsBefore(last === undefined ? 'open' : 'resume')) {
    submit(parts, request, jobFor(request, owner, last === undefined));
  }
  const outcome = await owner.result;
  const steps = owner.before.steps + outcome.steps;
  const toolCalls = owner.before.toolCalls + outcome.toolCalls;
  // A swarm may be at work between its turns: only its session knows that it is not.
  const isOver = outcome.type === 'failed' && outcome.failure.kind === 'nothing-to-resume';
  if (isOver && isSwarm(request)) return closedSwarm(parts, request, await parts.ledger.read(sessionId));
  return { ...outcome, steps, toolCalls };
}

function jobFor(request: NestedRequest, owner: ChildOwner, isNew: boolean): SessionJob {
  if (isGraph(request)) return graphJobFor(request, { owner, isNew, runNested });
  // What is no graph is a swarm.
  return swarmJobFor(request as NestedRequest<AnySwarm>, { owner, isNew });
}

function submit(parts: SessionParts, { sessionId }: NestedRequest, job: SessionJob): void {
  if (parts.registry.actorFor(sessionId, parts.ledger).submit(job) === 'accepted') return;
  job.refuse({ kind: 'mailbox-full', message: `the mailbox of ${sessionId} is full` });
}

function isGraph(request: NestedRequest): request is NestedRequest<AnyGraph> {
  return request.target.kind === 'graph';
}

function isSwarm(request: NestedRequest): request is NestedRequest<AnySwarm> {
  return request.target.kind === 'swarm';
}

/** The run has counted what the child used before; its own meter begins with it. */
async function countBefore(
  { ledger }: SessionParts,
  records: readonly LedgerRecord[],
  meter: UsageMeter,
): Promise<void> {
  const tally = await tallyTree(ledger, records[0]?.agent ?? '', foldSession(records).turns);
  for (const { agent, usage, complete } of tally.reports) meter.noteBefore(agent, usage, complete);
}

function endOf(outcome: LastOutcome, usage: UsageMeter, last: ChildEnd['last']): ChildEnd {
  const { steps, toolCalls } = outcome;
  return childEndOf(outcome, { usage: usageOf(usage), steps, toolCalls, last });
}
