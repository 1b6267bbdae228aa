import { sleep } from '../clock.ts';
import { isSwarmError, SwarmError } from '../errors.ts';
import type { PauseReason, RecordData } from '../ledger/records.ts';
import { indeterminateCalls } from '../ledger/recovery.ts';
import { foldSession, hasResult } from '../ledger/turn-facts.ts';
import type { IndeterminateDecision } from '../tools/reconcile-call.ts';
import type { RuntimeToolContext } from '../tools/runtime-tool.ts';
import { causeText } from '../turn/close-turn.ts';
import { postToOwner } from './approvals.ts';
import type { ChildEnd } from './child-sessions.ts';
import { type ChildStanding, standingOfChild } from './child-standing.ts';
import type { AnyAgent } from './define-agent.ts';
import { definitionHash } from './definition-hash.ts';
import type { DelegationScope } from './delegations.ts';
import { childLineage } from './lineage.ts';
import { openInTree } from './open-tree.ts';
import { agentsByName } from './reachable-agents.ts';
import type { RunResult } from './run-result.ts';
import { withSession } from './session-task.ts';
import { resultOfSettled, settledFact } from './settled-run.ts';

/** A child that any worker may have. */
export interface PlacedChild {
  readonly scope: DelegationScope;
  readonly target: AnyAgent;
  readonly sessionId: string;
  readonly ctx: RuntimeToolContext;
  /** Takes it up in this process to be stopped. */
  stopHere(): Promise<ChildEnd>;
}

type Grant = NonNullable<RecordData<'child.intended'>['grant']>;

/**
 * Whether another worker may have a child of a turn: it is known there by its name, and the turn can leave its place
 * meanwhile. An agent that runs its calls one after the other waits for each of them here.
 */
export function mayPlace({ request, session, turn }: DelegationScope, target: AnyAgent): boolean {
  const { pool, agents } = session.parts;
  if (pool === undefined || request.run.unit === undefined) return false;
  if (Number.isFinite(turn.plan.limits.toolConcurrency)) return false;
  return agentsByName(agents).get(target.name) === target;
}

/** What a child is held to wherever it runs, taken out of what the run may have. */
export async function grantFor(
  scope: DelegationScope,
  target: AnyAgent,
  { stepId, callId }: Pick<RuntimeToolContext, 'stepId' | 'callId'>,
): Promise<Grant> {
  const { self, turn, request, places } = scope;
  const { limits } = self;
  const asks = await asksOf(scope, stepId);
  // Calls of a step come here at once: nothing is waited for between the count and the share.
  const left = asks.filter((id) => id !== callId && !places.granted.has(id)).length;
  places.granted.add(callId);
  // Each of them gets as much as this one, and so does the turn itself.
  const { budget, agents, handoffs } = turn.run.budget.share(left + 2, limits);
  const { bounds } = childLineage(self, target);
  const { depth = 0, fanOut = 0, fanOutQueue = 0 } = bounds ?? {};
  return {
    // The child itself has its place already.
    bounds: { depth, fanOut, fanOutQueue, agents: agents + 1, handoffs },
    budget: { ...budget },
    ...(request.boundTools === undefined ? {} : { boundTools: [...request.boundTools] }),
    definition: definitionHash(target),
  };
}

/** Calls of a step that ask somebody and have no result. */
async function asksOf({ turn }: DelegationScope, stepId: string): Promise<readonly string[]> {
  const { session, turnId, tools } = turn;
  const records = await session.ledger.read(session.sessionId, turn.fromSeq);
  const facts = foldSession(records).turns.find((one) => one.turnId === turnId);
  const asks = [...(facts?.calls.values() ?? [])].filter(
    (call) =>
      call.stepId === stepId &&
      !hasResult(call) &&
      tools.binding.byName(call.called.data.toolName)?.waitsForSessions === true,
  );
  return asks.map(({ callId }) => callId);
}

