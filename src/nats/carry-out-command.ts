import { postToOwner } from '../agent/approvals.ts';
import type { Clock } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import { workOf } from '../graph/turn-work.ts';
import { randomIds } from '../ids.ts';
import type { JsonObject } from '../ledger/content.ts';
import type { Ledger, SessionSummary } from '../ledger/ledger.ts';
import type { LedgerRecord } from '../ledger/records.ts';
import { findRequest, parkedRequests, reportOf } from '../ledger/recovery.ts';
import { foldSession } from '../ledger/turn-facts.ts';
import { NATS_LIMITS } from '../limits.ts';
import type { Runtime } from '../runtime.ts';
import type { CommandBody, CommandReply } from './command-messages.ts';

/** What commands work on. */
export interface CommandGround {
  readonly runtime: Runtime;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** Whether a decision may put other arguments in the place of those it was asked for. */
  readonly allowsEdits: boolean;
}

type Accepted = Extract<CommandReply, { accepted: true }>;

/** Who the ledger says is behind it: the words of the sender, marked as such. */
function actorOf({ actor }: { readonly actor?: string | undefined }): string {
  return actor === undefined ? 'nats' : `nats: ${actor}`;
}

/** @throws SwarmError 'turn-not-open' where the turn does not take it, 'ledger-unavailable' */
export async function steer(
  ground: CommandGround,
  session: SessionSummary,
  body: CommandBody<'steer'>,
): Promise<Accepted> {
  const { ledger } = ground;
  const { sessionId } = session;
  const isIt = (record: LedgerRecord) => record.type === 'steering.accepted' && record.data.id === body.id;
  const before = (await ledger.read(sessionId)).find(isIt);
  if (before !== undefined) return accepted(before);
  await tellOwner(ground, session, {
    kind: 'steer',
    id: body.id,
    body: { id: body.id, text: body.text, actor: actorOf(body) },
  });
  const fact = (await ledger.read(sessionId)).find(isIt);
  if (fact === undefined) throw new SwarmError('ledger-unavailable', 'the text is not in the ledger');
  return accepted(fact);
}

/** @throws SwarmError 'turn-not-open', 'ledger-unavailable' */
export async function cancel(
  ground: CommandGround,
  session: SessionSummary,
  body: CommandBody<'cancel'>,
): Promise<Accepted> {
  const { ledger } = ground;
  const { sessionId, openTurn } = session;
  const last = (await ledger.read(sessionId)).findLast(({ type }) => type === 'turn.closed');
  if (openTurn === undefined) {
    // Asked again after it was carried out.
    if (last?.type === 'turn.closed' && last.data.status === 'cancelled') return accepted(last);
    throw notAtWork(sessionId);
  }
  const reason = body.reason ?? 'cancelled from elsewhere';
  await tellOwner(ground, session, { kind: 'cancel', id: body.id, body: { reason } });
  const closed = await factAfter(ground, sessionId, last?.seq ?? 0, ({ type }) => type === 'turn.closed');
  if (closed?.type === 'turn.closed' && closed.data.status === 'cancelled') return accepted(closed);
  if (closed !== undefined) throw new SwarmError('turn-not-open', 'the turn ended before it was cancelled');
  throw new SwarmError('ledger-unavailable', 'the turn was told to stop and has not ended yet');
}

/**
 * Decides a request for exactly the arguments it was asked for.
 * @throws SwarmError 'approval-arguments-differ' and what `approvals.decide` throws
 */
export async function decide(
  { runtime, ledger, allowsEdits }: CommandGround,
  session: SessionSummary,
  decision: 'approve' | 'deny',
  body: CommandBody<'approve'>,
): Promise<Accepted> {
  const { sessionId } = session;
  const { request, argsHash, scope, reason, answer, editedInput } = body;
  const found = findRequest(foldSession(await ledger.read(sessionId)), request);
  const asked = found?.call.requested?.data;
  if (asked === undefined) throw new SwarmError('unknown-approval', `${sessionId} has no request ${request}`);
  if (asked.argsHash !== argsHash) {
    throw new SwarmError('approval-arguments-differ', `${request} waits with other arguments`);
  }
  if (editedInput !== undefined && !allowsEdits) {
    throw new SwarmError('command-disabled', 'edited arguments are not taken from elsewhere');
  }
  await runtime.approvals.decide(request, {
    decision,
    ...(scope === undefined ? {} : { scope }),
    ...(reason === undefined ? {} : { reason }),
    ...(answer === undefined ? {} : { answer }),
    ...(editedInput === undefined ? {} : { editedInput }),
    actor: actorOf(body),
  });
  const decided = findRequest(foldSession(await ledger.read(sessionId)), request)?.call.decided;
  if (decided === undefined) throw new SwarmError('ledger-unavailable', 'the decision is not in the ledger');
  return accepted(decided);
}

/**
 * Lets the step under way finish and leaves the turn open. Answered once the pause is a fact; asked again, a longer step
 * is waited for anew.
 * @throws SwarmError 'turn-not-open' where the turn ends instead, 'not-pausable', 'ledger-unavailable'
 */
