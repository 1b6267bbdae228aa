import { SwarmError } from '../errors.ts';
import type { JsonValue } from '../ledger/content.ts';
import type {
  Failure,
  NewRecord,
  PauseReason,
  RecordData,
  StopReason,
  TurnStatus,
} from '../ledger/records.ts';
import { measureDiscovery } from '../tools/measure-discovery.ts';
import { endLeftStep } from './left-step.ts';
import { exceededRecord } from './run-budget.ts';
import type { StopCause } from './stop-signal.ts';
import type { TurnScope } from './turn-scope.ts';

/** How a turn left its loop. Only `closed` turns have their terminal fact. */
export type TurnEnd =
  | ClosedTurn
  | { readonly type: 'paused'; readonly reason: PauseReason }
  /** Open in the ledger and gone from this process. */
  | { readonly type: 'detached'; readonly failure: Failure };

/** A turn that has its terminal fact. */
export interface ClosedTurn {
  readonly type: 'closed';
  readonly status: TurnStatus;
  readonly stopReason: StopReason;
  readonly failure?: Failure;
  readonly reason?: string;
  /** The output of an agent that has one, parsed. */
  readonly value?: unknown;
}

/** The end of a turn that went well. */
export interface GoodEnd {
  readonly status: Extract<TurnStatus, 'completed' | 'yielded' | 'handed-off'>;
  readonly stopReason: StopReason;
  /** What is written of the output, and its parsed value. */
  readonly output?: { readonly json: JsonValue; readonly value: unknown };
  readonly target?: string;
}

/** Writes the terminal fact of a turn that decided to end, then tells the machine. */
export async function finishTurn(scope: TurnScope, end: GoodEnd): Promise<TurnEnd> {
  scope.stop.seal();
  const { status, stopReason, output, target } = end;
  const value = output === undefined ? {} : { value: output.value };
  const closed: ClosedTurn = { type: 'closed', status, stopReason, ...value };
  await commitClosed(scope, closed, {
    status,
    stopReason,
    ...(output === undefined ? {} : recordedOutput(scope, output.json)),
    ...(target === undefined ? {} : { reason: target }),
  });
  if (status === 'completed') scope.machine.send({ type: 'FINISH', stopReason });
  else if (status === 'yielded') scope.machine.send({ type: 'YIELD' });
  else scope.machine.send({ type: 'HANDED_OFF', target: target ?? '' });
  return closed;
}

/** An output too large for a record is in the facts of the step that brought it. */
function recordedOutput({ plan }: TurnScope, output: JsonValue): { readonly output?: JsonValue } {
  return JSON.stringify(output).length * 3 > plan.limits.ledger.maxBatchBytes / 2 ? {} : { output };
}

/**
 * Ends a turn that will not go on. Everything in flight has been waited for; the terminal fact says why, the
 * machine follows it. A turn that cannot write its end stays open in the ledger and is found by `recover`.
 */
export async function closeTurn(scope: TurnScope, cause: StopCause): Promise<TurnEnd> {
  if (cause.type === 'detached') return detachTurn(scope, { kind: cause.code, message: cause.reason });
  await scope.approvals.cancelAll(causeText(cause));
  // A later, stronger cause may have come while requests were being cancelled.
  const last = scope.stop.cause ?? cause;
  if (last.type === 'detached') return detachTurn(scope, { kind: last.code, message: last.reason });
  scope.stop.seal();
  const data = closedData(scope, last);
  const { status, stopReason, error, reason } = data;
  const closed: ClosedTurn = {
    type: 'closed',
    status,
    stopReason,
    ...(error === undefined ? {} : { failure: error }),
    ...(reason === undefined ? {} : { reason }),
  };
  const exceeded = last.type === 'failed' ? last.exceeded : undefined;
  const before = exceeded === undefined ? [] : [exceededRecord(scope.turnId, exceeded)];
  await commitClosed(scope, closed, data, before);
  scope.machine.send({ type: 'CLOSED' });
  return closed;
}

