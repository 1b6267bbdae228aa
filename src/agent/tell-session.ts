import { sleep } from '../clock.ts';
import { isSwarmError, SwarmError } from '../errors.ts';
import type { JsonObject } from '../ledger/content.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { NewRecord, RecordOf } from '../ledger/records.ts';
import { namesOfRun, toldOfSession } from '../ledger/run-standing.ts';
import { postToOwner } from './approvals.ts';
import { shownMessage } from './message-turn.ts';
import { type PoolDesk, placedSession, wakeWorkers } from './pool-desk.ts';
import type { RuntimeCore } from './runtime-core.ts';
import { actOnGraph, actOnTurn } from './session-inbox.ts';
import type { OpenSession } from './session-parts.ts';
import { identityOf, withSession } from './session-task.ts';

/** Something for the turn under way of a session. */
export interface SessionWord {
  readonly session: string;
  readonly kind: 'steer' | 'cancel' | 'message' | 'pause' | 'stop-after-step';
  /** What it says; with `run`, the id of the run that it is for, where it is not for whichever is at work. */
  readonly body: JsonObject;
}

/**
 * Tells the turn under way of a session something, in this process or in the one that owns it. On a pool, a turn that
 * nobody has is told by its facts, and taken up by a worker.
 * @throws SwarmError 'unknown-session', 'turn-not-open', 'not-pausable', 'mailbox-full', 'ledger-unavailable'
 */
export async function tellSession(core: RuntimeCore, word: SessionWord): Promise<void> {
  const until = core.clock.monotonicMs() + PATIENCE_MS[word.kind];
  for (let pauseMs = RETRY_MS; ; pauseMs = Math.min(MAX_RETRY_MS, pauseMs * 2)) {
    try {
      return await tellOnce(core, word);
    } catch (error) {
      if (!isSwarmError(error, 'turn-not-open') || core.clock.monotonicMs() >= until) throw error;
      // On a pool, a turn that pauses or changes hands meanwhile is reached once it has; one that is over never is.
      if (core.pool === undefined || !(await isOpen(core, word.session))) throw error;
      await sleep(core.clock, pauseMs, NEVER);
    }
  }
}

/**
 * A turn that pauses is settled in several appends, which takes long on a machine that has much to do. Then it takes a
 * text or an end, and no word that only a turn at work hears.
 */
const PATIENCE_MS: Readonly<Record<SessionWord['kind'], number>> = {
  steer: 5_000,
  message: 5_000,
  cancel: 5_000,
  pause: 200,
  'stop-after-step': 200,
};
const RETRY_MS = 50;
const MAX_RETRY_MS = 500;
const NEVER = new AbortController().signal;

async function isOpen(core: RuntimeCore, session: string): Promise<boolean> {
  const summary = await (await core.ledger).summary(session);
  return summary?.openTurn !== undefined;
}

async function tellOnce(core: RuntimeCore, word: SessionWord): Promise<void> {
  const { session } = word;
  const actor = core.registry.find(session);
  if (actor?.graph !== undefined) {
    await actOnGraph(await core.ledger, word, actor.graph);
    return;
  }
  const turn = actor?.turn;
  if (turn !== undefined) {
    const { steeringQueue } = core.limits;
    await actOnTurn({ id: core.ids.next('inbox'), ...word }, turn, { ids: core.ids, steeringQueue });
    return;
  }
  const ledger = await core.ledger;
  await identityOf(ledger, session);
  const summary = await ledger.summary(session);
  if (summary?.owned === true) return void (await postToOwner(core, ledger, word));
  if (summary?.openTurn === undefined) throw notAtWork(session);
  if (core.pool === undefined) throw await leftBy(ledger, session);
  await tellParked(core, { ledger, pool: core.pool }, word);
}

function notAtWork(session: string): SwarmError {
  return new SwarmError('turn-not-open', `no turn of the session ${session} is at work`);
}

