import { isSwarmError } from '../errors.ts';
import type { ArtifactRef, ToolOutput } from '../ledger/content.ts';
import { storeOutput } from '../ledger/media.ts';
import type { NewRecord, RecordData } from '../ledger/records.ts';
import type { BoundTool } from './binding.ts';
import { type Outcome, type Whole, withoutOutput } from './call-outcome.ts';
import type { Execution } from './execution.ts';
import { errorCode } from './refuse-call.ts';
import type { Settlement, SettlingCall } from './settlement.ts';

/** Tells the machine how an execution ended. */
export function sendOutcome(call: SettlingCall, outcome: Outcome, execution: Execution): void {
  const { machine } = call;
  if (execution.type === 'abandoned') machine.send({ type: 'GRACE_EXPIRED' });
  else if (execution.type === 'threw') machine.send({ type: 'THREW', kind: outcome.status });
  else machine.send({ type: 'RETURNED', outcome: outcome.status });
}

/** An execution that ended. */
export interface Settling {
  readonly operationId: string;
  readonly durationMs: number;
}

/**
 * T2: makes an outcome durable, then tells the machine.
 * @throws SwarmError when it could not be made durable
 */
export async function commitOutcome(
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

/** A fact of a call, in its place. */
export function factOf<T extends CallFactType>(call: SettlingCall, type: T, data: RecordData<T>): NewRecord {
  const { scope, facts } = call;
  // The pair of type and data is right by the signature; the union of records cannot see it.
  return { type, data, turn: scope.turnId, step: facts.stepId, call: facts.callId } as NewRecord;
}
