import { createHash } from 'node:crypto';
import { type ChildEnd, runChild } from '../agent/child-sessions.ts';
import type { AnyAgent } from '../agent/define-agent.ts';
import { type Ancestor, childLineage } from '../agent/lineage.ts';
import { oversizedInput } from '../agent/oversized-input.ts';
import { childSessionIdOf, type SessionId } from '../ids.ts';
import { canonicalJson } from '../ledger/canonical-json.ts';
import { type UserPart, userPartSchema } from '../ledger/content.ts';
import type { Failure } from '../ledger/records.ts';
import { toPlainJson } from '../tools/plain-json.ts';
import { exceededRecord, type TreeRefusal } from '../turn/run-budget.ts';
import type { StopCause } from '../turn/stop-signal.ts';
import type { AnyGraph } from './define-graph.ts';
import type { AnySwarm } from './define-swarm.ts';
import { inputOf } from './enter-function.ts';
import type { GraphNode } from './graph-node.ts';
import { commitFacts, type GraphScope, signalOf, type TurnRecord } from './graph-scope.ts';
import { createPausableTimer, type PausableTimer } from './pausable-timer.ts';
import type { WorkOutcome } from './work-outcome.ts';
import type { WorkState } from './work-state.ts';

/** The session in which an attempt of a work runs: found again by whoever comes back to it. */
export function workSessionId(scope: GraphScope, work: string, attempt: number): SessionId {
  return childSessionIdOf(scope.log.identity.session, `${scope.turnId}\n${work}\n${attempt}`);
}

/** What a child is given, and what is written of it before its session is opened. */
export interface IntendedChild {
  readonly session: SessionId;
  readonly input: readonly UserPart[];
  readonly fact: TurnRecord;
}

/**
 * Asks the gates and the bounds of the tree for a child, once for each attempt.
 * @throws what a mapper of the node throws
 */
export async function intendChild(
  scope: GraphScope,
  work: WorkState,
  node: GraphNode,
  attempt: number,
): Promise<IntendedChild | Failure> {
  const agent = targetOf(node);
  const session = workSessionId(scope, work.work, attempt);
  const given = partsOf(inputOf(scope, work, node));
  const over = overBounds(scope);
  if (over !== undefined) {
    await commitFacts(scope, [over.fact]);
    return over.failure;
  }
  const gated = await passGate(scope, work, { session, agent: agent.name, input: given });
  if ('kind' in gated) {
    scope.run.budget.releaseAgent();
    return gated;
  }
  const { input } = gated;
  const oversized = oversizedInput(input, scope.limits);
  if (oversized !== undefined) {
    scope.run.budget.releaseAgent();
    return { kind: 'input-too-large', message: `${work.work}: ${oversized}` };
  }
  const specHash = createHash('sha256')
    .update(canonicalJson({ agent: agent.name, input: toPlainJson(input) }))
    .digest('hex');
  const text = textOf(input);
  const data = {
    child: session,
    agent: agent.name,
    specHash,
    ...(text === undefined ? {} : { input: text }),
  };
  return { session, input, fact: { type: 'child.intended', data } };
}

/** The child that an attempt of an earlier process intended. */
export function intendedChild(
  scope: GraphScope,
  work: WorkState,
  node: GraphNode,
  attempt: number,
): Pick<IntendedChild, 'session' | 'input'> {
  const session = workSessionId(scope, work.work, attempt);
  const text = scope.known.get(session)?.intended.data.input;
  const input = text === undefined ? partsOf(inputOf(scope, work, node)) : textParts(text);
  return { session, input };
}

/** Runs the child of an attempt, or takes it up. Never rejects. */
export async function enterChild(
  scope: GraphScope,
  work: WorkState,
  node: GraphNode,
  child: Pick<IntendedChild, 'session' | 'input'>,
): Promise<WorkOutcome> {
  const target = targetOf(node);
  const timeout = new AbortController();
  const timer = createPausableTimer(scope.parts.clock, node.timeoutMs, () => timeout.abort());
  const place = createPlace(scope, work, timer);
  const stop = signalOf(scope, work);
  const request = {
    sessionId: child.session,
    input: child.input,
    parent: { session: scope.log.identity.session, root: scope.log.identity.root },
    lineage: childLineage(ancestorOf(scope), target.kind === 'swarm' ? target.supervisor : target),
    run: scope.run,
    boundTools: scope.boundTools,
    signal: node.timeoutMs === undefined ? stop : AbortSignal.any([stop, timeout.signal]),
    stopCause: () => causeBelow(scope.stop.cause),
    decide: scope.decide,
    watch: { opened: teller(scope, child.session, target.name), waiting: place.waiting },
  };
  scope.child({ type: 'CHILD_STARTED', childId: child.session });
  const end =
    target.kind === 'agent'
      ? await runChild(scope.parts, { ...request, agent: target })
      : await scope.runNested(scope.parts, { ...request, target });
  timer.stop();
  place.leave();
  scope.child({ type: 'CHILD_DONE', childId: child.session, status: end.type });
  return outcomeOf(scope, work, { end, session: child.session, agent: target.name }, timeout.signal);
}

/** Why a child ends when its graph does: it is not the child that failed. */
function causeBelow(cause: StopCause | undefined): StopCause {
  if (cause === undefined) return { type: 'interrupted', reason: 'the graph does not need it any more' };
  return cause.type === 'failed' ? { type: 'interrupted', reason: cause.failure.message } : cause;
}

function targetOf({ target }: GraphNode): AnyAgent | AnyGraph | AnySwarm {
  // Called for nodes whose target is no function.
  return target as AnyAgent | AnyGraph | AnySwarm;
}

function ancestorOf({ lineage, limits, ceiling }: GraphScope): Ancestor {
  return { agent: { permission: undefined, hooks: undefined }, lineage, limits, ceiling };
}

