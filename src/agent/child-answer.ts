import type { JsonObject, JsonValue, ToolOutput, Usage } from '../ledger/content.ts';
import { toPlainJson } from '../tools/plain-json.ts';
import { cutChars, safeData } from '../tools/safe-text.ts';
import type { ChildEnd } from './child-sessions.ts';

/** Characters of a child's answer, or of its failure, that its parent's model sees. */
export const MAX_ANSWER_CHARS = 4_000;

/** What a parent is told of a child that ended. */
export type EndedChild = Extract<ChildEnd, { readonly type: 'completed' | 'failed' | 'cancelled' | 'lost' }>;

/** What the result of a call to a child says: to the model, and to programs. */
export interface ChildAnswer {
  readonly output: ToolOutput;
  readonly result?: JsonObject;
}

/**
 * The answer of a child as the result of the call that asked for it: without what a reader would not see. A failure is
 * a result like any other.
 */
export function answerOf(end: EndedChild, agentPath: readonly string[]): ChildAnswer {
  if (end.type === 'completed') return { output: completedOutput(end) };
  const { code, message } = whyOf(end);
  const usage = definedCounts(end.usage.reported);
  const { steps, toolCalls } = end;
  const name = agentPath.at(-1) ?? '';
  const how = end.type === 'cancelled' ? 'was cancelled' : end.type === 'lost' ? 'is lost' : 'failed';
  const tokens = usage.totalTokens ?? (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
  const place = `[${code} at ${agentPath.join(' > ')}, after ${steps} steps, ${toolCalls} tool calls and ${tokens} tokens]`;
  const text = `${name} ${how}: ${cutChars(safeData(message), MAX_ANSWER_CHARS - place.length - 200)} ${place}`;
  return {
    output: { type: 'error', text },
    result: { code, path: [...agentPath], message, steps, toolCalls, usage },
  };
}

function completedOutput({ output, text }: Extract<EndedChild, { readonly type: 'completed' }>): ToolOutput {
  if (typeof output === 'string') return { type: 'text', text: cutAnswer(output === '' ? text : output) };
  // What a schema makes of an answer may be anything. What is unseen stands in strings alone: the rest is JSON still.
  const json = safeData(JSON.stringify(toPlainJson(output)));
  if (json.length > MAX_ANSWER_CHARS) return { type: 'text', text: cutAnswer(json) };
  // What was written as JSON is JSON.
  return { type: 'json', value: JSON.parse(json) as JsonValue };
}

function definedCounts(usage: Usage): Usage & JsonObject {
  // Counts are numbers or absent.
  return Object.fromEntries(Object.entries(usage).filter(([, count]) => count !== undefined)) as Usage &
    JsonObject;
}

const CUT_NOTE = '\n[The answer was longer and was cut here.]';

function cutAnswer(answer: string): string {
  const text = safeData(answer);
  if (text.length <= MAX_ANSWER_CHARS) return text === '' ? '[It ended without a text.]' : text;
  return `${cutChars(text, MAX_ANSWER_CHARS - CUT_NOTE.length)}${CUT_NOTE}`;
}

function whyOf(end: Exclude<EndedChild, { readonly type: 'completed' }>): {
  readonly code: string;
  readonly message: string;
} {
  if (end.type === 'cancelled') return { code: 'cancelled', message: end.reason };
  return { code: end.failure.kind, message: end.failure.message };
}
