import { SwarmError } from '../errors.ts';
import { type UserPart, userPartSchema } from '../ledger/content.ts';
import { toPlainJson } from '../tools/plain-json.ts';
import type { AnyGraph } from './define-graph.ts';

/**
 * The input of a run as it is kept: text as it is, what a schema describes as JSON text.
 * @throws SwarmError 'invalid-input' naming what is wrong with it
 */
export function graphInputParts(graph: AnyGraph, input: unknown): readonly UserPart[] {
  if (graph.input === undefined) {
    if (typeof input === 'string') return [{ type: 'text', text: input }];
    const parts = userPartSchema.array().min(1).safeParse(input);
    if (parts.success) return parts.data;
    throw new SwarmError('invalid-input', `the graph ${graph.name} takes text or message parts`);
  }
  const complaint = complaintOf(graph, input);
  if (complaint !== undefined) throw new SwarmError('invalid-input', complaint);
  return [{ type: 'text', text: JSON.stringify(toPlainJson(input)) }];
}

/** What the node `input` yields, or why there is nothing. */
export function readGraphInput(
  graph: AnyGraph,
  parts: readonly UserPart[],
):
  | { readonly type: 'valid'; readonly value: unknown }
  | { readonly type: 'invalid'; readonly message: string } {
  const [first] = parts;
  const text = parts.length === 1 && first?.type === 'text' ? first.text : undefined;
  if (graph.input === undefined) return { type: 'valid', value: text ?? parts };
  if (text === undefined)
    return { type: 'invalid', message: `the graph ${graph.name} takes no message parts` };
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // An agent or another graph may hand text to a graph that takes text.
    json = text;
  }
  const parsed = graph.input.safeParse(json);
  return parsed.success
    ? { type: 'valid', value: parsed.data }
    : { type: 'invalid', message: complaintOf(graph, json) ?? 'the input is invalid' };
}

function complaintOf(graph: AnyGraph, input: unknown): string | undefined {
  const parsed = graph.input?.safeParse(input);
  if (parsed === undefined || parsed.success) return undefined;
  const [issue] = parsed.error.issues;
  const where = issue?.path.map(String).join('.') ?? '';
  return `the input of the graph ${graph.name}: ${where === '' ? '' : `${where}: `}${issue?.message ?? ''}`;
}
