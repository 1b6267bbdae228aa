import type { NewRecord } from '../ledger/records.ts';
import { standingOf } from '../ledger/run-standing.ts';
import { createUsageMeter } from '../turn/usage-meter.ts';
import { resultOf } from './run-result.ts';
import type { RuntimeCore } from './runtime-core.ts';
import { withSession } from './session-task.ts';
import { settledFact } from './settled-run.ts';
import { cancelledOutcome } from './turn-outcome.ts';

/** A run that waits in a pool. */
export interface WaitingRun {
  readonly run: string;
  readonly session: string;
  /** Name of its definition. */
  readonly target: string;
  /** What it yields would be in no turn of an agent. */
  readonly isGraph: boolean;
}

/**
 * Tells in the ledger that a run is cancelled which no worker has begun, so that none begins it: also where no worker
 * ever comes. False where one has begun it, or something else of the session is open, which its worker is to be told.
 * @throws SwarmError 'session-owned-elsewhere' where a worker is about to begin it, and those of the ledger
 */
export async function withdrawRun(core: RuntimeCore, waiting: WaitingRun, reason: string): Promise<boolean> {
  const { run, session, target, isGraph } = waiting;
  const ledger = await core.ledger;
  const pool = core.pool === undefined ? {} : { pool: core.pool.name };
  const cancelled = resultOf(cancelledOutcome(reason), createUsageMeter());
  const fact: NewRecord = await settledFact(cancelled, { run, ...pool, isGraph }, ledger);
  const [first] = await ledger.read(session);
  // A child goes on with its parent, and is not given to a pool by itself.
  if (first?.parent !== undefined) return false;
  const identity = { session, root: session, agent: first?.agent ?? target };
  return withSession(core, identity, {
    async between({ log }) {
      const { type } = standingOf(await ledger.read(session), run, 0);
      if (type === 'new') await log.commit([fact]);
      return type === 'new' || type === 'settled';
    },
  });
}
