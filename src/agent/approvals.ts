import { type Clock, sleep } from '../clock.ts';
import { isSwarmError, SwarmError } from '../errors.ts';
import type { IdSource } from '../ids.ts';
import { withArguments } from '../ledger/call-arguments.ts';
import type { JsonObject, JsonValue } from '../ledger/content.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { RecordData } from '../ledger/records.ts';
import { findRequest, parkedRequests } from '../ledger/recovery.ts';
import { type CallFacts, callStatus, foldSession, type TurnFacts } from '../ledger/turn-facts.ts';
import type { Limits } from '../limits.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';
import {
  type ApprovalDecision,
  checkDecision,
  decisionRecords,
  judgeRepeat,
  type RecordedRequest,
  readDecision,
  type SettledRequest,
} from '../tools/approval-decisions.ts';
import type { PendingApproval } from '../tools/approvals.ts';
import type { PermissionPolicy } from '../tools/permission.ts';
import { checkEdit } from '../tools/replaced-arguments.ts';
import type { AnyAgent } from './define-agent.ts';
import { pendingOfTurn } from './pending-approvals.ts';
import { type PoolDesk, placedSession, wakeWorkers } from './pool-desk.ts';
import { agentsByName } from './reachable-agents.ts';
import type { OpenSession } from './session-parts.ts';
import type { SessionRegistry } from './session-registry.ts';
import { identityOf, withSession } from './session-task.ts';
import { withinTree } from './session-tree.ts';

/** Which requests to list. */
export interface PendingFilter {
  /** Only those of this session and of those below it. */
  readonly sessionId?: string;
}

const FILTER: OptionNames<PendingFilter> = { sessionId: true };

/** Requests that wait for a person, and the decisions on them. */
export interface Approvals {
  /**
   * Open requests of all sessions of the ledger, or of one and those below it, oldest first.
   * @throws SwarmError 'invalid-definition' for an unknown option
   */
  pending(filter?: PendingFilter): Promise<readonly PendingApproval[]>;
  /**
   * Records a decision; the call goes on (at once where the run waits, after `resume` where it is paused). Works
   * from any process on the same ledger. The same decision again changes nothing.
   * @throws SwarmError 'unknown-approval', 'approval-settled' (late), 'approval-conflict' (another decision was
   * made), 'approval-edit-invalid', 'approval-not-rememberable' and 'invalid-decision' (the request stays open),
   * 'ledger-unavailable' (the owner of the session does not answer)
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
  /** Has whoever is free go on with a turn that nobody has. */
  readonly pool?: PoolDesk | undefined;
}

export function createApprovals(options: ApprovalsOptions): Approvals {
  return {
    async pending(filter = {}) {
      assertOptions('approvals.pending', filter, FILTER);
      return pending(options, filter.sessionId);
    },
    decide: (id, decision) => decide(options, id, decision),
  };
}

async function pending(
  options: ApprovalsOptions,
  sessionId: string | undefined,
): Promise<readonly PendingApproval[]> {
  const ledger = await options.ledger;
  const open = await ledger.listOpen();
  const wanted = sessionId === undefined ? open : withinTree(open, sessionId);
  const found = await Promise.all(
    wanted.map(async (one) => {
      const facts = foldSession(await ledger.read(one.sessionId));
      if (facts.openTurn === undefined) return [];
      return pendingOfTurn(one.sessionId, facts, await withArguments(facts.openTurn, ledger));
    }),
  );
  const all = found
    .flat()
    .filter((request) => !isOver(request, options.clock))
    .sort((a, b) => a.requestedAt - b.requestedAt);
  return all.map(({ requestedAt: _, ...request }) => request);
}

/** Times a decision is brought to whoever has the session, should it change hands meanwhile. */
const MAX_TRIES = 3;

async function decide(options: ApprovalsOptions, id: string, decision: ApprovalDecision): Promise<void> {
  const read = readDecision(decision, options.limits);
  for (let tries = 1; ; tries += 1) {
    try {
      return await decideOnce(options, id, read);
    } catch (error) {
      if (!isSwarmError(error, 'turn-not-open') || tries >= MAX_TRIES) throw error;
    }
  }
}

async function decideOnce(options: ApprovalsOptions, id: string, decision: ApprovalDecision): Promise<void> {
  const ledger = await options.ledger;
  const sessionId = id.split('.')[0] ?? '';
  const turn = options.registry.find(sessionId)?.turn;
  if (turn?.approvals.knows(id) === true) return turn.approvals.decide(id, decision);
  const found = findRequest(foldSession(await ledger.read(sessionId)), id);
  // What is settled needs nobody's leave to be told, however long the session is busy.
  const settled = found === undefined ? undefined : settledRequest(found.turn, found.call);
  if (found === undefined || settled !== undefined) {
    judgeRepeat(id, settled, decision);
    // Whoever made it may have ended before it was told.
    return wakeFor(options, ledger, sessionId, id);
  }
  try {
    let isStored = false;
    await withSession(options, await identityOf(ledger, sessionId), {
      async between(session) {
        await decideStored(options, session, id, decision);
        isStored = true;
      },
      // A turn that is being taken up waits for this very decision.
      inside: (other) =>
        other.turnId === found.turn.turnId ? other.approvals.decideWhenParked(id, decision) : undefined,
    });
    if (isStored) await wakeFor(options, ledger, sessionId, id);
  } catch (error) {
    if (!isSwarmError(error, 'session-owned-elsewhere')) throw error;
    await askOwner(options, ledger, sessionId, { id, decision });
  }
}

