import type { Clock } from '../clock.ts';
import { isSwarmError, SwarmError } from '../errors.ts';
import type { IdSource } from '../ids.ts';
import { withArguments } from '../ledger/call-arguments.ts';
import type { JsonValue } from '../ledger/content.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { SessionIdentity } from '../ledger/records.ts';
import { findRequest } from '../ledger/recovery.ts';
import { callStatus, foldSession, type SessionFacts } from '../ledger/turn-facts.ts';
import type { Limits } from '../limits.ts';
import {
  type ApprovalDecision,
  checkDecision,
  decidedRecord,
  judgeRepeat,
  type PendingApproval,
} from '../tools/approvals.ts';
import { checkReplacement } from '../tools/settlement.ts';
import type { AnyAgent } from './define-agent.ts';
import { pendingOfTurn } from './pending-approvals.ts';
import type { OpenSession } from './session-actor.ts';
import type { SessionRegistry } from './session-registry.ts';
import { identityOf, withSession } from './session-task.ts';

/** Requests that wait for a person, and the decisions on them. */
export interface Approvals {
  /** Open requests of all sessions of the ledger, or of one, oldest first. */
  pending(filter?: { readonly sessionId?: string }): Promise<readonly PendingApproval[]>;
  /**
   * Records a decision; the call goes on (at once where the run waits, after `resume` where it is paused). Works
   * from any process on the same ledger. The same decision again changes nothing.
   * @throws SwarmError 'unknown-approval', 'approval-settled' (late), 'approval-conflict' (another decision was
   * made), 'approval-edit-invalid' and 'approval-not-rememberable' (the request stays open), 'ledger-unavailable'
   * (the owner of the session does not answer)
   */
  decide(id: string, decision: ApprovalDecision): Promise<void>;
}

export interface ApprovalsOptions {
  readonly ledger: Promise<Ledger>;
  readonly registry: SessionRegistry;
  readonly agents: ReadonlyMap<string, AnyAgent>;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly ids: IdSource;
}

export function createApprovals(options: ApprovalsOptions): Approvals {
  return {
    pending: (filter) => pending(options, filter?.sessionId),
    decide: (id, decision) => decide(options, id, decision),
  };
}

async function pending(
  options: ApprovalsOptions,
  sessionId: string | undefined,
): Promise<readonly PendingApproval[]> {
  const ledger = await options.ledger;
  const open = await ledger.listOpen();
  const wanted = open.filter((one) => sessionId === undefined || one.sessionId === sessionId);
  const found = await Promise.all(
    wanted.map(async (one) => {
      const facts = foldSession(await ledger.read(one.sessionId));
      if (facts.openTurn === undefined) return [];
      return pendingOfTurn(one.sessionId, facts, await withArguments(facts.openTurn, ledger));
    }),
  );
  const all = found.flat().sort((a, b) => a.requestedAt - b.requestedAt);
  return all.map(({ requestedAt: _, ...request }) => request);
}

async function decide(options: ApprovalsOptions, id: string, decision: ApprovalDecision): Promise<void> {
  const ledger = await options.ledger;
  const sessionId = id.split('.')[0] ?? '';
  for (;;) {
    const turn = await options.registry.find(sessionId)?.turnOrIdle();
    if (turn?.approvals.knows(id) === true) return turn.approvals.decide(id, decision);
    const facts = foldSession(await ledger.read(sessionId));
    const found = findRequest(facts, id);
    if (found === undefined) return judgeRepeat(id, undefined, decision);
    const isOpenHere =
      turn !== undefined && found.turn.turnId === turn.turnId && callStatus(found.call) === 'parked';
    if (isOpenHere) return turn.approvals.decideWhenParked(id, decision);
    const identity = await identityOf(ledger, sessionId);
    // A session that came to life meanwhile decides itself: its mailbox may wait for this very decision.
    const actor = options.registry.find(sessionId);
    if (actor === undefined || (turn !== undefined && actor.turn === turn)) {
      return decideFromOutside(options, ledger, identity, { id, decision });
    }
  }
}