/** Lets go of a turn whose facts cannot be written: the store failed or another owner took the session. */
export function breakTurn(scope: TurnScope, error: unknown): TurnEnd {
  const kind = error instanceof SwarmError ? error.code : 'machine-fault';
  const message = error instanceof Error ? error.message : 'the turn broke';
  scope.machine.send({ type: 'COMMIT_FAILED', kind });
  return detachTurn(scope, { kind, message });
}

export function detachTurn(scope: TurnScope, failure: Failure): TurnEnd {
  scope.approvals.detach();
  scope.steering.close(failure.message).resolve();
  return { type: 'detached', failure };
}

export function causeText(cause: StopCause): string {
  return cause.type === 'failed' ? cause.failure.message : cause.reason;
}

type ClosedEnd = Pick<RecordData<'turn.closed'>, 'status' | 'stopReason' | 'error' | 'reason' | 'output'>;

function closedData(scope: TurnScope, cause: Exclude<StopCause, { type: 'detached' }>): ClosedEnd {
  if (cause.type === 'cancelled')
    return { status: 'cancelled', stopReason: 'user-stop', reason: cause.reason };
  if (cause.type === 'interrupted')
    return { status: 'interrupted', stopReason: 'other', reason: cause.reason };
  const { kind } = cause.failure;
  return { status: 'failed', stopReason: stopReasonOf(kind, scope), error: cause.failure };
}

function stopReasonOf(kind: string, scope: TurnScope): StopReason {
  if (kind === 'step-limit') return 'step-limit';
  if (kind.endsWith('-budget')) return 'budget';
  if (kind === 'context-overflow' || kind === 'context-budget-exhausted') return 'context-budget-exhausted';
  return scope.machine.context.stopReason === 'step-limit' ? 'step-limit' : 'error';
}

async function commitClosed(
  scope: TurnScope,
  closed: ClosedTurn,
  end: ClosedEnd,
  before: readonly NewRecord[] = [],
): Promise<void> {
  await scope.steering.ready();
  const undelivered = scope.steering.close(`the turn ended (${end.status})`);
  const { total } = scope.turnUsage;
  const { leftStep, tools } = scope.progress;
  const batch: NewRecord[] = [
    ...before,
    ...(leftStep === undefined ? [] : endLeftStep(scope.turnId, leftStep, end.error)),
    ...undelivered.records,
    // Where activations outlive their turn, nothing is cleared.
    ...(scope.tools.activated.size === 0 || scope.plan.discovery.retention === 'replay'
      ? []
      : [
          { type: 'tools.cleared' as const, turn: scope.turnId, data: { names: [...scope.tools.activated] } },
        ]),
    ...(await measuredFacts(scope)),
    {
      type: 'turn.closed',
      turn: scope.turnId,
      data: {
        ...end,
        steps: scope.progress.steps,
        toolCalls: scope.progress.toolCalls,
        ...(total.complete ? { usage: total.reported } : {}),
        ...(tools === undefined ? {} : { tools }),
      },
    },
  ];
  await scope.commitEnd(batch, closed);
  undelivered.resolve();
}

/** What discovery was worth, read from the facts; a store that cannot be read here costs the figures, not the end. */
async function measuredFacts({
  turnId,
  fromSeq,
  session,
  tools,
  plan,
}: TurnScope): Promise<readonly NewRecord[]> {
  const { catalogue, activated, binding } = tools;
  if (catalogue.deferred.length === 0) return [];
  try {
    const records = await session.ledger.read(session.sessionId, fromSeq);
    const data = measureDiscovery(
      records.filter((record) => record.turn === turnId),
      {
        deferredCount: catalogue.deferred.length,
        isDeferred: (name) => catalogue.isDeferred(name),
        isOwn: (name) => binding.byName(name)?.runtimeOwned === true,
        exposed: [...activated],
        schemaCharsOf: (name) => binding.byName(name)?.schemaChars ?? 0,
        k: plan.discovery.maxResults,
      },
    );
    return [{ type: 'tools.measured', turn: turnId, data }];
  } catch {
    return [];
  }
}
