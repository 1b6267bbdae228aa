import { createHash } from 'node:crypto';
import { failureOf } from '../agent/thrown-failure.ts';
import type { NewRecord } from '../ledger/records.ts';
import type { LiveSchedule } from './live-schedule.ts';
import { operatorPrompt } from './operator-prompt.ts';
import { type OperatorParts, passChildGate } from './run-operator.ts';
import { handedResult, unenteredFact } from './work-result.ts';
import { takenInputs, type WorkState } from './work-state.ts';

/** A work that was claimed. */
export interface ClaimedWork {
  readonly work: WorkState;
  /** Aborts when it is not wanted any more. */
  readonly signal: AbortSignal;
  /** The session only leaves this process: what was not entered stays claimed. */
  leaves(): boolean;
}

type Why = { readonly kind: string; readonly message: string };

/**
 * The second gate of a work: a stop that came first wins. Gives what its operator is told, once the entry is a fact;
 * `undefined` where nothing is to run, with the outcome written. A work that an earlier process entered is not entered
 * twice, and one whose turn is open is told nothing: its session holds what it was told.
 * @throws SwarmError when a fact could not be made durable
 */
export async function enterWork(
  parts: OperatorParts,
  live: LiveSchedule,
  claimed: ClaimedWork,
): Promise<string | undefined> {
  const { work, signal } = claimed;
  const isEntered = work.lastAttempt > 0;
  if (isEntered && (await isOpened(parts, live, work))) return '';
  const refuse = async (status: 'failed' | 'cancelled', error: Why) => {
    await live.write([unenteredFact(work, status, error)]);
    return undefined;
  };
  const rendered = await render(parts, work);
  if (rendered.type === 'failed') return refuse('failed', rendered.error);
  const gate = await passChildGate(parts, work, rendered.prompt, signal);
  if (signal.aborted || work.stopped !== undefined) {
    if (claimed.leaves()) return undefined;
    const message = work.stopped?.reason ?? 'everything was stopped';
    return refuse('cancelled', { kind: 'cancelled', message });
  }
  if (gate.type === 'refused') return refuse('failed', { kind: 'gate-refused', message: gate.reason });
  if (!isEntered) await live.write([enteredFact(work, live.schedule.session)]);
  return gate.prompt;
}

async function isOpened({ session }: OperatorParts, live: LiveSchedule, work: WorkState): Promise<boolean> {
  const child = work.operator.session;
  const entry = live.entryOf(work);
  const records = child === undefined ? [] : await session.parts.ledger.read(child);
  return records.some(({ type, cause }) => type === 'turn.opened' && cause === entry);
}

/** A result that is not there fails the work that was to be given it: it never runs on less. */
async function render(
  { session, supervisor }: OperatorParts,
  work: WorkState,
): Promise<
  { readonly type: 'rendered'; readonly prompt: string } | { readonly type: 'failed'; readonly error: Why }
> {
  const { ledger } = session.parts;
  try {
    const results = await Promise.all(takenInputs(work).map((input) => handedResult(input, { ledger })));
    const prompt = operatorPrompt(work.spec.instruction ?? '', results, supervisor.limits.swarm);
    return { type: 'rendered', prompt };
  } catch (error) {
    return { type: 'failed', error: failureOf(error) };
  }
}

function enteredFact({ work, operator }: WorkState, session: string): NewRecord {
  const { session: child, spec } = operator;
  const digest = createHash('sha256').update(`${session}\n${work}`).digest('hex');
  const data = { work, node: spec.operator, attempt: 1, operationId: `op-${digest.slice(0, 32)}` };
  return { type: 'node.started', data: child === undefined ? data : { ...data, child } };
}
