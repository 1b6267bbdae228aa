import { isSwarmError } from '../errors.ts';
import { type CallId, operationIdOf } from '../ids.ts';
import type { ArtifactRef, ToolOutput } from '../ledger/content.ts';
import { storeOutput } from '../ledger/media.ts';
import type { NewRecord, RecordData } from '../ledger/records.ts';
import type { Limits } from '../limits.ts';
import { activateCalled } from './activate-called.ts';
import { hashArguments } from './argument-snapshot.ts';
import type { BoundTool } from './binding.ts';
import type { ClearedCall } from './clear-permission.ts';
import { errorText } from './error-text.ts';
import { type Execution, executeWithin } from './execution.ts';
import { type MaterializedOutput, materializeOutput } from './output-bounds.ts';
import { createProgress } from './progress.ts';
import { deniedText, turnEndedText } from './refusals.ts';
import { errorCode, refuse, stopBeforeT1 } from './refuse-call.ts';
import { RuntimeToolResult } from './runtime-tool.ts';
import { cutChars } from './safe-text.ts';
import type { Settlement, SettlingCall } from './settlement.ts';
import { ShownResult } from './shown-result.ts';
import type { ToolContext } from './tool.ts';

type SettledStatus = RecordData<'tool.settled'>['status'];

interface Whole {
  readonly text: string;
  readonly mediaType: string;
}

