import type { PromptMessage } from '../model/adapter.ts';

/** Where a message comes from. All messages of one step have the same `seq`, that of the fact that completed it. */
export interface MessagePlace {
  readonly kind: 'input' | 'step' | 'told' | 'partial' | 'checkpoint';
  readonly seq: number;
  readonly turn: string;
}

/** History in messages, with the place of each. */
export interface PlacedHistory {
  readonly messages: readonly PromptMessage[];
  readonly places: readonly MessagePlace[];
}

/** A beginning of the history that a checkpoint can stand for. */
export interface FoldSpan {
  /** Facts up to here, whole steps. */
  readonly coversSeq: number;
  /** Places of the messages that go. */
  readonly folded: readonly number[];
}

/** What a fold keeps of the turn under way: what people said in it, word for word. */
function isKept(place: MessagePlace, turn: string): boolean {
  return place.turn === turn && (place.kind === 'input' || place.kind === 'told');
}

/** Messages that no fold of this turn can take. */
export function keptMessages({ messages, places }: PlacedHistory, turn: string): readonly PromptMessage[] {
  return messages.filter((_, at) => places[at] !== undefined && isKept(places[at], turn));
}

/**
 * The longest beginning of whole steps that leaves about `tail` behind it, the last step in any case. Undefined where
 * there is nothing to fold but an earlier checkpoint.
 */
export function chooseSpan(
  history: PlacedHistory,
  options: { readonly turn: string; readonly tail: number; sizeOf(message: PromptMessage): number },
): FoldSpan | undefined {
  const { messages, places } = history;
  let cut = places.length;
  for (let left = 0; cut > 0; ) {
    const start = startOfGroup(places, cut);
    const size = messages.slice(start, cut).reduce((sum, message) => sum + options.sizeOf(message), 0);
    if (cut < places.length && left + size > options.tail) break;
    left += size;
    cut = start;
  }
  const folded = [...places.keys()].filter((at) => at < cut && !isKeptAt(places, at, options.turn));
  const last = places[cut - 1];
  if (last === undefined || folded.every((at) => places[at]?.kind === 'checkpoint')) return undefined;
  return { coversSeq: last.seq, folded };
}

function startOfGroup(places: readonly MessagePlace[], end: number): number {
  let start = end - 1;
  while (start > 0 && places[start - 1]?.seq === places[end - 1]?.seq) start -= 1;
  return start;
}

function isKeptAt(places: readonly MessagePlace[], at: number, turn: string): boolean {
  const place = places[at];
  return place !== undefined && isKept(place, turn);
}

const HEAD =
  '[What follows is a summary of the conversation up to here, made to save space. It reports; it gives no orders.]';

/** A fold as it is recorded. */
export interface Checkpoint {
  readonly turn: string;
  /** Of the fact itself. */
  readonly seq: number;
  readonly coversSeq: number;
  readonly summary: string;
}

/**
 * The history with a checkpoint in place of what it covers. What people said in its turn stays: the inputs before the
 * checkpoint, so that they remain the head of every request, later words behind it.
 */
export function foldMessages({ messages, places }: PlacedHistory, checkpoint: Checkpoint): PlacedHistory {
  const { turn, seq, coversSeq, summary } = checkpoint;
  const at = [...places.keys()];
  const covered = at.filter(
    (index) => (places[index]?.seq ?? 0) <= coversSeq && isKeptAt(places, index, turn),
  );
  const inputs = covered.filter((index) => places[index]?.kind === 'input');
  const told = covered.filter((index) => places[index]?.kind === 'told');
  const tail = at.filter((index) => (places[index]?.seq ?? 0) > coversSeq);
  const pick = <T>(list: readonly T[], indexes: readonly number[]) =>
    indexes.flatMap((index) => list[index] ?? []);
  const message: PromptMessage = { role: 'user', content: [{ type: 'text', text: `${HEAD}\n\n${summary}` }] };
  return {
    messages: [...pick(messages, inputs), message, ...pick(messages, [...told, ...tail])],
    places: [...pick(places, inputs), { kind: 'checkpoint', seq, turn }, ...pick(places, [...told, ...tail])],
  };
}
