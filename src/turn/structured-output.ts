import { stepIdOf } from '../ids.ts';
import type { JsonValue } from '../ledger/content.ts';
import type { Failure, LedgerRecord } from '../ledger/records.ts';
import type { CallFacts } from '../ledger/turn-facts.ts';
import {
  jsonOfAnswer,
  type OutputContract,
  type OutputReading,
  SUBMIT_OUTPUT,
} from '../tools/output-contract.ts';
import type { TurnScope } from './turn-scope.ts';

/** What an agent's turns must yield, and how its model is asked for it. */
export interface OutputPlan {
  readonly contract: OutputContract;
  /** `native`: the provider is held to the schema. `submit`: the model hands the output in by a tool. */
  readonly mode: 'native' | 'submit';
}

/** Outputs of one turn that may be wrong before it fails: each but the last gets one further step. */
const MAX_REJECTED = 2;

/** What a step means for the output of its turn. */
export type OutputVerdict =
  /** The step was not meant to bring one. */
  | { readonly type: 'none' }
  | { readonly type: 'accepted'; readonly value: unknown; readonly json: JsonValue }
  /** The model was told what is wrong and has one further step. */
  | { readonly type: 'rejected' }
  | { readonly type: 'failed'; readonly failure: Failure };

/**
 * Judges what the last step brought. A rejection is a fact with the words the model is told, so that a turn taken up
 * by another process counts the same. @throws SwarmError when that fact could not be made durable
 */
export async function judgeOutput(
  scope: TurnScope,
  plan: OutputPlan,
  calls: readonly CallFacts[],
): Promise<OutputVerdict> {
  const submitted = calls.filter((call) => call.called.data.toolName === SUBMIT_OUTPUT);
  if (calls.length > 0 && submitted.length === 0) return { type: 'none' };
  const via = submitted.length > 0 ? 'call' : 'text';
  const reading = via === 'call' ? await readSubmitted(scope, plan, submitted) : await readText(scope, plan);
  if (reading === 'interrupted') return { type: 'none' };
  if (reading.type === 'valid') return { type: 'accepted', value: reading.value, json: reading.json };
  await reject(scope, via, via === 'call' ? reading.message : textComplaint(plan, reading.message));
  if (scope.progress.rejectedOutputs.size < MAX_REJECTED) return { type: 'rejected' };
  return { type: 'failed', failure: invalidOutput(reading.message) };
}

/** The failure of a turn that has no output its agent promises. */
export function invalidOutput(message: string): Failure {
  return { kind: 'output-invalid', message: `the output does not fit its schema: ${message}` };
}

async function reject(scope: TurnScope, via: 'call' | 'text', text: string): Promise<void> {
  const { progress, turnId, session } = scope;
  const step = stepIdOf(turnId, progress.steps);
  // A step judged again after a resume is the same rejection.
  if (progress.rejectedOutputs.has(step)) return;
  const attempt = progress.rejectedOutputs.size + 1;
  await session.log.commit([{ type: 'output.rejected', turn: turnId, step, data: { attempt, via, text } }]);
  progress.rejectedOutputs.add(step);
}

async function readText({ progress }: TurnScope, { contract }: OutputPlan): Promise<OutputReading> {
  const json = jsonOfAnswer(progress.text);
  return json === undefined ? { type: 'invalid', message: 'the answer is no JSON' } : contract.read(json);
}

function textComplaint({ mode }: OutputPlan, message: string): string {
  return mode === 'native'
    ? `Your answer was not accepted as the output: ${message}. Answer again, with nothing but the corrected JSON.`
    : `Your answer was not accepted as the output: ${message}. Hand the output in by calling ${SUBMIT_OUTPUT}.`;
}

/**
 * The first output that was taken, with what ran: a gate or a person may have changed it. One that an ended process
 * left open says nothing of the output.
 */
async function readSubmitted(
  { session }: TurnScope,
  { contract }: OutputPlan,
  calls: readonly CallFacts[],
): Promise<OutputReading | 'interrupted'> {
  const from = calls[0]?.called.seq ?? 1;
  const records = await session.ledger.read(session.sessionId, from);
  let complaint = `${SUBMIT_OUTPUT} was not carried out`;
  for (const call of calls) {
    const facts = records.filter((record) => record.call === call.callId);
    if (facts.some((fact) => fact.type === 'tool.settled' && fact.data.status === 'success')) {
      return contract.read(ranWith(call, facts));
    }
    if (facts.some((fact) => fact.type === 'tool.settled' && fact.data.status === 'interrupted')) {
      return 'interrupted';
    }
    complaint = facts.find((fact) => fact.type === 'tool.refused')?.data.text ?? complaint;
  }
  return { type: 'invalid', message: complaint };
}

function ranWith(call: CallFacts, facts: readonly LedgerRecord[]): JsonValue {
  const dispatched = facts.find((fact) => fact.type === 'tool.dispatched');
  return dispatched?.data.editedArgs ?? call.args;
}