/** What an execution came to, ready to be written. */
interface Outcome {
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

/**
 * T1, execution, T2. The intent is durable before the implementation is entered, the outcome before anything
 * learns of it. This is the only place where an implementation is entered.
 *
 * @throws SwarmError when T1 (nothing ran) or T2 (outcome unknown to the ledger) could not be made durable
 */
export async function dispatchCall(
  call: SettlingCall,
  bound: BoundTool,
  cleared: ClearedCall,
  generation = 0,
): Promise<Settlement> {
  const { scope, facts, machine } = call;
  const refusal = await passExecuteGate(call, bound, cleared);
  if (refusal !== undefined) return refusal;
  const validation = await bound.validate(cleared.args);
  if (scope.signal.aborted) return stopLate(call, generation);
  if (validation.type === 'invalid')
    return refuse(call, { code: 'invalid-arguments', text: validation.message });
  const activation = generation > 0 ? undefined : await activateCalled(call);
  if (scope.signal.aborted) return stopLate(call, generation);
  if (activation?.type === 'refuse') return refuse(call, activation.refusal);
  const operationId = operationIdOf(facts.callId as CallId);
  try {
    await scope.commit([
      factOf(call, 'tool.dispatched', {
        operationId,
        toolName: bound.name,
        recovery: bound.tool.recovery,
        argsHash: hashArguments(cleared.args),
        generation,
        ...(cleared.edited === undefined ? {} : { editedArgs: cleared.args }),
        ...(bound.runtimeOwned === true ? { own: true as const } : {}),
      }),
      ...(activation?.prepared.facts ?? []),
    ]);
  } catch (error) {
    machine.send({ type: 'PREPARE_FAILED', kind: errorCode(error) });
    throw error;
  }
  machine.send({ type: 'PREPARED', operationId });
  activation?.prepared.settled();
  if (scope.signal.aborted) return settleUnentered(call, bound, operationId);
  const startedMs = scope.clock.monotonicMs();
  const execution = await enter(call, bound, { ...cleared, operationId, value: validation.value });
  if (execution.type === 'abandoned' && scope.leaves) return leaveOpen(call, bound, operationId);
  const note = activation?.prepared.takeNote();
  const outcome = outcomeOf(call, bound, { ...cleared, note }, execution);
  sendOutcome(call, outcome, execution);
  return commitOutcome(call, bound, outcome, {
    operationId,
    durationMs: scope.clock.monotonicMs() - startedMs,
  });
}

async function passExecuteGate(
  call: SettlingCall,
  bound: BoundTool,
  cleared: ClearedCall,
): Promise<Settlement | undefined> {
  const { scope, facts } = call;
  const result = await scope.gate('beforeToolExecute', {
    toolName: bound.name,
    input: cleared.args,
    callId: facts.callId,
    sessionId: scope.sessionId,
    turnId: scope.turnId,
    stepId: facts.stepId,
    agentPath: scope.agentPath,
  });
  if (result.type === 'allow' || scope.signal.aborted) return undefined;
  return refuse(call, { code: 'gate-refused', text: deniedText(bound.name, result.reason) });
}

/** A stop before T1. A retry has a T1 of an earlier process behind it, whose outcome is as unknown as before. */
async function stopLate(call: SettlingCall, generation: number): Promise<Settlement> {
  return generation > 0 ? { type: 'indeterminate' } : stopBeforeT1(call);
}

/** A stop between T1 and the implementation: the outcome is certain, so it is written. */
function settleUnentered(call: SettlingCall, bound: BoundTool, operationId: string): Promise<Settlement> {
  call.machine.send({ type: 'ABORT' });
  const text = turnEndedText(bound.name, 'the turn was stopped');
  const outcome: Outcome = { status: 'aborted', output: { type: 'error', text }, endsTurn: false };
  return commitOutcome(call, bound, outcome, { operationId, durationMs: 0 });
}

/** The process goes and the implementation has not come back: nobody will know, so somebody must decide. */
async function leaveOpen(call: SettlingCall, bound: BoundTool, operationId: string): Promise<Settlement> {
  const reason = 'the process was closed while it ran';
  await call.scope.commit([
    factOf(call, 'tool.indeterminate', { operationId, toolName: bound.name, reason }),
  ]);
  call.machine.send({ type: 'OUTCOME_LOST', reason });
  return { type: 'indeterminate' };
}

interface Entry extends ClearedCall {
  readonly operationId: string;
  /** Arguments parsed and defaulted. */
  readonly value: unknown;
}

function enter(call: SettlingCall, bound: BoundTool, entry: Entry): Promise<Execution> {
  const { scope, facts, machine } = call;
  const { tool } = bound;
  const { operationId } = entry;
  machine.send({ type: 'EXECUTE' });
  return executeWithin({
    clock: scope.clock,
    timeoutMs: tool.timeoutMs ?? scope.limits.tools.timeoutMs,
    graceMs: scope.limits.tools.graceMs,
    signal: scope.signal,
    enter: (signal) => {
      if (tool.parks === 'question') return entry.answer ?? '';
      // `bound` hides the context type of its tool: the run checked it where the agent was given.
      return tool.execute(entry.value, toolContext(call, operationId, signal) as ToolContext<never>);
    },
    onAborting: (cause) => machine.send(cause === 'timeout' ? { type: 'TIMED_OUT' } : { type: 'ABORT' }),
    onLate: (afterMs) =>
      scope.onLate({
        type: 'tool.late',
        call: facts.callId,
        data: { operationId, toolName: bound.name, afterMs },
      }),
  });
}

export function toolContext(call: SettlingCall, operationId: string, signal: AbortSignal): ToolContext {
  const { scope, facts, machine } = call;
  const progress = createProgress(scope.clock, scope.limits.tools, (text) => {
    if (!machine.send({ type: 'PROGRESS' })) return;
    // Lost progress loses nothing: the outcome is what counts.
    scope.commit([factOf(call, 'tool.progressed', { text })]).catch(() => undefined);
  });
  return {
    signal,
    context: scope.context,
    sessionId: scope.sessionId,
    turnId: scope.turnId,
    stepId: facts.stepId,
    callId: facts.callId,
    operationId,
    epoch: scope.epoch,
    agentPath: scope.agentPath,
    progress,
    artifacts: {
      put: (bytes, mediaType) =>
        scope.artifacts.putArtifact(typeof bytes === 'string' ? Buffer.from(bytes) : bytes, mediaType),
      get: (ref) => scope.artifacts.getArtifact(ref),
    },
  };
}

function outcomeOf(
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
  return { status: output.type === 'error' ? 'error' : 'success', output, endsTurn: false, runtime };
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

function sendOutcome(call: SettlingCall, outcome: Outcome, execution: Execution): void {
  const { machine } = call;
  if (execution.type === 'abandoned') machine.send({ type: 'GRACE_EXPIRED' });
  else if (execution.type === 'threw') machine.send({ type: 'THREW', kind: outcome.status });
  else machine.send({ type: 'RETURNED', outcome: outcome.status });
}

interface Settling {
  readonly operationId: string;
  readonly durationMs: number;
}

async function commitOutcome(
  call: SettlingCall,
  bound: BoundTool,
  outcome: Outcome,
  settling: Settling,
): Promise<Settlement> {
  const { scope, facts, machine } = call;
  const resultRef = outcome.whole === undefined ? undefined : await keepWhole(call, outcome.whole);
  const output = await keepMedia(call, outcome.output);
  try {
    await scope.commit([
      factOf(call, 'tool.settled', {
        ...settling,
        toolName: bound.name,
        status: outcome.status,
        output,
        ...(outcome.result === undefined ? {} : { result: outcome.result }),
        ...(resultRef === undefined ? {} : { resultRef }),
        ...(outcome.endsTurn ? { endsTurn: true } : {}),
      }),
      ...(outcome.runtime?.facts ?? []),
    ]);
    outcome.runtime?.settled();
  } catch (error) {
    if (isSwarmError(error, 'ledger-limit') && outcome.tooLarge !== true) {
      return commitOutcome(call, bound, withoutOutput(bound, outcome), settling);
    }
    machine.send({ type: 'COMMIT_FAILED', kind: errorCode(error) });
    throw error;
  }
  machine.send({ type: 'COMMITTED' });
  const how = outcome.status === 'success' ? 'success' : 'failure';
  scope.loopGate.note(bound.name, facts.args, how);
  return { type: 'settled', endsTurn: outcome.endsTurn };
}

/** The outcome of a call whose result no record can hold: the call ran, so its outcome must be written. */
function withoutOutput(bound: BoundTool, { output, whole, result: _, ...outcome }: Outcome): Outcome {
  const full = output.type === 'text' || output.type === 'error' ? output.text : JSON.stringify(output);
  const text = `[${bound.name} ran; its result is larger than what can be shown, and was left out.]`;
  return {
    ...outcome,
    output: { type: output.type === 'error' ? 'error' : 'text', text },
    whole: whole ?? { text: full, mediaType: 'text/plain; charset=utf-8' },
    tooLarge: true,
  };
}

/** Keeps the whole result; a store that fails here costs the artifact, not the call. */
async function keepWhole(call: SettlingCall, whole: Whole): Promise<ArtifactRef | undefined> {
  const { scope } = call;
  try {
    return await scope.artifacts.putArtifact(Buffer.from(whole.text), whole.mediaType);
  } catch (error) {
    const text = `warning: the whole result could not be kept (${errorCode(error)})`;
    scope.commit([factOf(call, 'tool.progressed', { text })]).catch(() => undefined);
    return undefined;
  }
}

/** Images and files leave the record; a store that fails here costs them, not the call. */
async function keepMedia(call: SettlingCall, output: ToolOutput): Promise<ToolOutput> {
  try {
    return await storeOutput(output, call.scope.artifacts);
  } catch {
    return { type: 'text', text: '[The result held media that could not be kept.]' };
  }
}

type CallFactType = 'tool.dispatched' | 'tool.settled' | 'tool.progressed' | 'tool.indeterminate';

function factOf<T extends CallFactType>(call: SettlingCall, type: T, data: RecordData<T>): NewRecord {
  const { scope, facts } = call;
  // The pair of type and data is right by the signature; the union of records cannot see it.
  return { type, data, turn: scope.turnId, step: facts.stepId, call: facts.callId } as NewRecord;
}
