import { sleep } from '../clock.ts';
import { enterChild, intendChild, intendedChild } from './enter-child.ts';
import { enterFunction, workOperationId } from './enter-function.ts';
import { type GraphNode, targetKind } from './graph-node.ts';
import { commitFacts, type GraphScope, signalOf, type TurnRecord } from './graph-scope.ts';
import { indeterminateCallOf, openAttempt } from './open-attempt.ts';
import { runLoop } from './run-loop.ts';
import { commitOutcome, type WorkOutcome } from './work-outcome.ts';
import type { NodeFinished, WorkState } from './work-state.ts';

/** Why an attempt is not the first. */
type Because = 'retry' | 'recovery' | 'decision';

/**
 * Runs a claimed work to its outcome, or takes it up where an earlier process left it: each attempt is a fact before
 * anything of it runs, and its end before anybody learns of it.
 * @throws SwarmError as `SessionLog.commit`
 */
export async function runWork(scope: GraphScope, work: WorkState): Promise<void> {
  const node = scope.values.nodeOf(work);
  if (node === undefined) return;
  if (node.type === 'loop') return runLoop(scope, work, node);
  if (node.target === undefined) return finishJoin(scope, work, node);
  const last = work.attempts.get(work.lastAttempt);
  if (last === undefined) return runAttempts(scope, work, node, { attempt: 1 });
  if (work.status === 'retrying') return runRetry(scope, work, node, last.finished?.retryAt ?? 0);
  const attempt = work.lastAttempt;
  if (targetKind(node) !== 'function') return takeUpChild(scope, work, node, attempt);
  return takeUpFunction(scope, work, node, attempt);
}

/** A join without a target runs nothing: its branches are its result. */
function finishJoin(scope: GraphScope, work: WorkState, node: GraphNode): Promise<void> {
  const attempt = Math.max(1, work.lastAttempt);
  const finished: NodeFinished = {
    work: work.work,
    node: node.name,
    attempt,
    status: 'completed',
    durationMs: 0,
  };
  const started = work.attempts.has(attempt) ? [] : [startedFact(scope, work, node, { attempt })];
  return commitFacts(scope, [...started, { type: 'node.finished', data: finished }]);
}

interface Start {
  readonly attempt: number;
  readonly because?: Because;
}

/** Attempts from the given one on, until one is the outcome. */
async function runAttempts(scope: GraphScope, work: WorkState, node: GraphNode, first: Start): Promise<void> {
  for (let start = first; ; start = { attempt: start.attempt + 1, because: 'retry' }) {
    // The second gate: a stop that came after the claim is in time.
    if (scope.stop.signal.aborted || work.stopped !== undefined) return settleUnentered(scope, work, node);
    const startedMs = scope.parts.clock.monotonicMs();
    const outcome = await enterFresh(scope, work, node, start);
    const { attempt } = start;
    if (!(await settleAttempt(scope, work, node, { attempt, startedMs, outcome }))) return;
  }
}

interface Entered {
  readonly attempt: number;
  readonly startedMs: number;
  readonly outcome: WorkOutcome;
}

/** Writes the end of an attempt. True when another one follows, and its time has come. */
async function settleAttempt(
  scope: GraphScope,
  work: WorkState,
  node: GraphNode,
  { attempt, startedMs, outcome }: Entered,
): Promise<boolean> {
  if (outcome.type === 'left') return false;
  const ended = { work, node, attempt, startedMs, outcome };
  const { clock } = scope.parts;
  const signal = signalOf(scope, work);
  if (outcome.type !== 'failed' || attempt >= node.retry.attempts || signal.aborted) {
    await commitOutcome(scope, ended);
    return false;
  }
  const delayMs = node.retry.delayMs * node.retry.backoff ** (attempt - 1);
  await commitOutcome(scope, { ...ended, retryAt: clock.now() + delayMs });
  return waitForRetry(scope, work, delayMs);
}

async function waitForRetry(scope: GraphScope, work: WorkState, delayMs: number): Promise<boolean> {
  await sleep(scope.parts.clock, delayMs, signalOf(scope, work));
  // A graph that leaves this process leaves the retry to the next; one that is stopped settles it.
  if (scope.stop.cause?.type === 'detached') return false;
  scope.machine.send({ type: 'RETRY_DUE' });
  return true;
}