async function decideFromOutside(
  options: ApprovalsOptions,
  ledger: Ledger,
  identity: SessionIdentity,
  wanted: { readonly id: string; readonly decision: ApprovalDecision },
): Promise<void> {
  try {
    await withSession(options, identity, (session) =>
      decideStored(options, session, wanted.id, wanted.decision),
    );
  } catch (error) {
    if (!isSwarmError(error, 'session-owned-elsewhere')) throw error;
    await askOwner(options, ledger, identity.session, wanted);
  }
}

/** A decision on a session that no turn of this process is at work on. */
async function decideStored(
  options: ApprovalsOptions,
  session: OpenSession,
  id: string,
  decision: ApprovalDecision,
): Promise<void> {
  const found = findRequest(session.facts, id);
  const request = found?.call.requested?.data;
  if (found === undefined || request === undefined) return judgeRepeat(id, undefined, decision);
  const { turn, call } = found;
  const expired = request.expiresAt !== undefined && options.clock.now() >= request.expiresAt;
  if (callStatus(call) !== 'parked') {
    const decided = call.decided?.data.decision;
    const settled =
      decided === undefined
        ? call.cancelled === undefined
          ? 'expired'
          : 'cancelled'
        : { decision: decided };
    return judgeRepeat(id, settled, decision);
  }
  if (expired || turn.closed !== undefined)
    return judgeRepeat(id, expired ? 'expired' : 'cancelled', decision);
  const target = {
    id,
    stepId: call.stepId,
    callId: call.callId,
    argsHash: request.argsHash,
    rememberable: request.rememberable,
    checkEdit: (input: ApprovalDecision['editedInput']) =>
      checkEdit(options, session.facts, request.toolName, input),
  };
  await checkDecision(target, decision);
  await session.log.commit([decidedRecord(turn.turnId, target, decision, options.limits)]);
}

async function checkEdit(
  options: ApprovalsOptions,
  facts: SessionFacts,
  toolName: string,
  input: unknown,
): Promise<string | undefined> {
  const agent = options.agents.get(facts.opened?.agent ?? '');
  const bound = agent?.binding.byName(toolName);
  if (bound === undefined)
    return `the tool ${toolName} is not in the registry of this runtime, so its schema is unknown`;
  const checked = await checkReplacement(bound, input, options.limits);
  return checked.type === 'ok' ? undefined : checked.complaint;
}

/** Time the owner of a session in another process has to answer. */
const OWNER_TIMEOUT_MS = 10_000;

async function askOwner(
  options: ApprovalsOptions,
  ledger: Ledger,
  session: string,
  body: { readonly id: string; readonly decision: ApprovalDecision },
): Promise<void> {
  await postToOwner(options, ledger, {
    session,
    kind: 'approval',
    body: { ...body, decision: { ...body.decision } },
  });
}

/**
 * Leaves a message for the process that owns a session and waits for its answer.
 * @throws SwarmError with the code the owner answered, or 'ledger-unavailable' when it does not answer
 */
export async function postToOwner(
  options: Pick<ApprovalsOptions, 'clock' | 'ids'>,
  ledger: Ledger,
  item: { readonly session: string; readonly kind: string; readonly body: JsonValue },
): Promise<JsonValue> {
  const timeout = new AbortController();
  const timer = options.clock.setTimeout(() => timeout.abort(), OWNER_TIMEOUT_MS);
  try {
    const reply = await ledger.post({ id: options.ids.next('inbox'), ...item }, timeout.signal);
    if (reply.type === 'accepted') return reply.body;
    // The owner is a runtime of this project: its codes are ours.
    throw new SwarmError(reply.code as SwarmError['code'], reply.message);
  } finally {
    options.clock.clearTimeout(timer);
  }
}
