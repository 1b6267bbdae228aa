import type { SessionId } from '../ids.ts';
import type { UserPart } from '../ledger/content.ts';
import type { Head } from '../ledger/ledger.ts';
import type { Failure, PauseReason } from '../ledger/records.ts';
import { foldSession } from '../ledger/turn-facts.ts';
import type { PendingApproval } from '../tools/approvals.ts';
import type { StopCause } from '../turn/stop-signal.ts';
import type { RunScope } from '../turn/turn-scope.ts';
import { createUsageMeter, type UsageMeter } from '../turn/usage-meter.ts';
import { ChildOwner } from './child-owner.ts';
import type { AnyAgent } from './define-agent.ts';
import { type FoundWork, findWork, submitTurn } from './handoff-chain.ts';
import type { Lineage } from './lineage.ts';
import { createRestartBudget } from './restart-budget.ts';
import { type IndeterminateCall, type RunUsage, usageOf } from './run-result.ts';
import { type DecideIndeterminate, type TurnRequest, takeUpRun } from './run-turn-job.ts';
import type { SessionParts } from './session-parts.ts';
import { tallyTree } from './tally-tree.ts';
import { failureOf } from './thrown-failure.ts';
import type { LastOutcome } from './turn-outcome.ts';
import type { WorkUnit } from './turn-owner.ts';

/** A session that another one opens: who it is, what it is given and what it is held to. */
export interface ChildRequest {
  /** Derived, see `childSessionIdOf`: whoever asks again for the same finds the same session. */
  readonly sessionId: SessionId;
  readonly agent: AnyAgent;
  /** Its only user message. Not looked at where the session exists. */
  readonly input: readonly UserPart[];
  /** Id of the record that asks, where the session may have turns for others: names the turn that is meant. */
  readonly cause?: string;
  /** The session that asks. */
  readonly parent: { readonly session: string; readonly root: string };
  readonly lineage: Lineage;
  /** The run that everything below belongs to: budget, context, live parts; its usage is counted in both. */
  readonly run: RunScope;
  /** Hard ceiling of the run, by tool name. */
  readonly boundTools?: readonly string[] | undefined;
  /** Ends the child, and everything below it. */
  readonly signal: AbortSignal;
  /** Why, once the signal has aborted. */
  stopCause(): StopCause;
  /** What is to become of calls whose outcome is unknown. Default: nothing, and the child pauses. */
  readonly decide?: DecideIndeterminate | undefined;
  /** Set where it is what a worker has. */
  readonly unit?: WorkUnit | undefined;
  /** Told of what the parent shows of its child. None of them may throw. */
  readonly watch?: ChildWatch;
}

/** What a parent hears of a child while it is at work. */
export interface ChildWatch {
  /** A turn of the child is open, or taken up. */
  opened?(): void;
  /** Somebody below waits for a person from now on, or nobody does any more. */
  waiting?(isWaiting: boolean): void;
  /** One line of what the child does: names of tools and outcomes, nothing that anybody said. */
  progress?(line: string): void;
}

/** What became of a child. Everything that can happen to one is a value here. */
export type ChildEnd = ChildCounts &
  (
    | {
        readonly type: 'completed' /** Parsed, or the text. */;
        readonly output: unknown;
        readonly text: string;
      }
    | { readonly type: 'failed'; readonly failure: Failure; readonly text: string }
    | { readonly type: 'cancelled'; readonly reason: string; readonly text: string }
    /** Open, and gone on with by whoever asks for the child again. */
    | {
        readonly type: 'paused';
        readonly reason: PauseReason;
        readonly approvals: readonly PendingApproval[];
        readonly calls: readonly IndeterminateCall[];
      }
    /** Open: the runtime closes. */
    | { readonly type: 'left'; readonly failure: Failure }
    /** Its facts cannot be written or read here, also not after some restarts; its turn may be open. */
    | { readonly type: 'lost'; readonly failure: Failure }
  );

/** What a child came to in numbers, and where its end stands. */
export interface ChildCounts {
  /** Of the child and everything below it, so far. */
  readonly usage: RunUsage;
  readonly steps: number;
  readonly toolCalls: number;
  /** The session that holds the end, another one than was asked for where the child handed over. */
  readonly last: { readonly session: string; readonly head: Head | undefined };
}

