import { SwarmError } from '../errors.ts';
import type { IdSource } from '../ids.ts';
import type { NewRecord } from '../ledger/records.ts';
import { safeData, safeName } from '../tools/safe-text.ts';
import type { TurnScope } from '../turn/turn-scope.ts';
import { acceptSteering } from './active-run.ts';

/** A message from another agent or program to the session of an agent. */
export interface SessionMessage {
  /** Who says it: `[A-Za-z0-9_-]`, at most 64 characters. The model is told. */
  readonly from: string;
  readonly text: string;
}

const SENDER = /^[A-Za-z0-9_-]{1,64}$/;

/** @throws SwarmError 'invalid-input' */
export function checkMessage({ from, text }: SessionMessage): void {
  if (SENDER.test(from) && text !== '') return;
  throw new SwarmError(
    'invalid-input',
    'a message has a text, and a sender that matches [A-Za-z0-9_-]{1,64}',
  );
}

/**
 * Gives the turn under way a message: it stands in the next request, after the results of the calls that run now, with
 * the name of its sender. Resolves when it is durable. What is refused leaves a fact as well.
 * @throws SwarmError 'invalid-input', 'mailbox-full', 'turn-not-open' where the turn ends or a gate refuses it
 */
export async function messageTurn(
  turn: TurnScope,
  message: SessionMessage,
  options: { readonly ids: IdSource; readonly steeringQueue: number },
): Promise<void> {
  checkMessage(message);
  const { from, text } = message;
  if (turn.steering.load >= options.steeringQueue) {
    throw await refusal(turn, from, 'mailbox-full', `${options.steeringQueue} texts wait in ${turn.turnId}`);
  }
  const accepted = await acceptSteering(turn, shownMessage(message), { ...options, actor: from });
  if (accepted.type === 'refused') {
    const { outcome } = accepted;
    throw await refusal(turn, from, 'turn-not-open', outcome.delivered ? '' : outcome.reason);
  }
  await tell(turn, { type: 'message.received', data: { from, parts: [{ type: 'text', text }] } });
}

/** A message as the model sees it. */
export function shownMessage({ from, text }: SessionMessage): string {
  return `Message from ${safeName(from)}:\n${safeData(text)}`;
}

async function refusal(
  turn: TurnScope,
  from: string,
  code: 'mailbox-full' | 'turn-not-open',
  why: string,
): Promise<SwarmError> {
  await tell(turn, { type: 'message.refused', data: { from, reason: code } });
  return new SwarmError(code, `the message of ${from} was not taken: ${why}`);
}

/** For those who watch; the text itself is a fact of its own. */
async function tell(turn: TurnScope, fact: NewRecord): Promise<void> {
  // A turn that is over takes no fact any more, and a store that fails is told where the turn writes.
  await turn.session.log.commit([{ ...fact, turn: turn.turnId }]).catch(() => undefined);
}
