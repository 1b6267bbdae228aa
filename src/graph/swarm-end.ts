import { closedOutcome } from '../agent/closed-outcome.ts';
import type { AnyAgent } from '../agent/define-agent.ts';
import { leftInTree } from '../agent/run-turn-job.ts';
import {
  cancelledOutcome,
  type LastOutcome,
  refusedOutcome,
  type TurnOutcome,
} from '../agent/turn-outcome.ts';
import type { Failure, PauseReason } from '../ledger/records.ts';
import type { TurnFacts } from '../ledger/turn-facts.ts';
import type { StopCause } from '../turn/stop-signal.ts';
import { type Next, restSettled, type Waiting, whyLeft } from './between-turns.ts';
import { isTooLong } from './heard-news.ts';
import type { OperatorDriver } from './operator-driver.ts';
import { partialResult } from './supervisor-wake.ts';
import { openWorks } from './swarm-status.ts';

type Ending = Omit<Waiting, 'news' | 'mode'>;

/** Steps and calls of the turns were counted as they ended. */
const NOTHING = { steps: 0, toolCalls: 0 };

/** The outcome of a run that ends between two turns: that of the last of them where it went well. */
export async function outcomeAfter(
  ending: Ending,
  next: Exclude<Next, { readonly type: 'wake' }>,
  last: TurnOutcome,
): Promise<LastOutcome> {
  const { text } = last;
  switch (next.type) {
    case 'end':
      if (last.type !== 'completed') return refusedOutcome(NO_ANSWER);
      return last.stopReason === 'graph-yield' ? { ...last, stopReason: 'after-step-stop' } : last;
    case 'paused':
      return pausedOutcome(ending, text);
    case 'left':
      return { type: 'left', failure: next.failure, ...NOTHING, text };
    case 'stopped': {
      const { cause } = next;
      const outcome =
        cause.type === 'failed' ? refusedOutcome(cause.failure) : cancelledOutcome(cause.reason);
      return { ...outcome, text };
    }
  }
}

const NO_ANSWER: Failure = { kind: 'machine-fault', message: 'the supervisor ended without an answer' };

/**
 * Ends a run: everything it began settles first, or is left to whoever takes it up.
 * @throws SwarmError when a fact could not be made durable
 */
export async function endRun(ending: Ending, outcome: LastOutcome): Promise<LastOutcome> {
  const { driver } = ending;
  switch (outcome.type) {
    case 'completed':
      // Only a run that is to begin nothing more ends with works under way.
      if (!driver.isQuiet) await driver.stopAll({ type: 'cancelled', reason: 'the run was to end' });
      driver.close(await finishGraph(driver));
      break;
    case 'paused':
      await restSettled(ending);
      driver.close('left');
      return pausedOutcome(ending, outcome.text, outcome.reason);
    case 'left':
      await driver.stopAll({ type: 'detached', reason: outcome.failure.message, code: 'runtime-closed' });
      driver.close('left');
      break;
    case 'failed':
    case 'cancelled':
      return stopRun(ending, outcome);
  }
  return { ...outcome, ...NOTHING };
}

type Stopped = Extract<LastOutcome, { readonly type: 'failed' | 'cancelled' }>;

/** A run is not over before its works are: what leaves this process with some of them open is taken up once more. */
async function stopRun(ending: Ending, outcome: Stopped): Promise<LastOutcome> {
  const { driver } = ending;
  await driver.stopAll(causeOf(outcome));
  const failure = driver.hasUnsettled ? whyLeft(ending) : undefined;
  if (failure !== undefined) {
    driver.close('left');
    return { type: 'left', failure, ...NOTHING, text: outcome.text };
  }
  driver.close(outcome.type === 'failed' ? 'failed' : 'stopped');
  if (outcome.type === 'cancelled') return { ...outcome, ...NOTHING };
  return { ...outcome, failure: withPartial(driver, outcome.failure), ...NOTHING };
}

/** Why works end with a run that ends so. */
export function causeOf(outcome: Stopped): StopCause {
  return outcome.type === 'failed'
    ? { type: 'failed', failure: outcome.failure }
    : { type: 'cancelled', reason: outcome.reason };
}

/**
 * How a run had ended whose works were being stopped when its process went; undefined for one that left none open.
 * @throws SwarmError of the ledger
 */
export async function cutOffEnd(
  { driver, session }: Pick<Ending, 'driver' | 'session'>,
  last: TurnFacts | undefined,
  supervisor: AnyAgent,
): Promise<Stopped | undefined> {
  if (last?.closed === undefined || !driver.hasUnsettled) return undefined;
  const outcome = await closedOutcome(last, last.closed, supervisor, session.parts.ledger);
  if (outcome.type === 'failed' || outcome.type === 'cancelled') return outcome;
  const { steps, toolCalls, text } = outcome;
  return { type: 'cancelled', reason: 'the run was to end', steps, toolCalls, text };
}

async function pausedOutcome(
  { session }: Ending,
  text: string,
  asked: PauseReason = 'approval',
): Promise<Extract<LastOutcome, { readonly type: 'paused' }>> {
  const open = await leftInTree(session.parts.ledger, session.log.identity.session);
  const found = open.calls.length > 0 ? 'indeterminate' : 'approval';
  const reason = asked === 'requested' ? asked : found;
  return { type: 'paused', reason, ...open, ...NOTHING, text };
}

/** A supervisor that cannot be told any more leaves what there is. */
function withPartial(driver: OperatorDriver, failure: Failure): Failure {
  if (!isTooLong(failure) || driver.schedule.works.size === 0) return failure;
  return { ...failure, detail: partialResult(driver) };
}

/** A graph that was finished is over once its works have settled: the next run of the session begins another. */
async function finishGraph(driver: OperatorDriver): Promise<'finished' | 'left'> {
  if (driver.schedule.finish === undefined || openWorks(driver.schedule) > 0) return 'left';
  await driver.live.write([{ type: 'graph.finished', data: { status: 'completed' } }]);
  return 'finished';
}