async function runRetry(scope: GraphScope, work: WorkState, node: GraphNode, retryAt: number): Promise<void> {
  const delayMs = Math.max(0, retryAt - scope.parts.clock.now());
  if (!(await waitForRetry(scope, work, delayMs))) return;
  return runAttempts(scope, work, node, { attempt: work.lastAttempt + 1, because: 'retry' });
}

/** Nothing of it ran, or will. */
function settleUnentered(scope: GraphScope, work: WorkState, node: GraphNode): Promise<void> {
  if (scope.stop.cause?.type === 'detached') return Promise.resolve();
  const reason = work.stopped?.reason ?? 'the graph ended before it ran';
  return commitOutcome(scope, {
    work,
    node,
    attempt: work.lastAttempt < 0 ? 0 : work.lastAttempt + 1,
    startedMs: scope.parts.clock.monotonicMs(),
    outcome: { type: 'cancelled', reason },
  });
}

async function enterFresh(
  scope: GraphScope,
  work: WorkState,
  node: GraphNode,
  start: Start,
): Promise<WorkOutcome> {
  const { attempt } = start;
  if (targetKind(node) === 'function') {
    await commitFacts(scope, [startedFact(scope, work, node, start)]);
    return enterFunction(scope, work, node, attempt);
  }
  let child: Awaited<ReturnType<typeof intendChild>>;
  try {
    child = await intendChild(scope, work, node, attempt);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { type: 'failed', failure: { kind: 'node-input', message: `${work.work}: ${message}` } };
  }
  if ('kind' in child) return { type: 'failed', failure: child };
  const started = startedFact(scope, work, node, { ...start, child: child.session });
  await commitFacts(scope, [started, child.fact]);
  return enterChild(scope, work, node, child);
}

function startedFact(
  scope: GraphScope,
  work: WorkState,
  node: GraphNode,
  start: Start & { readonly child?: string },
): TurnRecord {
  return {
    type: 'node.started',
    data: {
      work: work.work,
      node: node.name,
      operationId: workOperationId(scope.turnId, work.work),
      ...(targetKind(node) === 'function' ? { recovery: node.recovery } : {}),
      ...start,
    },
  };
}

/** The session of a child says what became of it, or goes on. */
async function takeUpChild(
  scope: GraphScope,
  work: WorkState,
  node: GraphNode,
  attempt: number,
): Promise<void> {
  const startedMs = scope.parts.clock.monotonicMs();
  const outcome = await enterChild(scope, work, node, intendedChild(scope, work, node, attempt));
  if (await settleAttempt(scope, work, node, { attempt, startedMs, outcome })) {
    await runAttempts(scope, work, node, { attempt: attempt + 1, because: 'retry' });
  }
}

/**
 * A function that was entered and has no outcome. One that may be repeated is; else a person or program decides, and
 * without a decision it is left as it is.
 */
async function takeUpFunction(
  scope: GraphScope,
  work: WorkState,
  node: GraphNode,
  attempt: number,
): Promise<void> {
  if (scope.stop.signal.aborted) return abandon(scope, work, node, attempt);
  if (node.recovery !== 'never_auto_retry') {
    return runAttempts(scope, work, node, { attempt: attempt + 1, because: 'recovery' });
  }
  const decision = scope.decide(indeterminateCallOf(scope, work));
  if (decision === 'retry')
    return runAttempts(scope, work, node, { attempt: attempt + 1, because: 'decision' });
  if (decision === 'abandon') return abandon(scope, work, node, attempt);
  if (decision !== 'block') {
    const outcome: WorkOutcome = { type: 'completed', value: decision.settle };
    return commitOutcome(scope, { work, node, attempt, startedMs: now(scope), outcome, decision: 'settle' });
  }
  return openAttempt(scope, work, node, attempt);
}

function abandon(scope: GraphScope, work: WorkState, node: GraphNode, attempt: number): Promise<void> {
  const message = `${work.work} was interrupted and given up; whether it had an effect is unknown`;
  const outcome: WorkOutcome = { type: 'failed', failure: { kind: 'abandoned', message } };
  return commitOutcome(scope, { work, node, attempt, startedMs: now(scope), outcome, decision: 'abandon' });
}

function now({ parts }: GraphScope): number {
  return parts.clock.monotonicMs();
}
