import { ChildOwner } from '../agent/child-owner.ts';
import type { ChildEnd } from '../agent/child-sessions.ts';
import { createRestartBudget } from '../agent/restart-budget.ts';
import { usageOf } from '../agent/run-result.ts';
import type { SessionParts } from '../agent/session-parts.ts';
import { tallyTree } from '../agent/tally-tree.ts';
import { failureOf } from '../agent/thrown-failure.ts';
import type { LastOutcome } from '../agent/turn-outcome.ts';
import type { LedgerRecord } from '../ledger/records.ts';
import { foldSession } from '../ledger/turn-facts.ts';
import { createUsageMeter, type UsageMeter } from '../turn/usage-meter.ts';
import { countSpent, textOfOutput } from './graph-end.ts';
import { readGraphInput } from './graph-input.ts';
import { graphJob, resumeGraphJob } from './graph-job.ts';
import type { ChildGraphRequest } from './graph-scope.ts';
import { Schedule } from './schedule.ts';
import { WorkValues } from './work-values.ts';

/**
 * Runs a graph in a session of its own, as `runChild` does an agent: opens it, takes it up, or only says what became of
 * it. Never rejects; settles only when everything the graph started has settled.
 */
export async function runChildGraph(parts: SessionParts, request: ChildGraphRequest): Promise<ChildEnd> {
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
  request: ChildGraphRequest,
  records: readonly LedgerRecord[],
  usage: UsageMeter,
): Promise<LastOutcome> {
  const { graph, lineage, sessionId: session, parent, boundTools, decide = () => 'block' } = request;
  const last = foldSession(records).turns.at(-1);
  if (last?.closed !== undefined) return closedGraph(parts, request, records);
  const owner = new ChildOwner({ ...request.run, usage }, { ...request, agent: graph });
  if (owner.endsBefore(last === undefined ? 'open' : 'resume')) return owner.result;
  const identity = { session, root: parent.root, parent: parent.session, agent: graph.name };
  const graphRequest = { graph, identity, lineage, run: owner, boundTools, decide, runGraph: runChildGraph };
  const job = last === undefined ? graphJob(graphRequest, request.input) : resumeGraphJob(graphRequest);
  if (parts.registry.actorFor(session, parts.ledger).submit(job) !== 'accepted') {
    job.refuse({ kind: 'mailbox-full', message: `the mailbox of ${session} is full` });
  }
  return owner.result;
}

/** What a run of a graph came to that ended before anybody here ran it, by its facts. */
async function closedGraph(
  parts: SessionParts,
  { graph, sessionId }: ChildGraphRequest,
  records: readonly LedgerRecord[],
): Promise<LastOutcome> {
  const turn = foldSession(records).turns.at(-1);
  const closed = turn?.closed?.data;
  const schedule = new Schedule(sessionId);
  for (const record of records) if (record.turn === turn?.turnId) schedule.apply(record);
  const counted = countSpent(schedule);
  if (closed?.status === 'completed') {
    const input = readGraphInput(graph, turn?.opened.data.input ?? []);
    const values = new WorkValues(graph, schedule, input.type === 'valid' ? input.value : undefined);
    await values.load(parts.ledger);
    const work = schedule.works.get(graph.output);
    const output = work === undefined ? closed.output : values.of(work);
    return { type: 'completed', output, stopReason: 'end-turn', text: textOfOutput(output), ...counted };
  }
  if (closed?.status === 'failed') {
    const failure = closed.error ?? { kind: 'machine-fault', message: 'the graph failed without a reason' };
    return { type: 'failed', failure, text: '', ...counted };
  }
  return { type: 'cancelled', reason: closed?.reason ?? 'cancelled', text: '', ...counted };
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
  const { steps, toolCalls, text } = outcome;
  const counts = { usage: usageOf(usage), steps, toolCalls, last };
  switch (outcome.type) {
    case 'completed':
      return { type: 'completed', output: outcome.output, text, ...counts };
    case 'failed':
      return { type: 'failed', failure: outcome.failure, text, ...counts };
    case 'cancelled':
      return { type: 'cancelled', reason: outcome.reason, text, ...counts };
    case 'paused': {
      const { reason, approvals, calls } = outcome;
      return { type: 'paused', reason, approvals, calls, ...counts };
    }
    case 'left': {
      const type = outcome.failure.kind === 'runtime-closed' ? 'left' : 'lost';
      return { type, failure: outcome.failure, ...counts };
    }
  }
}
