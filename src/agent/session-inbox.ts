import { isSwarmError, SwarmError } from '../errors.ts';
import type { IdSource } from '../ids.ts';
import type { JsonObject, JsonValue } from '../ledger/content.ts';
import type { InboxItem, InboxReply, Ledger } from '../ledger/ledger.ts';
import { namesOfRun } from '../ledger/run-standing.ts';
import { type ApprovalDecision, readDecision } from '../tools/approval-decisions.ts';
import type { TurnScope } from '../turn/turn-scope.ts';
import { acceptSteering } from './active-run.ts';
import { messageTurn } from './message-turn.ts';
import type { GraphAtWork } from './session-parts.ts';

/** What a listener needs of the session it serves. */
export interface InboxTarget {
  /** The turn under way, once there is one, or `undefined` when there will be none. */
  turnOrIdle(): Promise<TurnScope | undefined>;
  /** The graph under way, if there is one. */
  readonly graph: GraphAtWork | undefined;
}

/** Answers what other processes ask of a session this one owns, until `signal` aborts. Never rejects. */
export async function serveInbox(
  ledger: Ledger,
  session: string,
  target: InboxTarget,
  options: { readonly ids: IdSource; readonly signal: AbortSignal; readonly steeringQueue: number },
): Promise<void> {
  try {
    for await (const item of ledger.inbox(session, options.signal)) {
      const reply = await answer(ledger, item, target, options);
      await ledger.reply(item, reply);
    }
  } catch {
    // A store that fails here fails the session's own commits too, which is where it is told.
  }
}

async function answer(
  ledger: Ledger,
  item: InboxItem,
  target: InboxTarget,
  options: { readonly ids: IdSource; readonly steeringQueue: number },
): Promise<InboxReply> {
  try {
    const turn = await target.turnOrIdle();
    if (target.graph !== undefined)
      return { type: 'accepted', body: await actOnGraph(ledger, item, target.graph) };
    if (turn === undefined) return { type: 'rejected', code: 'turn-not-open', message: 'no turn is at work' };
    return { type: 'accepted', body: await actOnTurn(item, turn, options) };
  } catch (error) {
    const code = isSwarmError(error) ? error.code : 'machine-fault';
    return { type: 'rejected', code, message: error instanceof Error ? error.message : 'the request failed' };
  }
}

/**
 * Carries out what somebody outside asks of a turn.
 * @throws SwarmError as `approvals.decide` does, 'turn-not-open', 'not-pausable'
 */
export async function actOnTurn(
  item: InboxItem,
  turn: TurnScope,
  options: { readonly ids: IdSource; readonly steeringQueue: number },
): Promise<JsonValue> {
  const body = objectOf(item.body);
  const { turnId, session, run } = turn;
  await assertMeant(session.ledger, item, { run: run.runId, turn: turnId, in: session.sessionId });
  switch (item.kind) {
    case 'approval':
      await decideHere(turn, textOf(body['id']), readDecision(body['decision'], turn.plan.limits));
      return {};
    case 'steer':
      return steer(turn, body, options);
    case 'message':
      await messageTurn(turn, { from: textOf(body['from']), text: textOf(body['text']) }, options);
      return {};
    case 'cancel':
      if (turn.stop.sealed) throw new SwarmError('turn-not-open', 'the turn is ending, or pauses');
      turn.stop.stop({ type: 'cancelled', reason: textOf(body['reason']) });
      return {};
    case 'pause':
      pauseTurn(item.session, turn);
      return {};
    case 'stop-after-step':
      turn.stop.stopAfterStep();
      return {};
    default:
      return {};
  }
}

/**
 * Carries out what somebody outside asks of a graph: it can be stopped, and nothing else.
 * @throws SwarmError 'turn-not-open', 'not-pausable'
 */
export async function actOnGraph(
  ledger: Ledger,
  item: Pick<InboxItem, 'session' | 'kind' | 'body'>,
  { stop, runId }: GraphAtWork,
): Promise<JsonValue> {
  const { session, kind, body } = item;
  await assertMeant(ledger, item, { run: runId, in: session });
  if (kind === 'pause') {
    throw new SwarmError('not-pausable', 'a graph is at work, or a swarm between two turns: it has no step');
  }
  if (kind === 'stop-after-step') {
    stop.stopAfterStep();
    return {};
  }
  if (kind !== 'cancel') throw new SwarmError('turn-not-open', 'a graph is at work, which takes no text');
  stop.stop({ type: 'cancelled', reason: textOf(objectOf(body)['reason']) });
  return {};
}

/** The run that is at work: under which id, in which turn of which session. */
interface RunAtWork {
  readonly run: string;
  readonly turn?: string;
  readonly in: string;
}

/**
 * A word that names a run is for no other: whoever said it may be gone, and the run over that had the session then. One
 * that names none is for whichever is at work.
 * @throws SwarmError 'turn-not-open'
 */
async function assertMeant(
  ledger: Ledger,
  { session, body }: Pick<InboxItem, 'session' | 'body'>,
  atWork: RunAtWork,
): Promise<void> {
  const { run } = objectOf(body);
  if (typeof run !== 'string' || run === atWork.run) return;
  // Who took over from the session that is told may have other facts of who took the run up.
  const places = [...new Set([session, atWork.in])];
  const records = (await Promise.all(places.map((place) => ledger.read(place)))).flat();
  if (namesOfRun(records, atWork).has(run)) return;
  throw new SwarmError('turn-not-open', `${session} is at work on another run than ${run}`);
}

/** Only a run as a whole pauses: who is below it goes on with it. @throws SwarmError 'turn-not-open', 'not-pausable' */
function pauseTurn(session: string, { session: { rootId }, stop }: TurnScope): void {
  if (session !== rootId) {
    throw new SwarmError(
      'not-pausable',
      `${session} belongs to the run of ${rootId}: that one can be paused`,
    );
  }
  if (stop.cause !== undefined || stop.sealed) throw new SwarmError('turn-not-open', 'the turn is over');
  stop.pauseAfterStep();
}

/**
 * The answer says that the text is a fact, not that a request carried it: that may take hours. The id is that of who
 * asks, where there is one: by it the fact is found again.
 * @throws SwarmError 'turn-not-open' where the turn does not take the text
 */
async function steer(
  turn: TurnScope,
  body: JsonObject,
  options: { readonly ids: IdSource; readonly steeringQueue: number },
): Promise<JsonValue> {
  const id = textOf(body['id']);
  const ids = id === '' ? options.ids : { next: () => id };
  const actor = textOf(body['actor']) || 'inbox';
  const accepted = await acceptSteering(turn, textOf(body['text']), { ...options, ids, actor });
  if (accepted.type === 'refused') throw new SwarmError('turn-not-open', accepted.outcome.reason);
  return {};
}

/** Who asks has seen the request open in the ledger; it may be of a turn that is over by now. */
function decideHere(turn: TurnScope, id: string, decision: ApprovalDecision): Promise<void> {
  if (id.startsWith(`${turn.turnId}.`)) return turn.approvals.decideWhenParked(id, decision);
  throw new SwarmError('turn-not-open', `the turn of the approval request ${id} is not at work`);
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}