/** What the call that asked for a placed child is to do. */
export type PlacedAnswer =
  | { readonly type: 'ended'; readonly end: ChildEnd }
  | { readonly type: 'open'; readonly reason: PauseReason };

/**
 * Looks what became of a placed child, and sees to it that it is worked on. One whose parent is stopped is stopped,
 * wherever it is.
 * @throws SwarmError of the ledger and the pool
 */
export async function lookAfter(placed: PlacedChild): Promise<PlacedAnswer> {
  const { scope, sessionId, ctx } = placed;
  const { ledger } = scope.session.parts;
  const isStopped = ctx.signal.aborted && scope.turn.stop.cause?.type !== 'detached';
  if (!isStopped && scope.places.isWaiting(sessionId)) return waitForPlace(placed);
  const standing = await standingOfChild(ledger, sessionId);
  if (standing.type === 'ended') return { type: 'ended', end: await endOf(placed, standing) };
  if (isStopped) return stopPlaced(placed);
  if (!(await scope.places.take(sessionId, () => begin(placed)))) return waitForPlace(placed);
  if (standing.type !== 'paused') return { type: 'open', reason: 'children' };
  const { resumedBy } = scope.request.run.unit ?? {};
  if (resumedBy === undefined) return { type: 'open', reason: standing.reason };
  // Whoever resumes a run resumes all of it.
  await wake(placed, `resume ${resumedBy}`, await decisionsBelow(placed));
  return { type: 'open', reason: 'children' };
}

/** While nobody leaves a place, the turn waits for whatever those wait for that have one. */
async function waitForPlace(placed: PlacedChild): Promise<PlacedAnswer> {
  const { scope, sessionId } = placed;
  const { ledger } = scope.session.parts;
  await scope.places.take(sessionId, () => begin(placed));
  const hasEnded = async (child: string) => (await standingOfChild(ledger, child)).type === 'ended';
  return { type: 'open', reason: (await scope.places.isMoving(hasEnded)) ? 'children' : 'approval' };
}

/** Why a child is asked for that has no record: one entry waits for it, whoever asks. */
export const INTENDED = 'intended';

/**
 * A child without a record is asked for: the entry of the queue may never have been written, or be lost. Where the pool
 * takes nothing now, the child is asked for by whoever looks for what was intended and never begun.
 */
async function begin(placed: PlacedChild): Promise<void> {
  const { ledger } = placed.scope.session.parts;
  if ((await ledger.head(placed.sessionId)) !== undefined) return;
  await wake(placed, INTENDED).catch((error: unknown) => {
    if (!isSwarmError(error)) throw error;
  });
}

async function wake(
  { scope, sessionId: session, ctx }: PlacedChild,
  cause: string,
  decisions?: Readonly<Record<string, IndeterminateDecision>>,
): Promise<void> {
  const { pool } = scope.session.parts;
  await pool?.wake({ session, parent: ctx.sessionId, cause, decisions });
}

async function decisionsBelow({
  scope,
  sessionId,
}: PlacedChild): Promise<Readonly<Record<string, IndeterminateDecision>>> {
  const { ledger } = scope.session.parts;
  const decisions: Record<string, IndeterminateDecision> = {};
  for (const { turn } of await openInTree(ledger, sessionId)) {
    for (const call of indeterminateCalls(turn)) decisions[call.callId] = scope.request.decide(call);
  }
  return decisions;
}

/** Time a child that another worker has is waited for once it was told to stop. */
const STOP_MS = 10_000;

/**
 * Ends a child of a turn that was stopped. One that has not begun is told to be over in its own session, so that no
 * worker begins it; one that nobody has is taken up here to be stopped; one that another worker has is told there.
 */
