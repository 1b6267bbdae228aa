import { isSwarmError } from '../errors.ts';
import { abandonTurn } from './abandon-turn.ts';
import type { RuntimeCore } from './runtime-core.ts';
import { identityOf, withSession } from './session-task.ts';
import { withinTree } from './session-tree.ts';
import { stopReason } from './stop-reason.ts';

/**
 * Closes the open turn of a session, and those below it, as interrupted.
 * @throws SwarmError 'unknown-session', 'nothing-to-resume', 'session-owned-elsewhere'
 */
export async function abandonTree(core: RuntimeCore, sessionId: string, reason: string): Promise<void> {
  const open = await (await core.ledger).listOpen();
  const below = withinTree(open, sessionId).filter((one) => one.sessionId !== sessionId);
  const isOpen = open.some((one) => one.sessionId === sessionId);
  if (isOpen || below.length === 0) await abandonSession(core, sessionId, reason);
  // A turn at work stops those below it itself; what an ended process left of them is given up one by one.
  for (const { sessionId: child } of below) {
    await abandonSession(core, child, reason).catch((error: unknown) => {
      if (!isSwarmError(error, 'nothing-to-resume')) throw error;
    });
  }
}

async function abandonSession(core: RuntimeCore, sessionId: string, reason: string): Promise<void> {
  const identity = await identityOf(await core.ledger, sessionId);
  const actor = core.registry.find(sessionId);
  if (actor?.graph !== undefined) {
    actor.graph.stop.stop({ type: 'interrupted', reason });
    await actor.settled();
    return;
  }
  await withSession<void>(core, identity, {
    between: (session) => abandonTurn(session, stopReason(reason)),
    async inside(turn) {
      turn.stop.stop({ type: 'interrupted', reason });
      await core.registry.find(sessionId)?.settled();
    },
  });
}