/** Nobody has an open turn: who goes on with it, as the ledger has it. */
async function leftBy(ledger: Ledger, session: string): Promise<SwarmError> {
  const pool = toldOfSession(await ledger.read(await placedSession(ledger, session)))?.data.pool;
  if (pool === undefined) return notAtWork(session);
  const why = `the turn of ${session} sleeps, and workers of the pool ${pool} go on with it`;
  return new SwarmError(
    'turn-not-open',
    `${why}: give this runtime a pool on their server, and they are told`,
  );
}

/** A turn that is open, and that no process has. */
async function tellParked(
  core: RuntimeCore,
  { ledger, pool }: { readonly ledger: Ledger; readonly pool: PoolDesk },
  word: SessionWord,
): Promise<void> {
  const { session, kind, body } = word;
  const place = await placedSession(ledger, session);
  const opened = await sleepingTurn(ledger, place, word);
  if (kind === 'cancel') {
    const stop = { run: opened.data.run, target: opened.agent, reason: String(body['reason']) };
    await wakeWorkers(pool, ledger, { session: place, cause: `stop ${stop.run}`, stop });
    return;
  }
  if (kind !== 'steer' && kind !== 'message') throw notAtWork(session);
  const id = typeof body['id'] === 'string' ? body['id'] : core.ids.next('steering');
  await withSession<void>(core, await identityOf(ledger, session), {
    between: (open) => acceptText(open, word, { id, maxWaiting: core.limits.steeringQueue }),
    // Somebody here took it up meanwhile.
    inside: async (turn) => {
      const { steeringQueue } = core.limits;
      await actOnTurn({ id, ...word }, turn, { ids: core.ids, steeringQueue });
    },
  });
  // Who asked for a pause resumes the run, and the text waits for that.
  if (!(await isPausedOnRequest(ledger, place))) {
    await wakeWorkers(pool, ledger, { session: place, cause: `steering ${id}` });
  }
}

/** How the last turn of a session began, if a word is for its run. @throws SwarmError 'turn-not-open' */
async function sleepingTurn(
  ledger: Ledger,
  place: string,
  { session, body }: SessionWord,
): Promise<RecordOf<'turn.opened'>> {
  const records = await ledger.read(place);
  const opened = records.findLast((record) => record.type === 'turn.opened');
  if (opened?.type !== 'turn.opened') throw notAtWork(session);
  const { turn, data } = opened;
  const { run = data.run } = body;
  if (!namesOfRun(records, { run: data.run, turn }).has(String(run))) throw notAtWork(session);
  return opened;
}

async function isPausedOnRequest(ledger: Ledger, session: string): Promise<boolean> {
  return toldOfSession(await ledger.read(session))?.data.pause === 'requested';
}

/** The text as a fact: whoever takes the turn up puts it into its next request. */
async function acceptText(
  { facts, log }: OpenSession,
  { session, kind, body }: SessionWord,
  { id, maxWaiting }: { readonly id: string; readonly maxWaiting: number },
): Promise<void> {
  const turn = facts.openTurn;
  if (turn === undefined || facts.opened?.data.kind === 'graph') throw notAtWork(session);
  // The same word once more.
  if (turn.steering.some(({ data }) => data.id === id)) return;
  if (turn.steering.length >= maxWaiting) {
    throw new SwarmError('mailbox-full', `${maxWaiting} texts wait in ${turn.turnId}`);
  }
  const from = String(body['from'] ?? 'inbox');
  const given = String(body['text']);
  const text = kind === 'message' ? shownMessage({ from, text: given }) : given;
  const accepted: NewRecord = {
    type: 'steering.accepted',
    turn: turn.turnId,
    data: { id, text, actor: typeof body['actor'] === 'string' ? body['actor'] : from },
  };
  const parts = [{ type: 'text' as const, text: given }];
  const received: NewRecord = { type: 'message.received', turn: turn.turnId, data: { from, parts } };
  await log.commit(kind === 'message' ? [accepted, received] : [accepted]);
}
