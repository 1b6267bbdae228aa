import { describeErrorCode, SwarmError, type SwarmErrorCode } from '../errors.ts';
import type { SessionId } from '../ids.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Failure, SessionIdentity } from '../ledger/records.ts';
import type { TurnScope } from '../turn/turn-scope.ts';
import type { OpenSession } from './session-parts.ts';
import type { SessionRegistry } from './session-registry.ts';

/** Who a stored session is. @throws SwarmError 'unknown-session' */
export async function identityOf(ledger: Ledger, sessionId: string): Promise<SessionIdentity> {
  const [first] = await ledger.read(sessionId);
  if (first === undefined)
    throw new SwarmError('unknown-session', `no session ${sessionId} is in the ledger`);
  const { session, root, parent, agent } = first;
  return { session, root, agent, ...(parent === undefined ? {} : { parent }) };
}

/** Something to do to a session. */
export interface SessionTask<T> {
  /** As the owner of the session, between its turns. */
  between(session: OpenSession): Promise<T>;
  /** Does it in a turn that is under way instead; `undefined` leaves it to wait for the end of the turn. */
  inside?(turn: TurnScope): Promise<T> | undefined;
}

/**
 * Does something to a session in its turn, as its owner: after what is in its mailbox.
 * @throws SwarmError 'session-owned-elsewhere', 'mailbox-full' and whatever the task throws
 */
export async function withSession<T>(
  owner: { readonly registry: SessionRegistry; readonly ledger: Promise<Ledger> },
  identity: SessionIdentity,
  task: SessionTask<T>,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  // The id stands in the ledger, so it was one when the session was opened.
  const accepted = owner.registry.actorFor(identity.session as SessionId, await owner.ledger).submit({
    identity,
    hooks: [],
    wakes: 'nothing',
    async run(session) {
      // Whoever is told may take the session at once, from any process.
      await task.between(session).then((value) => session.whenFree(() => resolve(value)), reject);
    },
    handOver(turn) {
      const done = task.inside?.(turn);
      done?.then(resolve, reject);
      return done !== undefined;
    },
    refuse: (failure) => reject(errorOf(failure)),
  });
  if (accepted === 'mailbox-full') {
    throw new SwarmError('mailbox-full', `the mailbox of ${identity.session} is full`);
  }
  return promise;
}

function errorOf(failure: Failure): SwarmError {
  // Kinds of refused jobs are codes of the errors they were made of.
  const code = failure.kind as SwarmErrorCode;
  const isCode = describeErrorCode(code) !== undefined;
  return new SwarmError(isCode ? code : 'ledger-unavailable', failure.message);
}
