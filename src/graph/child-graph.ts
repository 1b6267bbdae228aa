import type { SessionJob, SessionParts } from '../agent/session-parts.ts';
import type { LastOutcome } from '../agent/turn-outcome.ts';
import type { TurnOwner } from '../agent/turn-owner.ts';
import type { LedgerRecord } from '../ledger/records.ts';
import { foldSession } from '../ledger/turn-facts.ts';
import type { AnyGraph } from './define-graph.ts';
import { countSpent, textOfOutput } from './graph-end.ts';
import { readGraphInput } from './graph-input.ts';
import { graphJob, resumeGraphJob } from './graph-job.ts';
import type { NestedRequest, RunNested } from './graph-scope.ts';
import { Schedule } from './schedule.ts';
import { WorkValues } from './work-values.ts';

/** How a child is given to its session. */
interface Given {
  readonly owner: TurnOwner;
  readonly isNew: boolean;
  readonly runNested: RunNested;
}

/** The job that opens or takes up a graph below another session. */
export function graphJobFor(
  request: NestedRequest<AnyGraph>,
  { owner, isNew, runNested }: Given,
): SessionJob {
  const { target: graph, lineage, sessionId, parent, boundTools, decide = () => 'block' } = request;
  const identity = { session: sessionId, root: parent.root, parent: parent.session, agent: graph.name };
  const graphRequest = { graph, identity, lineage, run: owner, boundTools, decide, runNested };
  return isNew ? graphJob(graphRequest, request.input) : resumeGraphJob(graphRequest);
}

/** What a run of a graph came to that ended before anybody here ran it, by its facts. */
export async function closedGraph(
  parts: SessionParts,
  { target: graph, sessionId }: NestedRequest<AnyGraph>,
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
