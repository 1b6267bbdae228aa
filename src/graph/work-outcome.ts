import type { ChildEnd } from '../agent/child-sessions.ts';
import type { Failure, RecordData } from '../ledger/records.ts';
import type { GraphNode } from './graph-node.ts';
import { commitFacts, type GraphScope, type TurnRecord } from './graph-scope.ts';
import type { NodeFinished, WorkState } from './work-state.ts';
import { storeValue } from './work-values.ts';

/** What an attempt of a work came to. */
export type WorkOutcome = (
  | { readonly type: 'completed'; readonly value: unknown }
  | { readonly type: 'failed'; readonly failure: Failure }
  | { readonly type: 'cancelled'; readonly reason: string }
  /** It lies in the ledger: for a person, for a decision, or for another process. */
  | { readonly type: 'left' }
) & {
  /** The child that did it. */
  readonly child?: ChildEnd & { readonly session: string; readonly agent: string };
};

/** An attempt as it is written down. */
export interface EndedAttempt {
  readonly work: WorkState;
  readonly node: GraphNode;
  readonly attempt: number;
  readonly startedMs: number;
  readonly outcome: Exclude<WorkOutcome, { readonly type: 'left' }>;
  /** When another attempt follows. */
  readonly retryAt?: number;
  readonly decision?: 'settle' | 'abandon';
}

/**
 * Writes down how an attempt ended, with the end of its child in the same batch. A value that cannot be kept fails the
 * work: what follows may not see what a later process would not.
 * @throws SwarmError as `SessionLog.commit`
 */
export async function commitOutcome(scope: GraphScope, ended: EndedAttempt): Promise<void> {
  const { outcome, work } = ended;
  let stored = {};
  let failure = outcome.type === 'failed' ? outcome.failure : undefined;
  if (outcome.type === 'completed') {
    try {
      const kept = await storeValue(outcome.value, scope.parts.ledger, scope.limits);
      scope.values.note(work, kept.json);
      stored = kept.stored;
    } catch (error) {
      const why = error instanceof Error ? error.message : 'it cannot be kept';
      failure = { kind: 'node-output', message: `the result of ${work.work}: ${why}` };
    }
  }
  if (outcome.type === 'cancelled') failure = { kind: 'cancelled', message: outcome.reason };
  const status = outcome.type === 'completed' && failure !== undefined ? 'failed' : outcome.type;
  await commitFacts(scope, [finishedFact(scope, ended, { status, failure, stored }), ...childFacts(outcome)]);
}

interface Ending {
  readonly status: NodeFinished['status'];
  readonly failure: Failure | undefined;
  readonly stored: object;
}

function finishedFact(scope: GraphScope, ended: EndedAttempt, ending: Ending): TurnRecord {
  const { work, node, attempt, outcome, retryAt, decision, startedMs } = ended;
  const { child } = outcome;
  const head = child?.last.head;
  const data: NodeFinished = {
    work: work.work,
    node: node.name,
    attempt,
    status: ending.status,
    ...ending.stored,
    ...(ending.failure === undefined ? {} : { error: ending.failure }),
    ...(retryAt === undefined ? {} : { retryAt }),
    ...(child === undefined ? {} : { child: child.session, spent: spentOf(child) }),
    ...(head === undefined ? {} : { head: { seq: head.seq, hash: head.hash } }),
    ...(decision === undefined ? {} : { decision }),
    durationMs: Math.max(0, scope.parts.clock.monotonicMs() - startedMs),
  };
  return { type: 'node.finished', data };
}

function spentOf({ usage, steps, toolCalls }: ChildEnd): NonNullable<NodeFinished['spent']> {
  const isKnown = Object.keys(usage.total).length > 0;
  return { ...(isKnown ? { usage: { ...usage.total } } : {}), steps, toolCalls };
}

/** What the parent of a child writes of its end. */
function childFacts({ child, type }: EndedAttempt['outcome']): readonly TurnRecord[] {
  if (child === undefined) return [];
  const { session, agent, steps, toolCalls, usage, last } = child;
  if (child.type === 'lost' || last.head === undefined) {
    const reason = child.type === 'lost' ? child.failure.message : 'it was never opened';
    return [{ type: 'child.lost', data: { child: session, agent, reason } }];
  }
  const data: RecordData<'child.finished'> = {
    child: session,
    agent,
    status: type,
    ...(Object.keys(usage.total).length > 0 ? { usage: { ...usage.total } } : {}),
    steps,
    toolCalls,
    ...(child.type === 'failed' ? { error: child.failure } : {}),
    last: last.session,
    headSeq: last.head.seq,
    headHash: last.head.hash,
  };
  return [{ type: 'child.finished', data }];
}
