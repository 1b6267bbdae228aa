import { type CallId, operationIdOf } from '../ids.ts';
import type { JsonValue, ToolOutput } from '../ledger/content.ts';
import type { NewRecord, RecordData } from '../ledger/records.ts';
import { type CallFacts, effectiveArgs } from '../ledger/turn-facts.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { BoundTool } from './binding.ts';
import { dispatchCall, reattachCall } from './dispatch.ts';
import { toolContext } from './enter-tool.ts';
import { executeWithin } from './execution.ts';
import { materializeOutput } from './output-bounds.ts';
import type { Settlement, SettlementScope, SettlingCall } from './settlement.ts';
import type { ReconcileResult, ToolContext } from './tool.ts';

/** What is to become of a call that was entered and whose outcome is unknown. Nothing happens on its own. */
export type IndeterminateDecision = 'block' | 'retry' | 'abandon' | { readonly settle: JsonValue };

/**
 * Carries out a decision on a call with T1 and without T2. Each is a fact before it has an effect; `retry` enters
 * the implementation exactly once more. With `block` (the default) a tool of recovery mode `reconcile` is asked
 * what became of the call, and its answer is the decision.
 * @throws SwarmError when a fact could not be made durable
 */
export async function reconcileCall(
  facts: CallFacts,
  scope: SettlementScope,
  decision: IndeterminateDecision,
): Promise<Settlement> {
  const call: SettlingCall = { facts, scope, machine: restoredMachine(facts, scope) };
  const bound = scope.binding.byName(facts.called.data.toolName);
  if (bound?.waitsForSessions === true) return reattach(call, bound);
  if (bound?.runtimeOwned === true || facts.dispatched?.data.own === true) return settleInterrupted(call);
  if (decision === 'block') {
    const asked = bound === undefined ? UNKNOWN : await askTool(call, bound);
    return followAnswer(call, bound, asked);
  }
  if (decision === 'abandon') return settleBy(call, 'abandon', 'abandoned', abandonedOutput(facts));
  if (decision === 'retry') return retry(call, bound, 'retry');
  const made = materializeOutput(asIs(facts), decision.settle, scope.limits);
  return settleBy(call, 'settle', 'success', made.output);
}

/** Takes its place among the calls that may run at once; nobody can skip what was entered before. */
async function reattach(call: SettlingCall, bound: BoundTool): Promise<Settlement> {
  const slot = await call.scope.enterSlot(call.facts.callId);
  if (slot.type === 'detached') return slot;
  try {
    return await reattachCall(call, bound);
  } finally {
    if (slot.type === 'place') slot.leave();
  }
}

const UNKNOWN: ReconcileResult<unknown> = { type: 'unknown' };

async function followAnswer(
  call: SettlingCall,
  bound: BoundTool | undefined,
  answer: ReconcileResult<unknown>,
): Promise<Settlement> {
  if (answer.type === 'completed') {
    const made = materializeOutput(bound?.tool ?? asIs(call.facts), answer.output, call.scope.limits);
    return settleBy(call, 'reconciled', 'success', made.output);
  }
  if (answer.type === 'not-executed') return retry(call, bound, 'reconciled');
  return block(call);
}

/** Asks a tool of mode `reconcile`; what it throws or takes too long for is no answer. */
async function askTool(call: SettlingCall, bound: BoundTool): Promise<ReconcileResult<unknown>> {
  const { scope, facts } = call;
  const { tool } = bound;
  const { reconcile } = tool;
  if (tool.recovery !== 'reconcile' || reconcile === undefined) return UNKNOWN;
  const validation = await bound.validate(effectiveArgs(facts));
  if (validation.type === 'invalid') return UNKNOWN;
  const operationId = operationIdOf(facts.callId as CallId);
  const execution = await executeWithin({
    clock: scope.clock,
    timeoutMs: tool.timeoutMs ?? scope.limits.tools.timeoutMs,
    graceMs: scope.limits.tools.graceMs,
    signal: scope.signal,
    // As in dispatch: the run checked the context type where the agent was given.
    enter: (signal) => {
      const ctx: ToolContext = toolContext(call, operationId, signal);
      return reconcile(validation.value, ctx as ToolContext<never>);
    },
    onAborting: () => undefined,
    onLate: () => undefined,
  });
  return execution.type === 'returned' && isAnswer(execution.value) ? execution.value : UNKNOWN;
}

/** What somebody else says of an outcome is shown as they say it, without the tool's own mapping. */
function asIs(facts: CallFacts): Parameters<typeof materializeOutput>[0] {
  return { name: facts.called.data.toolName, maxResultBytes: undefined, toModelOutput: undefined };
}

function isAnswer(value: unknown): value is ReconcileResult<unknown> {
  if (typeof value !== 'object' || value === null || !('type' in value)) return false;
  return value.type === 'completed' || value.type === 'not-executed' || value.type === 'unknown';
}

