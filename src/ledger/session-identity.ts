import { SwarmError } from '../errors.ts';
import { isSessionId } from '../ids.ts';
import type { SessionIdentity } from './records.ts';

const MAX_AGENT_CHARS = 256;

/**
 * The identity without anything else the object may hold.
 * @throws SwarmError 'invalid-record' for an id that is not one, or an agent without a name
 */
export function checkIdentity(identity: SessionIdentity): SessionIdentity {
  const { session, root, parent, agent } = identity;
  for (const id of parent === undefined ? [session, root] : [session, root, parent]) {
    if (!isSessionId(id)) throw new SwarmError('invalid-record', `not a session id: ${JSON.stringify(id)}`);
  }
  if (agent.length === 0 || agent.length > MAX_AGENT_CHARS) {
    throw new SwarmError(
      'invalid-record',
      `the agent of ${session} needs a name of at most ${MAX_AGENT_CHARS}`,
    );
  }
  return { session, root, ...(parent === undefined ? {} : { parent }), agent };
}

export function unknownSession(session: string): SwarmError {
  return new SwarmError('unknown-session', `no session ${JSON.stringify(session)} is in the ledger`);
}
