import { createHash } from 'node:crypto';
import { childSessionIdOf, type SessionId } from '../ids.ts';
import type { LedgerRecord, NewRecord, RecordData } from '../ledger/records.ts';
import type { ChildFacts } from '../ledger/turn-facts.ts';
import { type RuntimeToolContext, RuntimeToolResult, StaysOpen } from '../tools/runtime-tool.ts';
import type { TreeRefusal } from '../turn/run-budget.ts';
import type { StopCause } from '../turn/stop-signal.ts';
import { answerOf, type EndedChild } from './child-answer.ts';
import { type ChildEnd, runChild } from './child-sessions.ts';
import type { AnyAgent } from './define-agent.ts';
import type { DelegationScope } from './delegations.ts';
import { childLineage } from './lineage.ts';
import { notAsked, overBound } from './not-asked.ts';
import { oversizedInput } from './oversized-input.ts';
import { grantFor, lookAfter, mayPlace } from './place-child.ts';
import { failureOf } from './thrown-failure.ts';

/** One call to a child. */
interface Asked {
  readonly scope: DelegationScope;
  readonly target: AnyAgent;
  readonly sessionId: SessionId;
  readonly agentPath: readonly string[];
  readonly ctx: RuntimeToolContext;
  /** What was written of it before, in this process or an earlier one. */
  readonly known: ChildFacts | undefined;
}

/**
 * Asks a child and gives its answer as the result of the call. A call that comes back after a crash finds the child
 * it asked; a child of its own is asked once. Everything that can become of the child is a result; only a parent whose
 * own facts cannot be written throws.
 */
export async function askChild(
  scope: DelegationScope,
  target: AnyAgent | string,
  input: unknown,
  ctx: RuntimeToolContext,
): Promise<RuntimeToolResult | StaysOpen> {
  // Children are given as agents, and arguments were validated against the schema of the tool.
  const agent = target as AnyAgent;
  const { task } = input as { readonly task: string };
  const sessionId = childSessionIdOf(ctx.sessionId, ctx.callId);
  const agentPath = [...scope.request.lineage.agentPath, agent.name];
  const known = scope.known.get(sessionId);
  const asked: Asked = { scope, target: agent, sessionId, agentPath, ctx, known };
  if (known !== undefined) return askPermitted(asked, known.intended.data.input ?? task);
  const over = reserve(asked);
  if (over !== undefined) return overBound(asked, over);
  const result = await askFresh(asked, task);
  if (result.type === 'asked') return result.result;
  // It was never wanted in earnest: another one may have its place.
  scope.turn.run.budget.releaseAgent();
  return result.result;
}

type Fresh =
  | { readonly type: 'asked'; readonly result: RuntimeToolResult | StaysOpen }
  | { readonly type: 'not-asked'; readonly result: RuntimeToolResult | StaysOpen };

async function askFresh(asked: Asked, task: string): Promise<Fresh> {
  const { scope, sessionId, target, ctx } = asked;
  const isPlaced = mayPlace(scope, target);
  const gate = await scope.turn.plan.gates.run(
    'beforeChild',
    {
      sessionId: ctx.sessionId,
      agentPath: ctx.agentPath,
      turnId: ctx.turnId,
      stepId: ctx.stepId,
      callId: ctx.callId,
      childSessionId: sessionId,
      childAgent: target.name,
      input: task,
    },
    ctx.signal,
  );
  if (gate.type === 'refuse')
    return { type: 'not-asked', result: notAsked(asked, { code: 'gate-refused', why: gate.reason }) };
  const { input: text } = gate.subject;
  const oversized = oversizedInput([{ type: 'text', text }], scope.self.limits);
  if (oversized !== undefined)
    return { type: 'not-asked', result: notAsked(asked, { code: 'input-too-large', why: oversized }) };
  if (isPlaced) return askElsewhere(asked, { text, task });
  const permit = await scope.permits.enter(ctx.signal);
  if (permit.type === 'aborted') return { type: 'not-asked', result: stopped(asked) };
  if (permit.type === 'full') {
    const over = { budget: 'fanOut', limit: scope.self.limits.fanOutQueue, used: permit.waiting } as const;
    return { type: 'not-asked', result: overBound(asked, over) };
  }
  try {
    await intend(asked, intended(asked, text, task));
    return { type: 'asked', result: await ask(asked, text) };
  } finally {
    permit.release();
  }
}

