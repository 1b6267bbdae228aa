import type { SessionId } from '../ids.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Hooks } from '../lifecycle/hooks.ts';
import { SessionActor } from './session-actor.ts';
import type { SessionParts } from './session-parts.ts';

/** The sessions at work in this process. A session is in it only while it has something to do. */
export interface SessionRegistry {
  /** The actor of a session, made if there is none. */
  actorFor(sessionId: SessionId, ledger: Ledger): SessionActor;
  find(sessionId: string): SessionActor | undefined;
  /** Hooks that observe a session now. */
  hooksOf(sessionId: string): readonly Hooks[];
  all(): readonly SessionActor[];
  /** What sessions of a ledger work with. */
  parts(ledger: Ledger): SessionParts;
}

export function createSessionRegistry(partsFor: (ledger: Ledger) => SessionParts): SessionRegistry {
  const actors = new Map<string, SessionActor>();
  return {
    actorFor(sessionId, ledger) {
      const known = actors.get(sessionId);
      if (known !== undefined) return known;
      const actor = new SessionActor(sessionId, partsFor(ledger), {
        retired(retired) {
          if (actors.get(sessionId) === retired) actors.delete(sessionId);
        },
        current: () => this.actorFor(sessionId, ledger),
      });
      actors.set(sessionId, actor);
      return actor;
    },
    find: (sessionId) => actors.get(sessionId),
    hooksOf: (sessionId) => actors.get(sessionId)?.hooks ?? [],
    all: () => [...actors.values()],
    parts: partsFor,
  };
}