/** On a pool, a worker goes on with what was decided. @throws SwarmError of the pool */
async function wakeFor(
  { pool }: ApprovalsOptions,
  ledger: Ledger,
  sessionId: string,
  id: string,
): Promise<void> {
  if (pool === undefined) return;
  const session = await placedSession(ledger, sessionId);
  await wakeWorkers(pool, ledger, { session, cause: `decision ${id}` });
}

/** How the ledger says that a request was settled; `undefined` while it is open. */
function settledRequest(turn: TurnFacts, call: CallFacts): SettledRequest | undefined {
  if (call.decided !== undefined) return call.decided.data;
  if (call.expired !== undefined) return 'expired';
  const isOpen = callStatus(call) === 'parked' && turn.closed === undefined;
  return isOpen ? undefined : 'cancelled';
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
  const isLate = request.expiresAt !== undefined && options.clock.now() >= request.expiresAt;
  const settled = settledRequest(turn, call) ?? (isLate ? ('expired' as const) : undefined);
  if (settled !== undefined) return judgeRepeat(id, settled, decision);
  const target = {
    ...recordedRequest(call, request),
    kind: request.kind,
    rememberable: request.rememberable,
    checkEdit: (input: JsonObject) => checkStoredEdit(options, session, { call, request }, input),
  };
  await checkDecision(target, decision);
  const followers = (decision.scope ?? 'call') === 'call' ? [] : followersOf(turn, request, options.clock);
  await session.log.commit(decisionRecords(turn.turnId, target, decision, followers));
}

type RequestData = RecordData<'permission.requested'>;

function recordedRequest(call: CallFacts, request: RequestData): RecordedRequest {
  return { id: request.request, stepId: call.stepId, callId: call.callId, argsHash: request.argsHash };
}

/** Other open requests that a remembered decision covers, as a desk would find them. */
function followersOf(turn: TurnFacts, decided: RequestData, clock: Clock): readonly RecordedRequest[] {
  return parkedRequests(turn)
    .filter(({ request }) => request.request !== decided.request && request.scopeKey === decided.scopeKey)
    .filter(({ request }) => request.rememberable && !isOver(request, clock))
    .map(({ call, request }) => recordedRequest(call, request));
}

function isOver({ expiresAt }: { readonly expiresAt?: number | undefined }, clock: Clock): boolean {
  return expiresAt !== undefined && clock.now() >= expiresAt;
}

async function checkStoredEdit(
  options: ApprovalsOptions,
  { facts, log, parts }: OpenSession,
  { call, request }: { readonly call: CallFacts; readonly request: RequestData },
  input: JsonObject,
): Promise<string | undefined> {
  const known = agentsByName(options.agents);
  const agent = known.get(facts.opened?.agent ?? '');
  const bound = agent?.binding.byName(request.toolName);
  if (agent === undefined || bound === undefined)
    return `the tool ${request.toolName} is not in the registry of this runtime, so its schema is unknown`;
  const agentPath = facts.opened?.data.agentPath ?? [agent.name];
  const { session: sessionId } = log.identity;
  const { clock, limits, signal } = parts;
  return checkEdit(
    bound,
    { id: request.request, toolName: request.toolName, input, callId: call.callId, sessionId, agentPath },
    {
      policies: [...parts.permission, ...policiesAt(agentPath, known)],
      scope: { agent: agent.name, agentPath, sessionId, context: undefined },
      limits,
      deadline: { clock, timeoutMs: limits.timeouts.gateMs, signal },
    },
  );
}

/** Policies of the agents from the root to the one that asked. */
function policiesAt(
  agentPath: readonly string[],
  known: ReadonlyMap<string, AnyAgent>,
): readonly PermissionPolicy[] {
  return agentPath.flatMap((name) => known.get(name)?.permission ?? []);
}

/** Time the owner of a session in another process has to answer. */
const OWNER_TIMEOUT_MS = 10_000;

/** An owner that leaves answers no more: so often is looked whether it is still there. */
const OWNER_CHECK_MS = 200;

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
 * @throws SwarmError with the code the owner answered, 'turn-not-open' when it left before it answered, or
 * 'ledger-unavailable' when it does not answer
 */
export async function postToOwner(
  options: Pick<ApprovalsOptions, 'clock' | 'ids'>,
  ledger: Ledger,
  item: { readonly session: string; readonly kind: string; readonly body: JsonValue },
): Promise<JsonValue> {
  const { clock } = options;
  const timeout = new AbortController();
  const timer = clock.setTimeout(() => timeout.abort(), OWNER_TIMEOUT_MS);
  let left = false;
  void whenFree(clock, ledger, item.session, timeout.signal).then((isFree) => {
    left = isFree;
    if (isFree) timeout.abort();
  });
  try {
    const reply = await ledger
      .post({ id: options.ids.next('inbox'), ...item }, timeout.signal)
      .catch((error: unknown) => {
        if (!left) throw error;
        return undefined;
      });
    if (reply === undefined) {
      throw new SwarmError('turn-not-open', `the owner of ${item.session} left before it answered`);
    }
    if (reply.type === 'accepted') return reply.body;
    // The owner is a runtime of this project: its codes are ours.
    throw new SwarmError(reply.code as SwarmError['code'], reply.message);
  } finally {
    clock.clearTimeout(timer);
    timeout.abort();
  }
}

/** True as soon as nobody owns the session; false when the signal aborts first, or the ledger cannot tell. */
async function whenFree(
  clock: Clock,
  ledger: Ledger,
  session: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    while (await sleep(clock, OWNER_CHECK_MS, signal)) {
      const { owned, openTurn } = (await ledger.summary(session)) ?? {};
      if (owned !== true || openTurn === undefined) return !signal.aborted;
    }
  } catch {
    // The post itself tells what is wrong with the ledger.
  }
  return false;
}