async function block(call: SettlingCall): Promise<Settlement> {
  const { facts, scope, machine } = call;
  const reason = 'the process ended between the start of the tool and its outcome';
  if (facts.indeterminate === undefined) {
    const { toolName } = facts.called.data;
    const operationId = operationIdOf(facts.callId as CallId);
    await scope.commit([factOf(call, 'tool.indeterminate', { operationId, toolName, reason })]);
  }
  machine.send({ type: 'OUTCOME_LOST', reason });
  return { type: 'indeterminate' };
}

/** A tool of the runtime has no effect outside: its call just has no result, and the model may call it again. */
async function settleInterrupted(call: SettlingCall): Promise<Settlement> {
  const { facts, scope, machine } = call;
  const { toolName } = facts.called.data;
  const operationId = operationIdOf(facts.callId as CallId);
  const output: ToolOutput = {
    type: 'error',
    text: `${toolName} was interrupted; call it again if it is still needed.`,
  };
  await scope.commit([
    factOf(call, 'tool.settled', { operationId, toolName, status: 'interrupted', output, durationMs: 0 }),
  ]);
  machine.send({ type: 'SETTLED_BY_DECISION', decision: 'interrupted', outcome: 'interrupted' });
  machine.send({ type: 'COMMITTED' });
  return { type: 'settled', endsTurn: false };
}

async function settleBy(
  call: SettlingCall,
  decision: 'settle' | 'abandon' | 'reconciled',
  status: 'success' | 'abandoned',
  output: ToolOutput,
): Promise<Settlement> {
  const { facts, scope, machine } = call;
  const { toolName } = facts.called.data;
  const operationId = operationIdOf(facts.callId as CallId);
  await scope.commit([
    factOf(call, 'tool.reconciled', { operationId, decision, actor: actorOf(decision) }),
    factOf(call, 'tool.settled', { operationId, toolName, status, output, durationMs: 0 }),
  ]);
  machine.send({ type: 'SETTLED_BY_DECISION', decision, outcome: status });
  machine.send({ type: 'COMMITTED' });
  return { type: 'settled', endsTurn: false };
}

async function retry(
  call: SettlingCall,
  bound: BoundTool | undefined,
  decision: 'retry' | 'reconciled',
): Promise<Settlement> {
  const { facts, scope, machine } = call;
  if (bound === undefined) return block(call);
  const operationId = operationIdOf(facts.callId as CallId);
  const generation = (facts.dispatched?.data.generation ?? 0) + 1;
  const evidence = decision === 'retry' ? {} : { evidence: 'the tool says that it was not executed' };
  await scope.commit([
    factOf(call, 'tool.reconciled', {
      operationId,
      decision: 'retry',
      actor: actorOf(decision),
      ...evidence,
    }),
  ]);
  machine.send({ type: 'OUTCOME_LOST', reason: 'retried' });
  const again: SettlingCall = { ...call, machine: nextGeneration(call, generation) };
  const args = effectiveArgs(facts);
  const edited = args === facts.args ? undefined : 'person';
  return dispatchCall(again, bound, { args, edited, answer: facts.decided?.data.answer }, generation);
}

function actorOf(decision: 'retry' | 'settle' | 'abandon' | 'reconciled'): string {
  return decision === 'reconciled' ? 'tool' : 'resume';
}

function abandonedOutput(facts: CallFacts): ToolOutput {
  const { toolName } = facts.called.data;
  return {
    type: 'error',
    text: `${toolName} was interrupted and given up; whether it had an effect is unknown.`,
  };
}

function restoredMachine(facts: CallFacts, scope: SettlementScope): Lifecycle<'tool-call'> {
  const generation = facts.dispatched?.data.generation ?? 0;
  return startAt(facts, scope, generation, [
    { type: 'ADMITTED' },
    { type: 'CLEARED' },
    { type: 'PREPARED', operationId: operationIdOf(facts.callId as CallId) },
  ]);
}

function nextGeneration(call: SettlingCall, generation: number): Lifecycle<'tool-call'> {
  const machine = startAt(call.facts, call.scope, generation, []);
  machine.send({ type: 'ADMITTED' });
  machine.send({ type: 'CLEARED' });
  return machine;
}

function startAt(
  facts: CallFacts,
  scope: SettlementScope,
  generation: number,
  replay: Parameters<typeof scope.lifecycle.start<'tool-call'>>[1]['replay'] & {},
): Lifecycle<'tool-call'> {
  const { toolName } = facts.called.data;
  return scope.lifecycle.start('tool-call', {
    id: generation === 0 ? facts.callId : `${facts.callId}#${generation}`,
    parentId: scope.turnId,
    rootId: scope.rootId,
    session: scope.sessionId,
    input: {
      callId: facts.callId,
      stepId: facts.stepId,
      toolName,
      origin: 'model',
      recovery: scope.binding.byName(toolName)?.tool.recovery ?? 'never_auto_retry',
      generation,
    },
    replay,
  });
}

type DecisionFact = 'tool.reconciled' | 'tool.settled' | 'tool.indeterminate';

function factOf<T extends DecisionFact>(call: SettlingCall, type: T, data: RecordData<T>): NewRecord {
  // The pair of type and data is right by the signature; the union of records cannot see it.
  return {
    type,
    data,
    turn: call.scope.turnId,
    step: call.facts.stepId,
    call: call.facts.callId,
  } as NewRecord;
}
