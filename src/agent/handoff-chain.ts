import type { SessionId } from '../ids.ts';
import type { UserPart } from '../ledger/content.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Failure } from '../ledger/records.ts';
import { foldSession, type SessionFacts } from '../ledger/turn-facts.ts';
import { ceilingIn } from './ceiling.ts';
import { closedOutcome } from './closed-outcome.ts';
import type { AnyAgent } from './define-agent.ts';
import { handoffLineage, limitsWithin } from './lineage.ts';
import { heldTo, inputJob, resumeJob, type TurnRequest, takeUpRun } from './run-turn-job.ts';
import type { SessionJob, SessionParts } from './session-parts.ts';
import { failureOf } from './thrown-failure.ts';
import { type Handoff, type LastOutcome, refusedOutcome } from './turn-outcome.ts';
import type { TurnWays } from './turn-ways.ts';

/** What there is to do for a session: by its facts, and by those of the sessions it handed over to. */
export type SessionWork =
  | { readonly type: 'open'; readonly request: TurnRequest; readonly input: readonly UserPart[] }
  | { readonly type: 'resume'; readonly request: TurnRequest }
  | { readonly type: 'ended'; readonly request: TurnRequest; readonly outcome: LastOutcome };

/** Work found, with the counts of the turns that handed over. */
export type FoundWork = SessionWork & { readonly steps: number; readonly toolCalls: number };

/**
 * Follows the handoffs of a session to where its run stands now.
 * @throws SwarmError of the ledger
 */
export async function findWork(
  parts: SessionParts,
  first: TurnRequest,
  input: readonly UserPart[],
): Promise<FoundWork> {
  let request = first;
  let text = input;
  const before = { steps: 0, toolCalls: 0 };
  for (;;) {
    const facts = await factsOf(parts.ledger, request);
    const { cause } = request;
    // A session may have turns for others before and after.
    const last =
      cause === undefined ? facts.turns.at(-1) : facts.turns.find(({ opened }) => opened.cause === cause);
    if (last === undefined) return { type: 'open', request, input: text, ...before };
    if (last.closed === undefined) return { type: 'resume', request, ...before };
    const outcome = await closedOutcome(last, last.closed, request.agent, parts.ledger);
    if (outcome.type !== 'handed-off') return { type: 'ended', request, outcome, ...before };
    const next = handoffRequest(parts, heldTo(request, last), outcome.handoff);
    if ('kind' in next) return { type: 'ended', request, outcome: refusedOutcome(next), ...before };
    before.steps += outcome.steps;
    before.toolCalls += outcome.toolCalls;
    request = next;
    text = inputOf(outcome.handoff);
  }
}

async function factsOf(ledger: Ledger, { identity }: TurnRequest): Promise<SessionFacts> {
  return foldSession(await ledger.read(identity.session));
}

/** The session in which a run goes on that another one handed over, while it is open. */
export const openBeyond: TurnWays['openBeyond'] = async (parts, request) => {
  const work = await findWork(parts, request, []);
  const { session } = work.request.identity;
  return work.type === 'ended' || session === request.identity.session ? undefined : session;
};

/** Makes the next turn at once, so that there is no moment in which nothing of the run is at work. */
export const followHandoff: TurnWays['followHandoff'] = (request, outcome, { parts }) => {
  const { run } = request;
  try {
    const next = handoffRequest(parts, request, outcome.handoff);
    run.handedOff(outcome.handoff, outcome);
    if ('kind' in next) return run.ended(refusedOutcome(next));
    submitTurn(parts, next, inputOf(outcome.handoff));
  } catch (error) {
    run.ended(refusedOutcome(failureOf(error)));
  }
};

/** Gives a session its next turn: a new one with an input, else the one that is open. */
export function submitTurn(
  { registry, ledger }: SessionParts,
  request: TurnRequest,
  input: readonly UserPart[] | undefined,
): void {
  const job = input === undefined ? resumeJob(request) : inputJob(request, input);
  const { session } = request.identity;
  // Derived from that of the session before, or checked where the run began.
  if (registry.actorFor(session as SessionId, ledger).submit(job) === 'accepted') return;
  job.refuse({ kind: 'mailbox-full', message: `the mailbox of ${session} is full` });
}

/**
 * The job that takes up a run at its root: in the session it has come to.
 * @throws SwarmError of the ledger
 */
export async function takeUpJob(parts: SessionParts, root: TurnRequest): Promise<SessionJob> {
  const work = await findWork(parts, root, []);
  const { run, identity } = work.request;
  // What is not open at its root, nor anywhere it handed over to, says so itself.
  if (work.type === 'ended' || identity.session === root.identity.session) return resumeJob(root);
  run.handedOff(identity, work);
  if (work.type === 'resume') return resumeJob(work.request);
  await takeUpRun(work.request, parts.ledger);
  return inputJob(work.request, work.input);
}

function inputOf({ input }: Handoff): readonly UserPart[] {
  return [{ type: 'text', text: input }];
}

function handoffRequest(parts: SessionParts, request: TurnRequest, handoff: Handoff): TurnRequest | Failure {
  const { agent, lineage, identity } = request;
  const target = handoffTarget(agent, parts.agents, handoff.to);
  if (target === undefined) {
    return {
      kind: 'unknown-agent',
      message: `${agent.name} handed over to ${handoff.to}, which is not known`,
    };
  }
  const above = {
    agent,
    lineage,
    limits: limitsWithin(agent, parts.limits, lineage, request.run.scope.budget.options),
    ceiling: ceilingIn(request, parts),
  };
  const { cause: _, ...rest } = request;
  return {
    ...rest,
    agent: target,
    identity: {
      session: handoff.session,
      root: identity.root,
      parent: identity.session,
      agent: target.name,
    },
    lineage: handoffLineage(above, target),
    clientSources: [],
  };
}

/** The agent that another one names as one it may hand over to. */
export function handoffTarget(
  agent: AnyAgent,
  named: ReadonlyMap<string, AnyAgent>,
  name: string,
): AnyAgent | undefined {
  for (const target of agent.handoffs) {
    if (typeof target !== 'string' && target.name === name) return target;
    if (target === name) return named.get(name);
  }
  return undefined;
}