function overBounds(scope: GraphScope): { readonly failure: Failure; readonly fact: TurnRecord } | undefined {
  const over = refusalOf(scope);
  if (over === undefined) return undefined;
  const { turn: _, ...fact } = exceededRecord(scope.turnId, over);
  const { code, text } = BOUNDS[over.budget];
  // What is left of a record without its turn is a record of the graph's turn.
  return { failure: { kind: code, message: text(over.limit) }, fact: fact as TurnRecord };
}

/** Takes a place in the run for a child, or says which bound leaves none. */
function refusalOf({ limits, lineage, run }: GraphScope): TreeRefusal | undefined {
  if (limits.depth < 1) return { budget: 'depth', limit: lineage.depth, used: lineage.depth };
  if (limits.fanOut < 1) return { budget: 'fanOut', limit: limits.fanOut, used: 0 };
  return run.budget.reserveAgent(limits.agents);
}

/** Codes and words of what leaves no place. */
const BOUNDS = {
  depth: {
    code: 'depth-limit',
    text: (limit: number) => `agents may run ${limit} levels below the root, and no deeper`,
  },
  agents: { code: 'agent-limit', text: (limit: number) => `the run may have ${limit} agents` },
  fanOut: { code: 'fan-out-limit', text: (limit: number) => `no more than ${limit} children may be at work` },
  handoffs: { code: 'handoff-limit', text: (limit: number) => `the run may have ${limit} handoffs` },
} as const;

async function passGate(
  scope: GraphScope,
  work: WorkState,
  child: { readonly session: string; readonly agent: string; readonly input: readonly UserPart[] },
): Promise<{ readonly input: readonly UserPart[] } | Failure> {
  const { parts, turnId, log, lineage, stop } = scope;
  const gates = parts.hookRunner.gates([...parts.hooks, ...lineage.hooks]);
  if (!gates.has('beforeChild')) return child;
  const text = textOf(child.input);
  const subject = {
    sessionId: log.identity.session,
    turnId,
    stepId: work.work,
    callId: work.work,
    agentPath: lineage.agentPath,
    childSessionId: child.session,
    childAgent: child.agent,
    input: text ?? JSON.stringify(child.input),
  };
  const result = await gates.run('beforeChild', subject, stop.signal);
  if (result.type === 'refuse') return { kind: 'gate-refused', message: `${work.work}: ${result.reason}` };
  return text === undefined ? child : { input: textParts(result.subject.input) };
}

/** Tells once that the session of a child is open, however often its turn is taken up. */
function teller(scope: GraphScope, session: string, agent: string): () => void {
  let isTold = scope.known.get(session)?.started !== undefined;
  return () => {
    if (isTold) return;
    isTold = true;
    // What is lost here is told by the outcome, which is committed after it.
    const data = { child: session, agent };
    commitFacts(scope, [{ type: 'child.started', data }]).catch(() => undefined);
  };
}

/** A place among the works under way: its time stands still while somebody below waits for a person. */
function createPlace(scope: GraphScope, { work }: WorkState, timer: PausableTimer) {
  let isWaiting = false;
  const waiting = (now: boolean) => {
    if (now === isWaiting) return;
    isWaiting = now;
    if (now) timer.pause();
    else timer.resume();
    scope.machine.send({ type: now ? 'WORK_PARKED' : 'WORK_UNPARKED', work });
    if (now) scope.people.add();
    else scope.people.remove();
  };
  return { waiting, leave: () => waiting(false) };
}

function outcomeOf(
  scope: GraphScope,
  work: WorkState,
  child: { readonly end: ChildEnd; readonly session: string; readonly agent: string },
  timeout: AbortSignal,
): WorkOutcome {
  const { end, session, agent } = child;
  const by = { child: { ...end, session, agent } };
  switch (end.type) {
    case 'completed':
      return { type: 'completed', value: end.output, ...by };
    case 'failed':
      return { type: 'failed', failure: failureAt(scope, work, agent, end.failure), ...by };
    case 'lost':
      // What is lost while the graph leaves as well is found by whoever takes it up.
      if (scope.stop.cause?.type === 'detached') return { type: 'left' };
      return { type: 'failed', failure: failureAt(scope, work, agent, end.failure), ...by };
    case 'cancelled': {
      if (!timeout.aborted || scope.stop.signal.aborted)
        return { type: 'cancelled', reason: end.reason, ...by };
      return { type: 'failed', failure: timedOut(work), ...by };
    }
    case 'paused': {
      const { reason, approvals, calls } = end;
      scope.parked.push({ work: work.work, reason, approvals, calls });
      return { type: 'left' };
    }
    case 'left':
      return { type: 'left' };
  }
}

/** What a child failed with, saying where. */
function failureAt({ lineage }: GraphScope, { work }: WorkState, agent: string, failure: Failure): Failure {
  const place = [...lineage.agentPath, agent].join(' > ');
  return { ...failure, message: `${work} (${place}): ${failure.message}` };
}

function timedOut(work: WorkState): Failure {
  return { kind: 'node-timeout', message: `${work.work} took longer than it may` };
}

/** Text and message parts as they are; anything else as JSON text. */
function partsOf(value: unknown): readonly UserPart[] {
  if (typeof value === 'string') return textParts(value);
  const parts = userPartSchema.array().min(1).safeParse(value);
  return parts.success ? parts.data : textParts(JSON.stringify(toPlainJson(value)));
}

function textParts(text: string): readonly UserPart[] {
  return [{ type: 'text', text }];
}

function textOf(parts: readonly UserPart[]): string | undefined {
  const [first] = parts;
  return parts.length === 1 && first?.type === 'text' ? first.text : undefined;
}
