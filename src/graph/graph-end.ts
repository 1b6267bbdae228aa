import type { LastOutcome } from '../agent/turn-outcome.ts';
import type { JsonValue } from '../ledger/content.ts';
import type { Failure, RecordData } from '../ledger/records.ts';
import { exceededRecord } from '../turn/run-budget.ts';
import { commitFacts, type GraphScope, type TurnRecord } from './graph-scope.ts';
import type { Schedule } from './schedule.ts';

/** Steps and tool calls of all children, as their ends say. They go on when a run is taken up. */
export function countSpent(schedule: Schedule): { readonly steps: number; readonly toolCalls: number } {
  let steps = 0;
  let toolCalls = 0;
  for (const { attempts } of schedule.works.values()) {
    for (const { finished } of attempts.values()) {
      steps += finished?.spent?.steps ?? 0;
      toolCalls += finished?.spent?.toolCalls ?? 0;
    }
  }
  return { steps, toolCalls };
}

/** The text of a result: itself, or as JSON. */
export function textOfOutput(output: unknown): string {
  if (output === undefined) return '';
  return typeof output === 'string' ? output : (JSON.stringify(output) ?? '');
}

type Closing =
  | { readonly type: 'completed'; readonly output: unknown }
  | { readonly type: 'failed'; readonly failure: Failure }
  | { readonly type: 'cancelled' | 'interrupted'; readonly reason: string };

/**
 * Writes the end of a graph, all of whose works have settled.
 * @throws SwarmError as `SessionLog.commit`
 */
export async function closeGraph(scope: GraphScope): Promise<LastOutcome> {
  const { stop, machine, schedule } = scope;
  stop.seal();
  const closing = closingOf(scope);
  if (closing.type === 'completed') machine.send({ type: 'FINISH' });
  else if (closing.type === 'failed') machine.send({ type: 'FAIL', kind: closing.failure.kind });
  await commitFacts(scope, closingFacts(scope, closing));
  machine.send({ type: 'CLOSED' });
  const counted = countSpent(schedule);
  if (closing.type === 'completed') {
    const { output } = closing;
    return { type: 'completed', output, stopReason: 'end-turn', text: textOfOutput(output), ...counted };
  }
  if (closing.type === 'failed') return { ...closing, text: '', ...counted };
  return { type: 'cancelled', reason: closing.reason, text: '', ...counted };
}

function closingOf(scope: GraphScope): Closing {
  const { stop, graph, schedule, values } = scope;
  const { cause } = stop;
  if (cause?.type === 'failed') return { type: 'failed', failure: cause.failure };
  if (cause?.type === 'cancelled' || cause?.type === 'interrupted') {
    return { type: cause.type, reason: cause.reason };
  }
  const output = schedule.works.get(graph.output);
  if (output?.status === 'completed') return { type: 'completed', output: values.of(output) };
  if (output?.inputClass === 'failed') return { type: 'failed', failure: values.errorOf(output) };
  if (output?.inputClass === 'skipped') {
    const message = `the output ${graph.output} was skipped, so there is no result`;
    return { type: 'failed', failure: { kind: 'output-skipped', message } };
  }
  const message = `${graph.output} can never run: ${schedule.faults[0] ?? 'nothing leads to it'}`;
  return { type: 'failed', failure: { kind: 'graph-stuck', message } };
}

function closingFacts(scope: GraphScope, closing: Closing): readonly TurnRecord[] {
  const { cause } = scope.stop;
  const exceeded = cause?.type === 'failed' ? cause.exceeded : undefined;
  const status = closing.type;
  const error = closing.type === 'failed' ? { error: closing.failure } : {};
  const closed: RecordData<'turn.closed'> = {
    status,
    stopReason: stopReasonOf(closing),
    ...countSpent(scope.schedule),
    ...error,
    ...('reason' in closing ? { reason: closing.reason } : {}),
    ...(closing.type === 'completed' ? outputOf(scope, closing.output) : {}),
  };
  return [
    ...(exceeded === undefined ? [] : [exceededRecord(scope.turnId, exceeded)]),
    { type: 'graph.finished', data: { status, ...error } },
    { type: 'turn.closed', data: closed },
  ];
}

function stopReasonOf(closing: Closing): RecordData<'turn.closed'>['stopReason'] {
  if (closing.type === 'completed') return 'end-turn';
  if (closing.type === 'failed') return closing.failure.kind.endsWith('-budget') ? 'budget' : 'error';
  return closing.type === 'cancelled' ? 'user-stop' : 'other';
}

/** An output too large for a record is in the facts of its node. */
function outputOf(scope: GraphScope, output: unknown): { readonly output?: JsonValue } {
  if (output === undefined) return {};
  if (textOfOutput(output).length * 3 > scope.limits.ledger.maxBatchBytes / 2) return {};
  // Values of works are JSON, and what joins and maps make of them is too; missing ones are null there.
  return { output: JSON.parse(JSON.stringify(output)) as JsonValue };
}

/**
 * Leaves a graph in the ledger for somebody to decide.
 * @throws SwarmError as `SessionLog.commit`
 */
export async function pauseGraph(scope: GraphScope): Promise<LastOutcome> {
  const { parked, machine, schedule } = scope;
  const reason = parked.some((one) => one.reason === 'indeterminate') ? 'indeterminate' : 'approval';
  const approvals = parked.flatMap((one) => one.approvals);
  const calls = parked.flatMap((one) => one.calls);
  const open = [...approvals.map(({ id }) => id), ...calls.map(({ callId }) => callId)];
  await commitFacts(scope, [{ type: 'turn.paused', data: { reason, open } }]);
  machine.send({ type: 'PAUSED', reason });
  return { type: 'paused', reason, approvals, calls, text: '', ...countSpent(schedule) };
}

/** Lets go of a graph whose turn is open in the ledger. */
export function leaveGraph({ schedule }: GraphScope, failure: Failure): LastOutcome {
  return { type: 'left', failure, text: '', ...countSpent(schedule) };
}
