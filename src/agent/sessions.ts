import { SwarmError } from '../errors.ts';
import type { JsonObject } from '../ledger/content.ts';
import type { SessionSummary } from '../ledger/ledger.ts';
import type { LedgerRecord } from '../ledger/records.ts';
import { postToOwner } from './approvals.ts';
import { checkMessage, type SessionMessage } from './message-turn.ts';
import type { RuntimeCore } from './runtime-core.ts';
import { actOnGraph, actOnTurn } from './session-inbox.ts';
import { identityOf } from './session-task.ts';

/** Stored sessions, and messages to those at work in any process on the ledger. */
export interface Sessions {
  list(filter?: { readonly root?: string }): Promise<readonly SessionSummary[]>;
  /** All facts of a session, JSON-safe. Empty for an unknown one. */
  read(sessionId: string): Promise<readonly LedgerRecord[]>;
  /** Gives the turn under way a text. @throws SwarmError 'unknown-session', 'turn-not-open', 'ledger-unavailable' */
  steer(sessionId: string, text: string): Promise<void>;
  /**
   * Gives the turn under way of a session, a child's too, a message from another agent or program; its model is told
   * who says it. Resolves when it is durable.
   * @throws SwarmError 'invalid-input', 'mailbox-full', 'unknown-session', 'turn-not-open', 'ledger-unavailable'
   */
  send(sessionId: string, message: SessionMessage): Promise<void>;
  /** Stops the turn under way. @throws SwarmError 'unknown-session', 'turn-not-open', 'ledger-unavailable' */
  cancel(sessionId: string, reason?: string): Promise<void>;
  /**
   * Asks the turn under way of a root session to pause after its step, as `run.pause` does. Resolves once the turn is
   * told; the fact `turn.paused` follows when the step and its calls are done.
   * @throws SwarmError 'not-pausable' for a graph and for a session below another, 'unknown-session', 'turn-not-open',
   * 'ledger-unavailable'
   */
  pause(sessionId: string): Promise<void>;
}

/** The sessions of a runtime. */
export function createSessions(core: RuntimeCore): Sessions {
  return {
    async list(filter) {
      return (await core.ledger).sessions(filter?.root);
    },
    async read(sessionId) {
      return (await core.ledger).read(sessionId);
    },
    steer: (sessionId, text) => tellTurn(core, sessionId, 'steer', { text }),
    async send(sessionId, message) {
      checkMessage(message);
      await tellTurn(core, sessionId, 'message', { from: message.from, text: message.text });
    },
    cancel: (sessionId, reason) => tellTurn(core, sessionId, 'cancel', { reason: reason ?? 'cancelled' }),
    pause: (sessionId) => tellTurn(core, sessionId, 'pause', {}),
  };
}

/** Tells the turn under way of a session something, in this process or in the one that owns it. */
async function tellTurn(
  core: RuntimeCore,
  session: string,
  kind: 'steer' | 'cancel' | 'message' | 'pause',
  body: JsonObject,
): Promise<void> {
  const actor = core.registry.find(session);
  if (actor?.graph !== undefined) {
    actOnGraph({ kind, body }, actor.graph);
    return;
  }
  const turn = actor?.turn;
  if (turn !== undefined) {
    await actOnTurn({ id: core.ids.next('inbox'), session, kind, body }, turn, {
      ids: core.ids,
      steeringQueue: core.limits.steeringQueue,
    });
    return;
  }
  const ledger = await core.ledger;
  await identityOf(ledger, session);
  const summary = (await ledger.sessions()).find((one) => one.sessionId === session);
  if (summary?.owned !== true) {
    throw new SwarmError('turn-not-open', `no turn of the session ${session} is at work`);
  }
  await postToOwner(core, ledger, { session, kind, body });
}
