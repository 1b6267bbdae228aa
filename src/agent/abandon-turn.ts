import { SwarmError } from '../errors.ts';
import { type CallId, operationIdOf } from '../ids.ts';
import { abandonedNodes } from '../ledger/graph-facts.ts';
import type { NewRecord } from '../ledger/records.ts';
import {
  activatedNames,
  type CallFacts,
  callStatus,
  hasResult,
  type TurnFacts,
} from '../ledger/turn-facts.ts';
import { turnEndedText } from '../tools/refusals.ts';
import { endLeftStep } from '../turn/left-step.ts';
import type { OpenSession } from './session-parts.ts';

/** Calls given up in one append: three records each, and a batch is bounded. */
const CALLS_AN_APPEND = 64;

/**
 * Gives an open turn up: every call without a result gets one, every request ends, the turn is closed as
 * interrupted. Nothing is executed.
 * @throws SwarmError 'nothing-to-resume' when no turn is open
 */
export async function abandonTurn(session: OpenSession, reason: string): Promise<void> {
  const turn = session.facts.openTurn;
  if (turn === undefined) {
    throw new SwarmError('nothing-to-resume', `the session ${session.log.identity.session} has no open turn`);
  }
  const calls = [...turn.calls.values()].filter((call) => !hasResult(call));
  while (calls.length > CALLS_AN_APPEND) {
    const some = calls.splice(0, CALLS_AN_APPEND);
    await session.log.commit(some.flatMap((call) => abandonCall(turn.turnId, call, reason)));
  }
  await session.log.commit([
    ...calls.flatMap((call) => abandonCall(turn.turnId, call, reason)),
    ...(await endOfGraph(session, turn, reason)),
    ...endOf(turn, reason),
  ]);
}

async function endOfGraph(
  { facts, parts, log }: OpenSession,
  { turnId }: TurnFacts,
  reason: string,
): Promise<readonly NewRecord[]> {
  if (facts.opened?.data.kind !== 'graph') return [];
  return abandonedNodes(await parts.ledger.read(log.identity.session), turnId, reason);
}

function endOf(turn: TurnFacts, reason: string): readonly NewRecord[] {
  const { turnId } = turn;
  const step = turn.steps.at(-1);
  const ids = turn.steering.map((record) => record.data.id);
  const names = [...activatedNames(turn)];
  return [
    ...(step === undefined || step.closed !== undefined ? [] : endLeftStep(turnId, step)),
    ...(ids.length === 0
      ? []
      : [{ type: 'steering.undelivered' as const, turn: turnId, data: { ids, reason } }]),
    ...(names.length === 0 ? [] : [{ type: 'tools.cleared' as const, turn: turnId, data: { names } }]),
    closedRecord(turn, reason),
  ];
}

function closedRecord(turn: TurnFacts, reason: string): NewRecord {
  return {
    type: 'turn.closed',
    turn: turn.turnId,
    data: {
      status: 'interrupted',
      stopReason: 'other',
      steps: turn.steps.length,
      toolCalls: turn.calls.size,
      reason,
    },
  };
}

function abandonCall(turnId: string, call: CallFacts, reason: string): readonly NewRecord[] {
  const at = { turn: turnId, step: call.stepId, call: call.callId };
  const { toolName } = call.called.data;
  const status = callStatus(call);
  if (status === 'dispatched') {
    const operationId = operationIdOf(call.callId as CallId);
    const text = `${toolName} was interrupted and given up; whether it had an effect is unknown.`;
    return [
      {
        ...at,
        type: 'tool.reconciled',
        data: { operationId, decision: 'abandon', actor: 'abandon', evidence: reason },
      },
      {
        ...at,
        type: 'tool.settled',
        data: { operationId, toolName, status: 'abandoned', output: { type: 'error', text }, durationMs: 0 },
      },
    ];
  }
  const cancelled: readonly NewRecord[] =
    status === 'parked' && call.requested !== undefined
      ? [{ ...at, type: 'permission.cancelled', data: { request: call.requested.data.request, reason } }]
      : [];
  const text = turnEndedText(toolName, 'the turn was abandoned');
  return [...cancelled, { ...at, type: 'tool.refused', data: { code: 'turn-ended', text, toolName } }];
}