export async function pause(
  ground: CommandGround,
  session: SessionSummary,
  body: CommandBody<'pause'>,
): Promise<Accepted> {
  const { sessionId, openTurn } = session;
  const last = (await ground.ledger.read(sessionId)).findLast(isPauseFact);
  // Asked again after it was carried out.
  if (openTurn !== undefined && last?.type === 'turn.paused') return accepted(last);
  await tellOwner(ground, session, { kind: 'pause', id: body.id, body: {} });
  const fact = await factAfter(ground, sessionId, last?.seq ?? 0, (record) => {
    // A supervisor that gave way pauses in its next turn.
    if (record.type === 'turn.closed') return record.data.status !== 'yielded';
    return record.type === 'turn.paused';
  });
  if (fact?.type === 'turn.paused') return accepted(fact);
  if (fact !== undefined) throw new SwarmError('turn-not-open', 'the turn ended before it was paused');
  throw new SwarmError('ledger-unavailable', 'the turn was told to pause and has not finished its step yet');
}

/** The last of these says whether an open turn is paused. */
function isPauseFact({ type }: LedgerRecord): boolean {
  return type === 'turn.opened' || type === 'turn.paused' || type === 'turn.resumed';
}

/** Takes up a turn that nobody is at work on. @throws SwarmError 'nothing-to-resume', 'unknown-agent', ... */
export async function resume(
  ground: CommandGround,
  { sessionId, agent, openTurn, owned }: SessionSummary,
): Promise<Accepted> {
  const { runtime, ledger } = ground;
  const isResumed = ({ type }: LedgerRecord) => type === 'turn.resumed';
  if (openTurn === undefined) throw new SwarmError('nothing-to-resume', `${sessionId} has no open turn`);
  if (owned) {
    const last = (await ledger.read(sessionId)).findLast(isResumed);
    // Asked again while it is at work.
    if (last !== undefined) return accepted(last);
    throw new SwarmError('session-owned-elsewhere', `the turn of ${sessionId} is at work`);
  }
  const before = (await ledger.head(sessionId))?.seq ?? 0;
  const run = runtime.resume(agent, sessionId);
  const failed = run.result.then((result) => {
    if (result.status !== 'failed') return undefined;
    throw new SwarmError('turn-not-open', result.error.message);
  });
  failed.catch(() => undefined);
  const fact = await Promise.race([factAfter(ground, sessionId, before, isResumed), failed]);
  const found = fact ?? (await ledger.read(sessionId, before + 1)).find(isResumed);
  if (found === undefined) throw new SwarmError('ledger-unavailable', 'the turn was not taken up in time');
  return accepted(found);
}

/** How a session is, without anything that was said in it. */
export async function query({ ledger, clock }: CommandGround, session: SessionSummary): Promise<Accepted> {
  const records = await ledger.read(session.sessionId);
  const facts = foldSession(records);
  const parked = facts.openTurn === undefined ? [] : parkedRequests(facts.openTurn);
  const report = reportOf(records, session.owned);
  const lastTurn = facts.turns.at(-1);
  const state: JsonObject = {
    session: session.sessionId,
    root: session.rootId,
    ...(session.parentId === undefined ? {} : { parent: session.parentId }),
    agent: session.agent,
    turn: lastTurn?.turnId ?? null,
    activity: activityOf(session, report?.paused === true),
    status: lastTurn?.closed?.data.status ?? null,
    steps: lastTurn?.steps.length ?? 0,
    approvals: parked
      .filter(({ request }) => request.expiresAt === undefined || request.expiresAt > clock.now())
      .map(({ request }) => ({
        request: request.request,
        toolName: request.toolName,
        argsHash: request.argsHash,
      })),
    indeterminate: (report?.indeterminate ?? []).map(({ callId, toolName }) => ({ callId, toolName })),
  };
  return { v: 1, accepted: true, seq: session.head.seq, state };
}

function activityOf({ openTurn, owned }: SessionSummary, isPaused: boolean): string {
  if (openTurn === undefined) return 'idle';
  if (owned) return 'at-work';
  return isPaused ? 'paused' : 'cut-off';
}

function accepted({ seq }: LedgerRecord): Accepted {
  return { v: 1, accepted: true, seq };
}

function notAtWork(session: string): SwarmError {
  return new SwarmError('turn-not-open', `no turn of the session ${session} is at work`);
}

/**
 * Leaves a message for the owner, durable before it acts; the same id is the same message. A turn that sleeps has none:
 * it is told by its facts, and workers of its pool go on with it.
 */
async function tellOwner(
  { runtime, ledger, clock }: CommandGround,
  { sessionId, openTurn, owned }: SessionSummary,
  item: { readonly kind: 'steer' | 'cancel' | 'pause'; readonly id: string; readonly body: JsonObject },
): Promise<void> {
  const { kind, id, body } = item;
  if (openTurn === undefined) throw notAtWork(sessionId);
  if (!owned) {
    const work = workOf(runtime);
    if (work === undefined) throw notAtWork(sessionId);
    return work.say({ session: sessionId, kind, body: { ...body, id } });
  }
  const ids = { ...randomIds, next: () => `nats-${id}` };
  await postToOwner({ clock, ids }, ledger, { session: sessionId, kind, body });
}

/** The first fact of a kind behind a place, once it is there; undefined when its time is over. */
async function factAfter(
  { ledger, clock }: CommandGround,
  session: string,
  after: number,
  isWanted: (record: LedgerRecord) => boolean,
): Promise<LedgerRecord | undefined> {
  const stop = new AbortController();
  const timer = clock.setTimeout(() => stop.abort(), NATS_LIMITS.commandMs - NATS_LIMITS.requestMs);
  try {
    const position = await ledger.position();
    const stored = (await ledger.read(session, after + 1)).find(isWanted);
    if (stored !== undefined) return stored;
    for await (const { record } of ledger.tail(position, stop.signal)) {
      if (record.session === session && isWanted(record)) return record;
    }
    return undefined;
  } finally {
    clock.clearTimeout(timer);
    stop.abort();
  }
}
