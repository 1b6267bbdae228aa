import type { ToolOutput } from '../ledger/content.ts';
import type { RecordData } from '../ledger/records.ts';
import type { Limits } from '../limits.ts';
import type { BoundTool } from './binding.ts';
import type { ClearedCall } from './clear-permission.ts';
import { errorText } from './error-text.ts';
import type { Execution } from './execution.ts';
import { type MaterializedOutput, materializeOutput } from './output-bounds.ts';
import { RuntimeToolResult } from './runtime-tool.ts';
import { cutChars } from './safe-text.ts';
import type { SettlingCall } from './settlement.ts';
import { ShownResult } from './shown-result.ts';

type SettledStatus = RecordData<'tool.settled'>['status'];

export interface Whole {
  readonly text: string;
  readonly mediaType: string;
}

/** What an execution came to, ready to be written. */
export interface Outcome {
  readonly status: SettledStatus;
  readonly output: ToolOutput;
  readonly endsTurn: boolean;
  readonly result?: RecordData<'tool.settled'>['result'];
  /** The whole of a result that is not in the record. */
  readonly whole?: Whole;
  /** No record could hold the result, and `output` says so. */
  readonly tooLarge?: true;
  /** Set for tools of the runtime: facts of the same batch, and what they take effect by. */
  readonly runtime?: RuntimeToolResult;
}
/** What an execution came to. */
export function outcomeOf(
  call: SettlingCall,
  bound: BoundTool,
  cleared: ClearedCall,
  execution: Execution,
): Outcome {
  const { limits } = call.scope;
  const failed = (status: SettledStatus, text: string): Outcome => ({
    status,
    output: withNotes({ type: 'error', text }, cleared),
    endsTurn: false,
  });
  if (execution.type !== 'returned') {
    const status = execution.type === 'abandoned' ? 'abandoned' : (execution.aborted ?? 'error');
    return failed(status, failureText(bound, execution, limits));
  }
  try {
    return returnedOutcome(bound, execution.value, cleared, limits);
  } catch {
    // Looking at a returned value runs its getters; the implementation itself has run, so its call has an outcome.
    return failed('error', `${bound.name} ran, but its result could not be read.`);
  }
}

function returnedOutcome(bound: BoundTool, returned: unknown, cleared: ClearedCall, limits: Limits): Outcome {
  if (returned instanceof RuntimeToolResult) return runtimeOutcome(returned);
  const ends = isTurnEnd(returned);
  const made = materialize(bound, ends ? returned.output : returned, limits);
  const failed = made.output.type === 'error';
  const output = withNotes(made.output, cleared);
  const kept = output === made.output || made.output.type !== 'json' ? made.stored : made.output.value;
  return {
    status: failed ? 'error' : 'success',
    output,
    endsTurn: ends && !failed,
    ...keptResult({ ...made, stored: kept }, limits),
  };
}

function materialize({ tool }: BoundTool, value: unknown, limits: Limits): MaterializedOutput {
  if (!(value instanceof ShownResult)) return materializeOutput(tool, value, limits);
  const { name, maxResultBytes } = tool;
  return materializeOutput({ name, maxResultBytes, toModelOutput: value.show }, value.value, limits);
}

function runtimeOutcome(runtime: RuntimeToolResult): Outcome {
  const { output } = runtime;
  const { result } = runtime;
  return {
    status: output.type === 'error' ? 'error' : 'success',
    output,
    endsTurn: false,
    runtime,
    ...(result === undefined ? {} : { result }),
  };
}

/** What is kept of a result beside what the model sees: in the record if it is small, else as an artifact. */
function keptResult(made: MaterializedOutput, limits: Limits): Pick<Outcome, 'result' | 'whole'> {
  const text: Whole | undefined =
    made.full === undefined ? undefined : { text: made.full, mediaType: 'text/plain; charset=utf-8' };
  if (made.stored === undefined || made.stored === made.full)
    return text === undefined ? {} : { whole: text };
  const json = JSON.stringify(made.stored);
  if (json.length * 3 <= limits.ledger.maxInlineBytes) {
    return { result: made.stored, ...(text === undefined ? {} : { whole: text }) };
  }
  return { whole: { text: json, mediaType: 'application/json' } };
}

function isTurnEnd(value: unknown): value is { readonly endTurn: true; readonly output: unknown } {
  return typeof value === 'object' && value !== null && 'endTurn' in value && value.endTurn === true;
}

/** Characters of changed arguments that a model is shown. */
const MAX_EDIT_CHARS = 4_000;

/** What the model must be told beside the result: that other arguments ran than those it sent, and what came along. */
function withNotes(output: ToolOutput, cleared: ClearedCall): ToolOutput {
  const notes = cleared.note === undefined ? [] : [cleared.note];
  if (cleared.edited === 'person') {
    const args = cutChars(JSON.stringify(cleared.args), MAX_EDIT_CHARS);
    notes.unshift(`[A person changed the arguments of this call before it ran to: ${args}]`);
  }
  return notes.length === 0 ? output : appendText(output, notes.join('\n'));
}

function appendText(output: ToolOutput, note: string): ToolOutput {
  switch (output.type) {
    case 'content':
      return { ...output, parts: [...output.parts, { type: 'text', text: note }] };
    case 'json':
      return { type: 'text', text: `${JSON.stringify(output.value)}\n${note}` };
    case 'text':
    case 'error':
      return { ...output, text: output.text === '' ? note : `${output.text}\n${note}` };
  }
}

function failureText(
  bound: BoundTool,
  execution: Exclude<Execution, { type: 'returned' }>,
  limits: Parameters<typeof errorText>[1],
): string {
  if (execution.aborted === 'timeout') {
    const timeoutMs = bound.tool.timeoutMs ?? limits.tools.timeoutMs;
    return execution.type === 'abandoned'
      ? `${bound.name} timed out after ${timeoutMs} ms and did not stop; whether it had an effect is unknown.`
      : `${bound.name} timed out after ${timeoutMs} ms; whether it had an effect is unknown.`;
  }
  if (execution.aborted === 'aborted') {
    return execution.type === 'abandoned'
      ? `${bound.name} was stopped and did not return; whether it had an effect is unknown.`
      : `${bound.name} was stopped; whether it had an effect is unknown.`;
  }
  return errorText(execution.type === 'threw' ? execution.error : undefined, limits);
}
/** The outcome of a call whose result no record can hold: the call ran, so its outcome must be written. */
export function withoutOutput(bound: BoundTool, { output, whole, result: _, ...outcome }: Outcome): Outcome {
  const full = output.type === 'text' || output.type === 'error' ? output.text : JSON.stringify(output);
  const text = `[${bound.name} ran; its result is larger than what can be shown, and was left out.]`;
  return {
    ...outcome,
    output: { type: output.type === 'error' ? 'error' : 'text', text },
    whole: whole ?? { text: full, mediaType: 'text/plain; charset=utf-8' },
    tooLarge: true,
  };
}
