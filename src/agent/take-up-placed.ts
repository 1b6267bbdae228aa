import { isSwarmError } from '../errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { abandonTree } from './abandon-tree.ts';
import { placedParent, placedTask, runPlaced, UNWANTED } from './placed-work.ts';
import { placedSession } from './pool-desk.ts';
import { agentsByName } from './reachable-agents.ts';
import { type Recorded, RecordedRun } from './recorded-job.ts';
import type { RuntimeCore } from './runtime-core.ts';
import type { QueuedWake } from './work-pool.ts';

/**
 * Runs or takes up a child that was asked for on another worker, tells in its session what became of it, and has its
 * parent learn of it. One whose parent has ended, or has its result already, is never begun, and given up if it is open.
 * @throws SwarmError of the ledger and the pool
 */
export async function takeUpPlaced(core: RuntimeCore, wake: QueuedWake, parent: string): Promise<Recorded> {
  const { session, by, decisions = {}, stop } = wake;
  const ledger = await core.ledger;
  const parts = core.registry.parts(ledger);
  const task = await placedTask(ledger, session, parent);
  if (task === undefined) return giveUpUnwanted(core, session);
  const { agent: name } = task.intended.data;
  const ticket = { run: task.run, by, session, name, parent: { session: parent, root: task.root } };
  const recorded = new RecordedRun({ ...ticket, agent: agentsByName(core.agents).get(name) });
  const isWanted = async () => (await placedTask(ledger, session, parent)) !== undefined;
  const result = await runPlaced(core, parts, task, { unit: recorded.unit, decisions, stop, isWanted });
  await recorded.ended(result, parts);
  const end = await recorded.recorded;
  if (end.type === 'told') await tellParent(core, ledger, { session, parent });
  return end;
}

/** What its worker left open of a child when it died, after its parent had given it up. */
async function giveUpUnwanted(core: RuntimeCore, session: string): Promise<Recorded> {
  const summary = await (await core.ledger).summary(session);
  if (summary?.openTurn !== undefined) await abandonTree(core, session, UNWANTED);
  return { type: 'none' };
}

/**
 * Has the parent of a child learn of what became of it, also where that was done before. Nothing for other sessions.
 * @throws SwarmError of the ledger and the pool
 */
export async function passOn(core: RuntimeCore, session: string): Promise<void> {
  const ledger = await core.ledger;
  const parent = await placedParent(ledger, await ledger.read(session));
  if (parent === undefined || (await placedTask(ledger, session, parent)) === undefined) return;
  await tellParent(core, ledger, { session, parent });
}

/** Where the pool takes nothing now, the parent is woken by whoever looks for what sleeps and has something to do. */
async function tellParent(
  core: RuntimeCore,
  ledger: Ledger,
  { session, parent }: { readonly session: string; readonly parent: string },
): Promise<void> {
  const place = await placedSession(ledger, parent);
  const head = await ledger.head(session);
  const wake = { session: place, child: session, cause: `child ${session} ${head?.seq ?? 0}` };
  await core.pool?.wake(wake).catch((error: unknown) => {
    if (!isSwarmError(error)) throw error;
  });
}
