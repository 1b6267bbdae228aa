import type { SessionSummary } from '../ledger/ledger.ts';
import type { LedgerRecord } from '../ledger/records.ts';
import { checkMessage, type SessionMessage } from './message-turn.ts';
import type { RuntimeCore } from './runtime-core.ts';
import { stopReason } from './stop-reason.ts';
import { tellSession } from './tell-session.ts';

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
    steer: (sessionId, text) => tellSession(core, { session: sessionId, kind: 'steer', body: { text } }),
    async send(sessionId, message) {
      checkMessage(message);
      const { from, text } = message;
      await tellSession(core, { session: sessionId, kind: 'message', body: { from, text } });
    },
    cancel: (sessionId, reason) =>
      tellSession(core, {
        session: sessionId,
        kind: 'cancel',
        body: { reason: stopReason(reason ?? 'cancelled') },
      }),
    pause: (sessionId) => tellSession(core, { session: sessionId, kind: 'pause', body: {} }),
  };
}
