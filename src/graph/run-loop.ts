import { errorText } from '../tools/error-text.ts';
import { workOperationId } from './enter-function.ts';
import type { GraphNode } from './graph-node.ts';
import { planRound, workName } from './graph-plan.ts';
import { commitFacts, type GraphScope } from './graph-scope.ts';
import { commitOutcome, type EndedAttempt, type WorkOutcome } from './work-outcome.ts';
import { isSettled, type WorkState } from './work-state.ts';

/**
 * Repeats the rounds of a loop. Each further round is an update of the schedule, so that a run that is taken up knows
 * how many there were. Settles with the loop.
 * @throws SwarmError as `SessionLog.commit`
 */
export async function runLoop(scope: GraphScope, work: WorkState, node: GraphNode): Promise<void> {
  const attempt = Math.max(1, work.lastAttempt);
  const startedMs = scope.parts.clock.monotonicMs();
  if (!work.attempts.has(attempt)) {
    const operationId = workOperationId(scope.turnId, work.work);
    const data = { work: work.work, node: node.name, attempt, operationId };
    await commitFacts(scope, [{ type: 'node.started', data }]);
  }
  const outcome = await runRounds(scope, node);
  if (outcome.type !== 'left') await commitLoop(scope, { work, node, attempt, startedMs, outcome });
}

async function runRounds(scope: GraphScope, node: GraphNode): Promise<WorkOutcome> {
  const [end = ''] = node.from;
  for (;;) {
    const round = lastRound(scope, end);
    const last = scope.schedule.works.get(workName(end, round));
    if (last === undefined) return { type: 'cancelled', reason: 'its round is gone' };
    await settled(scope, last);
    if (scope.stop.cause?.type === 'detached') return { type: 'left' };
    if (!isSettled(last.status)) return { type: 'cancelled', reason: 'the graph ended' };
    if (last.inputClass === 'failed') return { type: 'failed', failure: scope.values.errorOf(last) };
    // A round that was left out ends the loop with what the one before yielded.
    if (last.inputClass === 'skipped') return DONE;
    const next = await wantsAnother(scope, node, last, round);
    if (next !== true) return next;
    const proposal = scope.schedule.propose(
      planRound(scope.graph, node, { round: round + 1, fanOut: scope.limits.fanOut }),
    );
    if (proposal.type !== 'new') return { type: 'cancelled', reason: 'the graph is finished' };
    await commitFacts(scope, [{ type: 'graph.updated', data: proposal.data }]);
    scope.machine.send({ type: 'UPDATED', revision: proposal.data.revision });
    scope.changes.tell();
  }
}

const DONE: WorkOutcome = { type: 'completed', value: undefined };

function lastRound(scope: GraphScope, end: string): number {
  let round = 1;
  while (scope.schedule.works.has(workName(end, round + 1))) round += 1;
  return round;
}

/** The stop of a run tells its changes too. */
async function settled(scope: GraphScope, work: WorkState): Promise<void> {
  while (!isSettled(work.status) && !scope.stop.signal.aborted) await scope.changes.next;
}

/** Whether another round follows; the bound is told of where it is what ends the loop. */
async function wantsAnother(
  scope: GraphScope,
  { name, loop }: GraphNode,
  last: WorkState,
  round: number,
): Promise<true | WorkOutcome> {
  if (loop === undefined) return DONE;
  try {
    // The builder held the condition to what the last node of a round yields.
    if (!loop.while(scope.values.of(last) as never)) return DONE;
  } catch (error) {
    const message = `${name}: ${errorText(error, scope.limits)}`;
    return { type: 'failed', failure: { kind: 'node-failed', message } };
  }
  if (round < loop.max) return true;
  const data = { budget: `loop ${name}`, limit: loop.max, used: round };
  await commitFacts(scope, [{ type: 'budget.exceeded', data }]);
  return DONE;
}

/** What a loop yields is what its last round did: nothing is kept twice. */
function commitLoop(scope: GraphScope, ended: EndedAttempt): Promise<void> {
  if (ended.outcome.type !== 'completed') return commitOutcome(scope, ended);
  const { work, node, attempt, startedMs } = ended;
  const durationMs = Math.max(0, scope.parts.clock.monotonicMs() - startedMs);
  const data = { work: work.work, node: node.name, attempt, status: 'completed' as const, durationMs };
  return commitFacts(scope, [{ type: 'node.finished', data }]);
}