async function stopPlaced(placed: PlacedChild): Promise<PlacedAnswer> {
  const { clock, ledger } = placed.scope.session.parts;
  const timeUp = new AbortController();
  const timer = clock.setTimeout(() => timeUp.abort(), STOP_MS);
  try {
    while (!timeUp.signal.aborted) {
      const standing = await standingOfChild(ledger, placed.sessionId);
      if (standing.type === 'ended') return { type: 'ended', end: await endOf(placed, standing) };
      if (standing.type === 'new') {
        if (await neverBegin(placed)) continue;
      } else {
        const end = await placed.stopHere();
        if (!('failure' in end) || end.failure.kind !== OWNED) return { type: 'ended', end };
      }
      await stopElsewhere(placed, timeUp.signal);
    }
  } finally {
    clock.clearTimeout(timer);
  }
  const failure = { kind: OWNED, message: `the worker that has it did not stop within ${STOP_MS} ms` };
  const usage = { total: {}, byAgent: {}, reported: {} };
  const last = { session: placed.sessionId, head: await ledger.head(placed.sessionId) };
  return { type: 'ended', end: { type: 'lost', failure, usage, steps: 0, toolCalls: 0, last } };
}

const OWNED = 'session-owned-elsewhere';

/** False where a worker began it at the same moment. */
async function neverBegin({ scope, target, sessionId, ctx }: PlacedChild): Promise<boolean> {
  const { registry, ledger } = scope.session.parts;
  const { rootId: root } = scope.turn.session;
  const identity = { session: sessionId, root, parent: ctx.sessionId, agent: target.name };
  const run = { run: scope.turn.run.runId, isGraph: false };
  try {
    await withSession({ registry, ledger: Promise.resolve(ledger) }, identity, {
      async between({ log, facts }) {
        if (facts.head === undefined) {
          await log.commit([await settledFact(cancelled(reasonOf(scope)), run, ledger)]);
        }
      },
    });
    return true;
  } catch (error) {
    if (isSwarmError(error, OWNED)) return false;
    throw error;
  }
}

/** Tells the worker that has it, and waits for what it tells. */
async function stopElsewhere({ scope, sessionId: session }: PlacedChild, signal: AbortSignal): Promise<void> {
  const { ledger, clock, ids } = scope.session.parts;
  const word = { session, kind: 'cancel', body: { reason: reasonOf(scope) } };
  try {
    await postToOwner({ clock, ids }, ledger, word);
  } catch (error) {
    // It left, is between two turns, has no record yet, or does not answer: what there is by then is looked at again.
    if (!isSwarmError(error) || error.code === 'ledger-closed') throw error;
    await sleep(clock, OWNED_MS, signal);
    return;
  }
  for await (const { record } of ledger.tail(0, signal, { only: { session } })) {
    if (record.type === 'run.settled' && record.data.status !== 'paused') return;
  }
}

/** Pause before a session is looked at again whose owner did not listen. */
const OWNED_MS = 100;

function reasonOf({ turn }: DelegationScope): string {
  const { cause } = turn.stop;
  return cause === undefined ? 'the call that asked was stopped' : causeText(cause);
}

function cancelled(reason: string): RunResult<unknown> {
  const usage = { total: {}, byAgent: {}, reported: {} };
  return { status: 'cancelled', reason, usage, steps: 0, toolCalls: 0, text: '' };
}

async function endOf(
  { scope, target, sessionId }: PlacedChild,
  { settled }: Extract<ChildStanding, { readonly type: 'ended' }>,
): Promise<ChildEnd> {
  const { ledger, agents: named } = scope.session.parts;
  const result = await resultOfSettled(settled, { ledger, agent: target, named });
  const { usage, steps, toolCalls } = result;
  const { seq, hash, epoch } = settled;
  const counts = { usage, steps, toolCalls, last: { session: sessionId, head: { seq, hash, epoch } } };
  switch (result.status) {
    case 'completed':
      return { type: 'completed', output: result.output, text: result.text, ...counts };
    case 'failed':
      return { type: 'failed', failure: result.error, text: result.text, ...counts };
    case 'cancelled':
      return { type: 'cancelled', reason: result.reason, text: result.text, ...counts };
    case 'paused':
      throw new SwarmError('machine-fault', 'a child that ended is paused');
  }
}