/**
 * Runs a child session to the end of its turn: opens it, or takes it up where an earlier process left it, or only
 * says what became of it. Follows its handoffs. A turn that breaks by a fault of the runtime is taken up again a few
 * times. Never rejects; settles only when everything the child started has settled.
 */
export async function runChild(parts: SessionParts, request: ChildRequest): Promise<ChildEnd> {
  const usage = createUsageMeter(request.run.usage);
  const restarts = createRestartBudget(parts.clock, parts.limits.supervision);
  let first = true;
  try {
    for (;;) {
      const owner = new ChildOwner({ ...request.run, usage }, request);
      const work = await findWork(parts, turnRequest(request, owner), request.input);
      if (first && work.type !== 'open') await countBefore(parts, request, usage);
      first = false;
      const outcome = work.type === 'ended' ? work.outcome : await runWork(parts, work, owner);
      const isBroken = outcome.type === 'left' && outcome.failure.kind !== 'runtime-closed';
      if (isBroken && !request.signal.aborted && restarts.take()) continue;
      return await endOf(parts, outcome, { work, owner, usage });
    }
  } catch (error) {
    const last = { session: request.sessionId, head: undefined };
    return { type: 'lost', failure: failureOf(error), usage: usageOf(usage), steps: 0, toolCalls: 0, last };
  }
}

function turnRequest(request: ChildRequest, run: ChildOwner): TurnRequest {
  const { agent, lineage, sessionId: session, parent, boundTools, decide = () => 'block' } = request;
  return {
    agent,
    lineage,
    identity: { session, root: parent.root, parent: parent.session, agent: agent.name },
    run,
    boundTools,
    clientSources: [],
    discovery: undefined,
    decide,
    ...(request.cause === undefined ? {} : { cause: request.cause }),
  };
}

async function runWork(
  parts: SessionParts,
  work: Exclude<FoundWork, { readonly type: 'ended' }>,
  owner: ChildOwner,
): Promise<LastOutcome> {
  if (owner.endsBefore(work.type)) return owner.result;
  // Taken up between two turns of a handoff, it has no turn that would count what came before.
  if (work.type === 'open') await takeUpRun(work.request, parts.ledger);
  submitTurn(parts, work.request, work.type === 'open' ? work.input : undefined);
  return owner.result;
}

/** The run has counted what the child used before; its own meter begins with it. */
async function countBefore(
  parts: SessionParts,
  { sessionId, cause }: ChildRequest,
  meter: UsageMeter,
): Promise<void> {
  const records = await parts.ledger.read(sessionId);
  const { turns } = foldSession(records);
  const own = cause === undefined ? turns : turns.filter(({ opened }) => opened.cause === cause);
  const tally = await tallyTree(parts.ledger, records[0]?.agent ?? '', own);
  for (const { agent, usage, complete } of tally.reports) meter.noteBefore(agent, usage, complete);
}

interface ChildParts {
  readonly work: FoundWork;
  readonly owner: ChildOwner;
  readonly usage: UsageMeter;
}

async function endOf(parts: SessionParts, outcome: LastOutcome, child: ChildParts): Promise<ChildEnd> {
  const { work, owner, usage } = child;
  const session = owner.lastSession ?? work.request.identity.session;
  const { steps, toolCalls } = outcome;
  const counts: ChildCounts = {
    usage: usageOf(usage),
    steps: work.steps + owner.before.steps + steps,
    toolCalls: work.toolCalls + owner.before.toolCalls + toolCalls,
    last: { session, head: await parts.ledger.head(session) },
  };
  return childEndOf(outcome, counts);
}

/** What an outcome is to whoever asked for the child, with the counts of all of it. */
export function childEndOf(outcome: LastOutcome, counts: ChildCounts): ChildEnd {
  const { text } = outcome;
  switch (outcome.type) {
    case 'completed':
      return { type: 'completed', output: outcome.output, text, ...counts };
    case 'failed':
      return { type: 'failed', failure: outcome.failure, text, ...counts };
    case 'cancelled':
      return { type: 'cancelled', reason: outcome.reason, text, ...counts };
    case 'paused': {
      const { reason, approvals, calls } = outcome;
      return { type: 'paused', reason, approvals, calls, ...counts };
    }
    case 'left':
      return {
        type: outcome.failure.kind === 'runtime-closed' ? 'left' : 'lost',
        failure: outcome.failure,
        ...counts,
      };
  }
}