async function intend({ scope, sessionId }: Asked, fact: NewRecord): Promise<void> {
  const [record] = await scope.turn.session.log.commit([fact]);
  if (record?.type === 'child.intended') scope.known.set(sessionId, { intended: record });
}

/** A child for whichever worker is free: the place of its parent is free meanwhile. */
async function askElsewhere(
  asked: Asked,
  { text, task }: { readonly text: string; readonly task: string },
): Promise<Fresh> {
  const { scope, target, ctx } = asked;
  const { fanOutQueue: limit } = scope.self.limits;
  if (ctx.signal.aborted) return { type: 'not-asked', result: stopped(asked) };
  const { waiting } = scope.places;
  if (waiting >= limit && !scope.places.isFree) {
    return { type: 'not-asked', result: overBound(asked, { budget: 'fanOut', limit, used: waiting }) };
  }
  const grant = await grantFor(scope, target, ctx);
  await intend(asked, intended(asked, text, task, grant));
  return { type: 'asked', result: await ask(asked, text) };
}

/** A child that an earlier process asked has its place in every count; it only waits for its turn. */
async function askPermitted(asked: Asked, text: string): Promise<RuntimeToolResult | StaysOpen> {
  const { scope, ctx } = asked;
  // A turn that stops has to stop the child as well, whoever else is at work.
  const permit = await scope.permits.enter(ctx.signal);
  try {
    return await ask(asked, text);
  } finally {
    if (permit.type === 'permit') permit.release();
  }
}

async function ask(asked: Asked, text: string): Promise<RuntimeToolResult | StaysOpen> {
  const { scope, sessionId } = asked;
  const { pool } = scope.session.parts;
  const isPlaced = scope.known.get(sessionId)?.intended.data.grant !== undefined;
  if (isPlaced && pool !== undefined && scope.request.run.unit !== undefined) return askPlaced(asked, text);
  return settle(asked, await askHere(asked, text));
}

/** What became of a child that other workers may have; the call stays open until it has ended. */
async function askPlaced(asked: Asked, text: string): Promise<RuntimeToolResult | StaysOpen> {
  const { scope, sessionId, target, ctx } = asked;
  const { session, turn } = scope;
  session.child({ type: 'CHILD_STARTED', childId: sessionId });
  let status: ChildEnd['type'] = 'paused';
  try {
    const answer = await lookAfter({
      scope,
      target,
      sessionId,
      ctx,
      stopHere: () => askHere(asked, text),
    });
    if (answer.type === 'open') return new StaysOpen(answer.reason);
    status = answer.end.type;
    return settle(asked, answer.end);
  } catch (error) {
    // Asked for, and nobody knows of it: whoever takes the turn up asks again.
    turn.stop.stop({ type: 'detached', reason: failureOf(error).message, code: 'session-lost' });
    return new StaysOpen('left');
  } finally {
    session.child({ type: 'CHILD_DONE', childId: sessionId, status });
  }
}

async function askHere(asked: Asked, text: string): Promise<ChildEnd> {
  const { scope, target, sessionId, ctx, known } = asked;
  const { request, session, turn, self } = scope;
  const { log } = turn.session;
  session.child({ type: 'CHILD_STARTED', childId: sessionId });
  let isStarted = known?.started !== undefined;
  let isWaiting = false;
  const end = await runChild(session.parts, {
    sessionId,
    agent: target,
    input: [{ type: 'text', text }],
    parent: { session: ctx.sessionId, root: turn.session.rootId },
    lineage: childLineage(self, target),
    run: turn.run,
    boundTools: request.boundTools,
    signal: ctx.signal,
    stopCause: () => causeBelow(turn.stop.cause),
    decide: request.decide,
    watch: {
      opened() {
        if (isStarted) return;
        isStarted = true;
        // The outcome is committed after it, which is where a store that fails is told.
        log
          .commit([fact(asked, 'child.started', { child: sessionId, agent: target.name })])
          .then(([record]) => noteStarted(scope, sessionId, record))
          .catch(() => undefined);
      },
      waiting(now) {
        isWaiting = now;
        ctx.suspend(now);
      },
      progress: (line) => ctx.progress(line),
    },
  });
  if (isWaiting) ctx.suspend(false);
  session.child({ type: 'CHILD_DONE', childId: sessionId, status: end.type });
  return end;
}

