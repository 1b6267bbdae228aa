import type { RunEvent } from '../events/event-schemas.ts';
import { type Model, nodeOf, setState, timeOf } from './node-tree.ts';
import type { ActorNode, Tone } from './nodes.ts';
import { pauseWords } from './pause-words.ts';

const TURN_TONES: Readonly<Record<string, Tone>> = {
  completed: 'good',
  'handed-off': 'good',
  yielded: 'waiting',
  failed: 'bad',
  cancelled: 'stopped',
  interrupted: 'stopped',
};

/** What an event says of its turn, and so of the session of it. */
export function applyTurn(model: Model, event: RunEvent, id: string): void {
  const session = model.nodes.get(event.session);
  const index = Number(id.slice(id.lastIndexOf('.') + 1)) || 1;
  const isNew = !model.nodes.has(id);
  const turn = nodeOf(model, id, 'turn', { event, parent: event.session, name: `turn ${index}` });
  turn.facts.index = index;
  if (event.step === undefined && event.call === undefined) turn.events.push(event);
  if (isNew) setState(turn, 'running', 'busy');
  changeTurn(turn, event);
  noteTurn(turn, event);
  if (session === undefined || session.state === 'lost') return;
  session.state = turn.state;
  session.tone = turn.tone;
  session.reason = turn.reason;
  session.endedAt = turn.endedAt;
}

function changeTurn(turn: ActorNode, event: RunEvent): void {
  switch (event.type) {
    case 'turn.opened':
      if (event.data.input !== undefined) turn.facts.input = event.data.input.map(partOf);
      return;
    case 'turn.paused':
      pauseTurn(turn, event.data.reason);
      return;
    case 'turn.resumed':
      turn.reason = undefined;
      turn.endedAt = undefined;
      setState(turn, 'running', 'busy');
      return;
    case 'turn.closed': {
      const { status, error, message, reason } = event.data;
      turn.endedAt = timeOf(event);
      if (error !== undefined) turn.facts.failure = error.kind;
      turn.reason =
        error === undefined ? reason : [error.kind, message].filter((word) => word !== undefined).join(': ');
      setState(turn, status, TURN_TONES[status] ?? 'stopped');
      return;
    }
    case 'approval.requested':
      setState(turn, 'waiting', 'waiting');
      return;
    case 'approval.decided':
    case 'approval.expired':
      if (turn.state === 'waiting') setState(turn, 'running', 'busy');
      return;
    default:
      return;
  }
}

type PauseReason = Extract<RunEvent, { readonly type: 'turn.paused' }>['data']['reason'];

/** A turn whose children are at work on other workers sleeps, and nobody has anything to do about it. */
function pauseTurn(turn: ActorNode, reason: PauseReason): void {
  turn.reason = pauseWords(reason);
  if (reason === 'children') setState(turn, 'children at work', 'busy');
  else setState(turn, 'paused', 'waiting');
}

/** A part of an input, as far as it is shown. */
function partOf(part: { readonly type: string; readonly text?: string }) {
  return part.text === undefined ? { type: part.type } : { type: part.type, text: part.text };
}

/** What people look for when they ask why a turn went as it did. */
function noteTurn(turn: ActorNode, event: RunEvent): void {
  const words = noteOf(event);
  if (words === undefined) return;
  turn.facts.notes ??= [];
  turn.facts.notes.push(words);
}

function noteOf(event: RunEvent): string | undefined {
  switch (event.type) {
    case 'budget.exceeded':
      return `budget ${event.data.budget} used up: ${event.data.used} of ${event.data.limit}`;
    case 'compaction.committed':
      return `history folded from ${event.data.fromChars} to ${event.data.toChars} characters`;
    case 'compaction.skipped':
      return `history not folded: ${event.data.reason}`;
    case 'step.cache-broken':
      return 'the prompt cache of the provider was lost';
    case 'handoff.taken':
      return `handed over to ${event.data.to}`;
    case 'handoff.refused':
      return `handing over to ${event.data.to} refused: ${event.data.reason}`;
    case 'steering.accepted':
      return event.data.text === undefined ? 'steering accepted' : `steering: ${event.data.text}`;
    case 'steering.injected':
      return 'steering is in the request';
    case 'steering.undelivered':
      return `steering undelivered: ${event.data.reason}`;
    default:
      return undefined;
  }
}
