import { childSessionIdOf } from '../ids.ts';
import type { NewRecord } from '../ledger/records.ts';
import { type RuntimeToolContext, RuntimeToolResult } from '../tools/runtime-tool.ts';
import { exceededRecord, type TreeRefusal } from '../turn/run-budget.ts';
import type { AnyAgent } from './define-agent.ts';
import { nameOfTarget } from './delegation.ts';
import type { DelegationScope } from './delegations.ts';
import { oversizedInput } from './oversized-input.ts';

/** One handoff that is wanted. */
interface Handing {
  readonly scope: DelegationScope;
  readonly to: string;
  readonly message: string;
  readonly ctx: RuntimeToolContext;
}

/**
 * Hands the turn over to another agent: the fact is durable with the result of the call, the turn ends after its step,
 * and the session of the other agent begins with the message alone. Over the limit of handoffs the turn fails: agents
 * that only pass a conversation on would not stop by themselves.
 */
export async function takeHandoff(
  scope: DelegationScope,
  target: AnyAgent | string,
  input: unknown,
  ctx: RuntimeToolContext,
): Promise<RuntimeToolResult> {
  // Arguments were validated against the schema of the tool.
  const { message } = input as { readonly message: string };
  const handing: Handing = { scope, to: nameOfTarget(target), message, ctx };
  const { turn, self } = scope;
  const { budget } = turn.run;
  if (turn.stop.afterStep)
    return refused(handing, { code: 'stopped', why: 'the run is to end after this step' });
  const over = budget.reserveHandoff(self.limits.handoffs);
  if (over !== undefined) return overLimit(handing, over);
  const tooMany = budget.reserveAgent(self.limits.agents);
  if (tooMany !== undefined) {
    budget.releaseHandoff();
    return refused(handing, {
      code: 'agent-limit',
      why: `the run may have ${tooMany.limit} agents`,
      facts: [exceededRecord(ctx.turnId, tooMany)],
    });
  }
  const result = await handOver(handing);
  if (result.output.type === 'error') {
    budget.releaseHandoff();
    budget.releaseAgent();
  }
  return result;
}

async function handOver(handing: Handing): Promise<RuntimeToolResult> {
  const { scope, to, ctx } = handing;
  const { turn, request } = scope;
  const { sessionId, agentPath, turnId, stepId, callId, signal } = ctx;
  const session = childSessionIdOf(sessionId, callId);
  const place = { sessionId, agentPath, turnId, stepId, callId };
  const subject = { ...place, childSessionId: session, childAgent: to, input: handing.message };
  const gate = await turn.plan.gates.run('beforeChild', subject, signal);
  if (gate.type === 'refuse') return refused(handing, { code: 'gate-refused', why: gate.reason });
  if (signal.aborted) return refused(handing, { code: 'cancelled', why: 'the turn was stopped' });
  const { input } = gate.subject;
  const oversized = oversizedInput([{ type: 'text', text: input }], scope.self.limits);
  if (oversized !== undefined) return refused(handing, { code: 'input-too-large', why: oversized });
  const text = `The conversation is handed over from ${request.agent.name} to ${to}.`;
  return new RuntimeToolResult(
    { type: 'text', text },
    [factOf(handing, { type: 'handoff.taken', data: { to, child: session, input } })],
    () => {
      turn.progress.handoff = { to, session, input };
    },
  );
}

/** Told to the model for the record; the turn ends with it. */
function overLimit(handing: Handing, over: TreeRefusal): RuntimeToolResult {
  const { scope, to, ctx } = handing;
  const path = [...scope.request.lineage.agentPath, to];
  const message = `the run may have ${over.limit} handoffs, and ${path.join(' > ')} would be one more`;
  return refused(handing, {
    code: 'handoff-limit',
    why: message,
    facts: [exceededRecord(ctx.turnId, over)],
    settled: () => scope.turn.stop.stop({ type: 'failed', failure: { kind: 'handoff-limit', message } }),
  });
}

interface Refused {
  readonly code: string;
  readonly why: string;
  readonly facts?: readonly NewRecord[];
  readonly settled?: () => void;
}

function refused(handing: Handing, { code, why, facts = [], settled }: Refused): RuntimeToolResult {
  const { to } = handing;
  const output = { type: 'error', text: `${to} was not taken: ${why}. [${code}]` } as const;
  const refusal = factOf(handing, { type: 'handoff.refused', data: { to, reason: code } });
  return new RuntimeToolResult(output, [refusal, ...facts], settled, { code });
}

type HandoffFact = Pick<Extract<NewRecord, { readonly type: `handoff.${string}` }>, 'type' | 'data'>;

function factOf({ ctx }: Handing, fact: HandoffFact): NewRecord {
  // The pair of type and data is right where it is made; the union of records cannot see it.
  return { ...fact, turn: ctx.turnId, step: ctx.stepId, call: ctx.callId } as NewRecord;
}
