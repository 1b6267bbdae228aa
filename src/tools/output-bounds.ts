import { type JsonValue, type ToolOutput, toolOutputSchema, type UserPart } from '../ledger/content.ts';
import type { Limits } from '../limits.ts';
import { errorText } from './error-text.ts';
import { toPlainJson } from './plain-json.ts';
import { type BoundedText, boundText, type TextBounds } from './text-bounds.ts';
import type { Tool } from './tool.ts';

/** A returned value as the model sees it and as it is kept. */
export interface MaterializedOutput {
  /** Within the bounds of the tool. */
  readonly output: ToolOutput;
  /** The value whole, where the model sees something else than it. Absent for errors: their text is all that is kept. */
  readonly stored: JsonValue | undefined;
  readonly truncated: boolean;
  /** The text that was cut, whole, for an artifact. Set exactly if `truncated`. */
  readonly full?: string;
}

/** Parts of one result; more are dropped with a note. */
const MAX_PARTS = 64;
const NO_OUTPUT = '(no output)';

/**
 * Turns what a tool returned into what the model sees: the tool's own mapping if it has one; a string verbatim; an
 * object with a non-empty string `error`, or a returned `Error`, as an error; `undefined` as a text; `{ type:
 * 'content', parts }` as text and images; anything else as JSON. Bounded by `maxResultLines` and the tool's
 * `maxResultBytes`. Never throws: a mapping that does is an error result, because what it was meant to hide must not
 * be shown instead. `rest` is the last sentence of the truncation marker.
 */
export function materializeOutput(
  tool: Pick<Tool, 'name' | 'maxResultBytes' | 'toModelOutput'>,
  value: unknown,
  limits: Pick<Limits, 'tools'>,
  rest?: string,
): MaterializedOutput {
  const bounds: TextBounds = {
    maxLines: limits.tools.maxResultLines,
    maxBytes: tool.maxResultBytes ?? limits.tools.maxResultBytes,
    ...(rest === undefined ? {} : { rest }),
  };
  const failure = failureOf(value);
  if (failure !== undefined) return failed(failure, limits);
  if (tool.toModelOutput === undefined) return bounded(defaultOutput(value), value, bounds, limits);
  try {
    const mapped = tool.toModelOutput(value);
    const output: ToolOutput =
      typeof mapped === 'string' ? { type: 'text', text: mapped } : toolOutputSchema.parse(mapped);
    return { ...bounded(output, value, bounds, limits), stored: storedOf(value) };
  } catch {
    return failed(`${tool.name} ran, but its result could not be put into a form to show.`, limits);
  }
}

/** Whether a result counts as success or error for its record. */
export function statusOf(output: ToolOutput): 'success' | 'error' {
  return output.type === 'error' ? 'error' : 'success';
}

/** The error inside a returned value, if it is one. */
function failureOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  try {
    if (value instanceof Error) return value;
    if (Array.isArray(value)) return undefined;
    const { error, ...rest } = value as { readonly error?: unknown };
    if (typeof error !== 'string' || error === '') return undefined;
    return Object.keys(rest).length === 0 ? error : `${error}\n${JSON.stringify(toPlainJson(rest))}`;
  } catch {
    // A getter or a proxy threw; the default output names what cannot be read.
    return undefined;
  }
}

function failed(error: unknown, limits: Pick<Limits, 'tools'>): MaterializedOutput {
  return { output: { type: 'error', text: errorText(error, limits) }, stored: undefined, truncated: false };
}

function defaultOutput(value: unknown): ToolOutput {
  if (typeof value === 'string') return { type: 'text', text: value };
  if (value === undefined) return { type: 'text', text: NO_OUTPUT };
  if (typeof value === 'function' || typeof value === 'symbol')
    return { type: 'text', text: `[${typeof value}]` };
  const plain = toPlainJson(value);
  if (typeof plain === 'object' && plain !== null && 'type' in plain && plain['type'] === 'content') {
    const content = toolOutputSchema.safeParse(plain);
    if (content.success) return content.data;
  }
  return { type: 'json', value: plain };
}

function storedOf(value: unknown): JsonValue | undefined {
  return value === undefined ? undefined : toPlainJson(value);
}

function bounded(
  output: ToolOutput,
  value: unknown,
  bounds: TextBounds,
  limits: Pick<Limits, 'tools'>,
): MaterializedOutput {
  switch (output.type) {
    case 'error':
      return failed(output.text, limits);
    case 'text':
      return boundedText(output, value, boundText(output.text, bounds), output.text);
    case 'json': {
      const text = JSON.stringify(output.value);
      return boundedText(output, value, boundText(text, bounds), text);
    }
    case 'content':
      return boundedContent(output.parts, value, bounds);
  }
}

function boundedText(output: ToolOutput, value: unknown, cut: BoundedText, full: string): MaterializedOutput {
  if (cut.truncated) {
    return { output: { type: 'text', text: cut.text }, stored: storedOf(value), truncated: true, full };
  }
  // A lone line end may have gone without a mark.
  const shown: ToolOutput = output.type === 'text' ? { type: 'text', text: cut.text } : output;
  return { output: shown, stored: undefined, truncated: false };
}

/** All texts of a content result share the bounds; its images and files are left as they are. */
function boundedContent(parts: readonly UserPart[], value: unknown, bounds: TextBounds): MaterializedOutput {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const full = texts.join('\n');
  const cut = boundText(full, bounds);
  if (!cut.truncated && parts.length <= MAX_PARTS) {
    return { output: { type: 'content', parts: [...parts] }, stored: undefined, truncated: false };
  }
  const media = parts.filter((part) => part.type !== 'text').slice(0, MAX_PARTS);
  const dropped = parts.length - texts.length - media.length;
  const note = dropped === 0 ? '' : `\n[${dropped} more attachments left out]`;
  return {
    output: { type: 'content', parts: [{ type: 'text', text: `${cut.text}${note}` }, ...media] },
    stored: storedOf(value),
    truncated: true,
    full,
  };
}
