import { indeterminateNodes } from './graph-facts.ts';
import type { LedgerRecord, RecordData } from './records.ts';
import { type CallFacts, callStatus, foldSession, type SessionFacts, type TurnFacts } from './turn-facts.ts';

/** A call as a report names it. */
export interface ReportedCall {
  readonly callId: string;
  readonly toolName: string;
  readonly operationId: string;
}

/** What an ended process left of one session. Made from facts alone; making it runs nothing. */
export interface RecoveryReport {
  readonly sessionId: string;
  readonly agent: string;
  readonly turnId: string;
  /** A live process, this one or another, has the session: nothing to recover. */
  readonly owned: boolean;
  readonly paused: boolean;
  /** Its last turn gave way to a schedule, or to an agent that has not begun: `resume` goes on with it. */
  readonly gaveWay?: true;
  /** Steps that were begun. */
  readonly steps: number;
  /** A provider request was sent and its answer never recorded; it may have been billed. */
  readonly unanswered: boolean;
  /** Dispatched without an outcome: never run again without a decision. */
  readonly indeterminate: readonly ReportedCall[];
  /** Calls that certainly never ran. */
  readonly notDispatched: readonly Omit<ReportedCall, 'operationId'>[];
  /** Requests that wait for a person. */
  readonly parked: readonly {
    readonly requestId: string;
    readonly callId: string;
    readonly toolName: string;
  }[];
  /** Accepted steering that no request carried. */
  readonly steering: number;
}

/**
 * The report of a session with an open turn, or one that gave way to a turn that has not begun; `undefined` when there
 * is none. `exists` says which sessions there are; by default all that are named. `hasOpenBelow`: its works have open
 * turns, which end with those of nobody else.
 */
export function reportOf(
  records: readonly LedgerRecord[],
  owned: boolean,
  exists: (session: string) => boolean = () => true,
  hasOpenBelow = false,
): RecoveryReport | undefined {
  const facts = foldSession(records);
  const first = records[0];
  const given = yieldedTurn(facts, records) ?? handedOverTurn(facts, exists);
  const turn = facts.openTurn ?? given ?? (hasOpenBelow ? facts.turns.at(-1) : undefined);
  if (turn === undefined || first === undefined) return undefined;
  const calls = [...turn.calls.values()];
  const step = turn.steps.at(-1);
  return {
    sessionId: first.session,
    agent: first.agent,
    turnId: turn.turnId,
    owned,
    paused: turn.paused,
    ...(turn.closed === undefined ? {} : { gaveWay: true as const }),
    steps: turn.steps.length,
    unanswered: step?.openAttempt !== undefined,
    indeterminate: [...indeterminateCalls(turn), ...indeterminateNodes(records, turn.turnId)],
    notDispatched: calls
      .filter((call) => callStatus(call) === 'called' || callStatus(call) === 'decided')
      .map((call) => ({ callId: call.callId, toolName: call.called.data.toolName })),
    parked: parkedRequests(turn).map(({ call, request }) => ({
      requestId: request.request,
      callId: call.callId,
      toolName: request.toolName,
    })),
    steering: turn.steering.length,
  };
}

/** The last turn of a run that is not over: it gave way, and the next one has not begun. */
function yieldedTurn({ turns }: SessionFacts, records: readonly LedgerRecord[]): TurnFacts | undefined {
  const last = turns.at(-1);
  return last?.closed?.data.status === 'yielded' && !wasStoppedAfter(last.closed, records) ? last : undefined;
}

/** The last turn of a session that handed over to one that was never opened. */
function handedOverTurn(
  { turns }: SessionFacts,
  exists: (session: string) => boolean,
): TurnFacts | undefined {
  const last = turns.at(-1);
  const { handoff, closed } = last ?? {};
  return handoff !== undefined && closed?.data.status === 'handed-off' && !exists(handoff.data.child)
    ? last
    : undefined;
}

/** Whether everything of a schedule was stopped after a turn: that is how a run ends between two of them. */
export function wasStoppedAfter(closed: LedgerRecord, records: readonly LedgerRecord[]): boolean {
  return records.some(
    (record) =>
      record.type === 'graph.updated' &&
      record.seq > closed.seq &&
      record.data.stops.some(({ target }) => target === '*'),
  );
}

/** Calls with T1 and without T2, of tools that may have acted. */
export function indeterminateCalls(turn: TurnFacts): readonly ReportedCall[] {
  return [...turn.calls.values()].flatMap((call) =>
    call.dispatched !== undefined && call.dispatched.data.own !== true && callStatus(call) === 'dispatched'
      ? [
          {
            callId: call.callId,
            toolName: call.called.data.toolName,
            operationId: call.dispatched.data.operationId,
          },
        ]
      : [],
  );
}

/** An open request with the call it stands before. */
export interface ParkedRequest {
  readonly call: CallFacts;
  readonly request: RecordData<'permission.requested'>;
  /** Milliseconds since the epoch. */
  readonly requestedAt: number;
}

/** Requests that wait for a person, oldest first. */
export function parkedRequests(turn: TurnFacts): readonly ParkedRequest[] {
  return [...turn.calls.values()]
    .flatMap((call) =>
      call.requested !== undefined && callStatus(call) === 'parked'
        ? [{ call, request: call.requested.data, requestedAt: call.requested.at, seq: call.requested.seq }]
        : [],
    )
    .sort((a, b) => a.seq - b.seq);
}

/** The request of that id in a session, open or settled. */
export function findRequest(
  facts: SessionFacts,
  requestId: string,
): { readonly turn: TurnFacts; readonly call: CallFacts } | undefined {
  for (const turn of facts.turns) {
    for (const call of turn.calls.values()) {
      if (call.requested?.data.request === requestId) return { turn, call };
    }
  }
  return undefined;
}