/** It is not said again where the call is taken up once more in this process. */
function noteStarted({ known }: DelegationScope, sessionId: string, record: LedgerRecord | undefined): void {
  const child = known.get(sessionId);
  if (child !== undefined && record?.type === 'child.started')
    known.set(sessionId, { ...child, started: record });
}

function settle(asked: Asked, end: ChildEnd): RuntimeToolResult | StaysOpen {
  const { scope, sessionId: child, target, agentPath } = asked;
  if (end.type === 'paused') return new StaysOpen(end.reason);
  // What is lost while the parent leaves as well is found by whoever takes the parent up.
  const leaves = scope.turn.stop.cause?.type === 'detached';
  if (end.type === 'left' || (end.type === 'lost' && leaves)) return new StaysOpen('left');
  const { output, result } = answerOf(end, agentPath);
  const { intended: asIntended, started } = scope.known.get(child) ?? {};
  const isElsewhere = asIntended?.data.grant !== undefined && started === undefined && end.steps > 0;
  const facts = [
    // Of a child that other workers had, nobody else tells.
    ...(isElsewhere ? [fact(asked, 'child.started', { child, agent: target.name })] : []),
    end.type === 'lost'
      ? fact(asked, 'child.lost', { child, agent: target.name, reason: end.failure.kind })
      : fact(asked, 'child.finished', finishedData(asked, end)),
  ];
  // What could not be begun here is begun by whoever takes the turn up.
  const settled = () => void scope.places.leave(child).catch(() => undefined);
  return new RuntimeToolResult(output, facts, settled, result);
}

function finishedData(
  { sessionId: child, target }: Asked,
  end: Exclude<EndedChild, { readonly type: 'lost' }>,
): RecordData<'child.finished'> {
  const { usage, steps, toolCalls, last } = end;
  const isKnown = Object.keys(usage.total).length > 0 || usage.reported === usage.total;
  return {
    child,
    agent: target.name,
    status: end.type,
    ...(isKnown ? { usage: usage.total } : {}),
    steps,
    toolCalls,
    ...(end.type === 'failed' ? { error: end.failure } : {}),
    last: last.session,
    headSeq: last.head?.seq ?? 0,
    headHash: last.head?.hash ?? NO_HASH,
  };
}

/** Of a child that was never opened. */
const NO_HASH = '0'.repeat(64);

/** Why a child ends when its parent does: it is not the child that failed. */
function causeBelow(cause: StopCause | undefined): StopCause {
  if (cause === undefined) return { type: 'interrupted', reason: 'the call that asked was stopped' };
  return cause.type === 'failed' ? { type: 'interrupted', reason: cause.failure.message } : cause;
}

/** Takes the place of the child in its run, or says which bound leaves none. */
function reserve({ scope }: Asked): TreeRefusal | undefined {
  const { limits, lineage } = scope.self;
  if (limits.depth < 1) return { budget: 'depth', limit: lineage.depth, used: lineage.depth };
  if (limits.fanOut < 1) return { budget: 'fanOut', limit: limits.fanOut, used: 0 };
  return scope.turn.run.budget.reserveAgent(limits.agents);
}

function stopped(asked: Asked): RuntimeToolResult | StaysOpen {
  if (asked.scope.turn.stop.cause?.type === 'detached') return new StaysOpen('left');
  return notAsked(asked, { code: 'cancelled', why: 'the turn was stopped before its time came' });
}

function intended(
  asked: Asked,
  text: string,
  task: string,
  grant?: RecordData<'child.intended'>['grant'],
): NewRecord {
  const { sessionId: child, target } = asked;
  const specHash = createHash('sha256').update(`${target.name}\n${text}`).digest('hex');
  return fact(asked, 'child.intended', {
    child,
    agent: target.name,
    specHash,
    // Whoever runs it elsewhere finds here what it is given.
    ...(text === task && grant === undefined ? {} : { input: text }),
    ...(grant === undefined ? {} : { grant }),
  });
}

type ChildFact = 'child.intended' | 'child.started' | 'child.finished' | 'child.lost';

function fact<T extends ChildFact>({ ctx }: Asked, type: T, data: RecordData<T>): NewRecord {
  // The pair of type and data is right by the signature; the union of records cannot see it.
  return { type, data, turn: ctx.turnId, step: ctx.stepId, call: ctx.callId } as NewRecord;
}
