import { type CallId, callIdOf, nestedCallIdOf, type StepId } from '../ids.ts';
import type { JsonObject } from '../ledger/content.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { NewRecord, RecordData } from '../ledger/records.ts';
import type { Limits } from '../limits.ts';
import type { ReturnedCall } from '../model/adapter.ts';
import { climbLadder, type LadderOutcome } from '../tools/argument-ladder.ts';
import { hashArguments } from '../tools/argument-snapshot.ts';
import type { Binding, BoundTool } from '../tools/binding.ts';
import type { CallMender, CallRepair } from '../tools/call-repair.ts';
import type { Availability, CallRoute } from '../tools/step-view.ts';
import { resolveToolName } from '../tools/tool-names.ts';

/** Share of a batch that inline arguments of one step may take; beyond it they go to artifacts. */
const INLINE_SHARE = 0.5;

/** What the calls of a step are read against. */
export interface CallReading {
  readonly turnId: string;
  readonly stepId: StepId;
  readonly binding: Binding;
  /** Tools visible in the request that was answered. */
  readonly visible: readonly BoundTool[];
  readonly limits: Limits;
  readonly ledger: Ledger;
  /** How the tool that a call means stands in the step. */
  availability(route: CallRoute): Availability;
  /** Asks a model where nothing else mends a call. */
  readonly repair: CallRepair;
  /** The answer was cut or failed: unfinished text must not be repaired into something else. */
  readonly open: boolean;
}

/** A call's fact, with the arguments that its record may only refer to. */
export interface ReadCall {
  readonly record: NewRecord;
  readonly args: JsonObject;
}

/** The facts of the calls a step returned: names resolved, arguments through the ladder, nothing executed. */
export function readCalls(
  calls: readonly ReturnedCall[],
  reading: CallReading,
): Promise<readonly ReadCall[]> {
  const share = (reading.limits.ledger.maxBatchBytes * INLINE_SHARE) / Math.max(1, calls.length);
  const inlineBytes = Math.min(reading.limits.ledger.maxInlineBytes, share);
  return Promise.all(calls.map((call) => readCall(call, reading, inlineBytes)));
}

/** A call as far as it can be read: what it names, and its arguments. */
interface WrittenCall {
  readonly bound: BoundTool | undefined;
  readonly requestedName: string;
  /** The text of its arguments. */
  readonly input: string;
  readonly climbed: LadderOutcome;
  /** The tool of the runtime that passes the call on. */
  readonly via?: string;
}

async function readCall(call: ReturnedCall, reading: CallReading, inlineBytes: number): Promise<ReadCall> {
  const mender = reading.repair.forCall();
  const written = await passOn(await readWritten(call, reading, mender), reading);
  const { bound, requestedName, via } = written;
  const climbed = await mended(written, reading, mender);
  const args = climbed.type === 'ok' ? climbed.args : climbed.kept;
  const data: RecordData<'tool.called'> = {
    ordinal: call.ordinal,
    wireId: call.wireId,
    toolName: bound?.name ?? requestedName,
    ...(via === undefined ? {} : { via }),
    ...(bound === undefined || isNameOf(bound, requestedName) ? {} : { requestedName }),
    ...(await storedArguments(args, reading, inlineBytes)),
    argsHash: hashArguments(args),
    ...(bound === undefined ? {} : { schemaHash: bound.schemaHash }),
    ...(climbed.type === 'invalid' ? { invalid: climbed.message } : {}),
    ...(climbed.repaired.length === 0 ? {} : { repaired: [...climbed.repaired] }),
    ...(call.providerMetadata === undefined ? {} : { providerMetadata: call.providerMetadata }),
  };
  const outer: CallId = callIdOf(reading.stepId, call.ordinal);
  const callId =
    via === undefined || bound === undefined ? outer : nestedCallIdOf(outer, bound.definition.name);
  const { turnId: turn, stepId: step } = reading;
  return { record: { type: 'tool.called', turn, step, call: callId, data }, args };
}

function isNameOf({ name, definition }: BoundTool, written: string): boolean {
  return written === name || written === definition.name;
}

async function readWritten(
  { toolName, input }: ReturnedCall,
  reading: CallReading,
  mender: CallMender,
): Promise<WrittenCall> {
  const { visible } = reading;
  const resolution = resolveToolName(toolName, visible, reading.binding);
  const bound =
    resolution.type === 'unknown'
      ? reading.open
        ? undefined
        : await mender.name(toolName, visible)
      : resolution.bound;
  return { bound, requestedName: toolName, input, climbed: await climb(input, bound, reading) };
}

/** A model is asked last, and only about a call that could run if its arguments fitted. */
async function mended(
  { bound, climbed, input, via }: WrittenCall,
  reading: CallReading,
  mender: CallMender,
): Promise<LadderOutcome> {
  if (climbed.type === 'ok' || bound === undefined || reading.open) return climbed;
  if (reading.availability({ toolName: bound.name, via }) !== 'callable') return climbed;
  const json = await mender.arguments(bound, input, climbed.message);
  const again = json === undefined ? climbed : await climb(json, bound, reading);
  if (again.type === 'invalid') return climbed;
  return { ...again, repaired: [...climbed.repaired, 'model', ...again.repaired] };
}

/** A call through a tool that passes calls on is a call of the tool it means, with the arguments for that one. */
async function passOn(written: WrittenCall, reading: CallReading): Promise<WrittenCall> {
  const { bound, climbed } = written;
  const forwarded = climbed.type === 'ok' ? bound?.forward?.(climbed.args) : undefined;
  if (bound === undefined || forwarded === undefined) return written;
  const input = JSON.stringify(forwarded.args);
  return {
    bound: forwarded.bound,
    requestedName: forwarded.requestedName,
    input,
    climbed: await climb(input, forwarded.bound, reading),
    via: bound.name,
  };
}

function climb(input: string, bound: BoundTool | undefined, reading: CallReading): Promise<LadderOutcome> {
  return climbLadder(input, bound, { open: reading.open, limits: reading.limits.arguments });
}

async function storedArguments(
  args: JsonObject,
  reading: CallReading,
  inlineBytes: number,
): Promise<Pick<RecordData<'tool.called'>, 'args' | 'argsRef'>> {
  const text = JSON.stringify(args);
  // A UTF-16 unit is at most three bytes: only long texts need a count.
  if (text.length * 3 <= inlineBytes || Buffer.byteLength(text) <= inlineBytes) return { args };
  const argsRef = await reading.ledger.putArtifact(Buffer.from(text), 'application/json');
  return { args: {}, argsRef };
}
