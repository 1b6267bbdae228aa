import type { JsonValue, ToolOutput } from '../ledger/content.ts';
import type { PromptMessage, PromptToolResult } from '../model/adapter.ts';

/** What is known of a result beyond what a request carries of it. */
export interface ResultPlace {
  readonly turn: string;
  /** By which `read_artifact` finds it: `<turn>.<step>.<call>`. */
  readonly handle: string;
  readonly toolName: string;
  /** Calls of the same tool with the same arguments share it. */
  readonly key: string;
  readonly isError: boolean;
  /** Sequence of the fact that holds it. */
  readonly seq: number;
}

/** Characters that results of one turn may take. */
export interface PruneBounds {
  /** Over this, results are left out until they take no more than `low`. */
  readonly high: number;
  readonly low: number;
  /** Shorter results stay: a placeholder would save nothing. */
  readonly min: number;
}

export type PruneReason = 'superseded' | 'oversized';

interface LiveResult {
  readonly wireId: string;
  readonly place: ResultPlace;
  readonly chars: number;
}

/**
 * Which results stand in requests as placeholders. A pure fold over each turn of the history, step by step: what is
 * left out stays left out, and it goes in batches, so that a provider's cached prefix breaks seldom. Superseded
 * results go first, then the oldest; of the last step only what no request could hold.
 */
export function planPruning(
  messages: readonly PromptMessage[],
  placeOf: (wireId: string) => ResultPlace | undefined,
  bounds: PruneBounds,
): ReadonlyMap<string, PruneReason> {
  const pruned = new Map<string, PruneReason>();
  let turn: string | undefined;
  let fold = new PruneFold(bounds, pruned);
  for (const message of messages) {
    if (message.role !== 'tool') continue;
    const group = message.results.flatMap((result) => liveOf(result, placeOf(result.wireId)));
    const [first] = group;
    if (first === undefined) continue;
    // A later turn finds an earlier one as it ended, so that the prefix of its requests is the same.
    if (first.place.turn !== turn) fold = new PruneFold(bounds, pruned);
    turn = first.place.turn;
    fold.add(group);
  }
  return pruned;
}

function liveOf({ wireId, output }: PromptToolResult, place: ResultPlace | undefined): readonly LiveResult[] {
  const text = textOfOutput(output);
  return place === undefined || text === undefined ? [] : [{ wireId, place, chars: text.length }];
}

/** Steps of one turn in order. */
class PruneFold {
  readonly #pruned: Map<string, PruneReason>;
  readonly #bounds: PruneBounds;
  /** The last success of each call, by tool and arguments. */
  readonly #latest = new Map<string, string>();
  #live: readonly LiveResult[] = [];
  #chars = 0;

  constructor(bounds: PruneBounds, pruned: Map<string, PruneReason>) {
    this.#bounds = bounds;
    this.#pruned = pruned;
  }

  add(group: readonly LiveResult[]): void {
    const earlier = this.#live;
    this.#live = [...earlier, ...group];
    for (const { chars, wireId, place } of group) {
      this.#chars += chars;
      if (!place.isError) this.#latest.set(place.key, wireId);
    }
    this.#cutGroup(group);
    if (this.#chars <= this.#bounds.high) return;
    for (const one of earlier) {
      if (this.#latest.get(one.place.key) !== one.wireId && this.#latest.has(one.place.key)) {
        this.#prune(one, 'superseded');
      }
    }
    for (const one of earlier) {
      if (this.#chars <= this.#bounds.low) break;
      this.#prune(one, 'oversized');
    }
    this.#live = this.#live.filter(({ wireId }) => !this.#pruned.has(wireId));
  }

  /** One step alone may be too much: then its largest results are only to be read in pages. */
  #cutGroup(group: readonly LiveResult[]): void {
    let chars = group.reduce((sum, one) => sum + one.chars, 0);
    for (const one of [...group].sort((a, b) => b.chars - a.chars)) {
      if (chars <= this.#bounds.high) return;
      this.#prune(one, 'oversized');
      chars -= one.chars;
    }
  }

  #prune(one: LiveResult, reason: PruneReason): void {
    if (one.chars < this.#bounds.min || this.#pruned.has(one.wireId)) return;
    this.#pruned.set(one.wireId, reason);
    this.#chars -= one.chars;
  }
}

/** The history with placeholders where results are left out: order, pairing and everything else as they were. */
export function applyPruning(
  messages: readonly PromptMessage[],
  pruned: ReadonlyMap<string, PruneReason>,
  placeOf: (wireId: string) => ResultPlace | undefined,
): readonly PromptMessage[] {
  if (pruned.size === 0) return messages;
  return messages.map((message) => {
    if (message.role !== 'tool' || !message.results.some(({ wireId }) => pruned.has(wireId))) return message;
    return { role: 'tool', results: message.results.map((result) => shown(result, pruned, placeOf)) };
  });
}

function shown(
  result: PromptToolResult,
  pruned: ReadonlyMap<string, PruneReason>,
  placeOf: (wireId: string) => ResultPlace | undefined,
): PromptToolResult {
  const reason = pruned.get(result.wireId);
  const place = placeOf(result.wireId);
  const text = textOfOutput(result.output);
  if (reason === undefined || place === undefined || text === undefined) return result;
  return { ...result, output: { type: 'text', text: placeholder(place, text.length, reason) } };
}

function placeholder({ handle, toolName }: ResultPlace, chars: number, reason: PruneReason): string {
  const why = reason === 'superseded' ? ' A later call with the same arguments has a newer one.' : '';
  return `[This result of ${toolName}, ${chars} characters, was left out to save space.${why} To read it, call read_artifact with {"id":"${handle}"}.]`;
}

const JSON_TEXTS = new WeakMap<object, string>();

/** The text of a result; nothing where it holds more than text, which nobody could read back. */
export function textOfOutput(output: ToolOutput): string | undefined {
  switch (output.type) {
    case 'text':
    case 'error':
      return output.text;
    case 'json':
      return jsonText(output.value);
    case 'content': {
      const texts = output.parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
      return texts.length === output.parts.length ? texts.join('\n') : undefined;
    }
  }
}

function jsonText(value: JsonValue): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const known = JSON_TEXTS.get(value) ?? JSON.stringify(value);
  JSON_TEXTS.set(value, known);
  return known;
}
