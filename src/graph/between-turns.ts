import type { OpenSession } from '../agent/session-parts.ts';
import { failureOf } from '../agent/thrown-failure.ts';
import type { Failure } from '../ledger/records.ts';
import { createStopSignal, type StopCause } from '../turn/stop-signal.ts';
import type { SwarmMode } from './define-swarm.ts';
import type { HeardNews } from './heard-news.ts';
import type { OperatorDriver } from './operator-driver.ts';
import type { SwarmOwner } from './swarm-job.ts';
import { openWorks } from './swarm-status.ts';

/** What comes after a turn of a supervisor, once it is known. */
export type Next =
  | { readonly type: 'wake' }
  | { readonly type: 'end' }
  /** Works wait for people or decisions, and nothing else runs. */
  | { readonly type: 'paused' }
  | { readonly type: 'stopped'; readonly cause: StopCause }
  /** The session leaves this process. */
  | { readonly type: 'left'; readonly failure: Failure };

/** A supervisor without a turn, and all that may give it one or end its run. */
export interface Waiting {
  readonly session: OpenSession;
  readonly run: SwarmOwner;
  readonly driver: OperatorDriver;
  readonly news: HeardNews;
  readonly mode: SwarmMode;
}

/** Waits until it is known what comes next. Stops from outside, which find no turn, reach the run here. */
export async function nextAfterTurn(waiting: Waiting): Promise<Next> {
  const stop = createStopSignal(
    () => undefined,
    () => undefined,
  );
  waiting.session.setGraph({ stop, runId: waiting.run.scope.runId });
  try {
    for (;;) {
      const stopped = stopOf(waiting, stop.cause);
      if (stopped !== undefined) return stopped;
      if (waiting.run.afterStep?.aborted === true) return END;
      const next = nextNow(waiting);
      if (next !== undefined) return next;
      const { afterStep = stop.signal } = waiting.run;
      await change(waiting, stop.signal, afterStep);
    }
  } finally {
    waiting.session.setGraph(undefined);
  }
}

/** Waits for what is under way, whatever it comes to; a stop ends it. */
export async function restSettled(waiting: Omit<Waiting, 'news' | 'mode'>): Promise<void> {
  const { driver } = waiting;
  while (!driver.isQuiet) {
    const stopped = stopOf(waiting, undefined);
    if (stopped === undefined) await change(waiting);
    else return driver.stopAll(stopped.type === 'stopped' ? stopped.cause : DETACHED);
  }
}

type Stopped = Extract<Next, { readonly type: 'stopped' | 'left' }>;

/** Why the run does not go on, if it does not. */
function stopOf(
  { session, run, driver }: Omit<Waiting, 'news' | 'mode'>,
  outside: StopCause | undefined,
): Stopped | undefined {
  const cause = run.stopCause ?? outside;
  if (cause?.type === 'detached' || session.leaving.aborted) return { type: 'left', failure: CLOSED };
  if (cause !== undefined) return { type: 'stopped', cause };
  const failure = whyLeft({ session, driver });
  return failure === undefined ? undefined : { type: 'left', failure };
}

/** Why nothing can be brought to its end in this process any more, if so it is. */
export function whyLeft({ session, driver }: Pick<Waiting, 'session' | 'driver'>): Failure | undefined {
  if (session.leaving.aborted) return CLOSED;
  if (session.log.lost.aborted) return LOST;
  return driver.broken === undefined ? undefined : failureOf(driver.broken);
}

/** What comes next by what is known now, if anything does. */
function nextNow({ driver, news, mode }: Waiting): Next | undefined {
  const { schedule } = driver;
  // A finished graph wakes nobody; it ends when its last work has.
  if (schedule.finish !== undefined) {
    if (openWorks(schedule) === 0) return END;
    return driver.isQuiet && driver.left.size > 0 ? { type: 'paused' } : undefined;
  }
  if (news.isWakeDue(mode, driver)) return { type: 'wake' };
  if (openWorks(schedule) === 0) return END;
  if (!driver.isQuiet) return undefined;
  if (driver.left.size > 0) return { type: 'paused' };
  // What is open cannot go on: it is for the supervisor to say what becomes of it.
  return news.hasYielded ? { type: 'wake' } : END;
}

/** Resolves at the next thing that may matter; leaves no listener. */
async function change(
  { session, run, driver }: Omit<Waiting, 'news' | 'mode'>,
  ...others: readonly AbortSignal[]
): Promise<void> {
  const ended = new AbortController();
  const signal = AbortSignal.any([run.stopped, session.leaving, session.log.lost, ...others]);
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true, signal: ended.signal });
  });
  await Promise.race([driver.changed, aborted]);
  ended.abort();
}

const END: Next = { type: 'end' };

const CLOSED: Failure = {
  kind: 'runtime-closed',
  message: 'the runtime was closed; the run is open in the ledger and can be resumed',
};

const LOST: Failure = { kind: 'session-lost', message: 'the session has another owner, or its store failed' };

const DETACHED: StopCause = { type: 'detached', reason: CLOSED.message, code: 'runtime-closed' };
