import fc from 'fast-check';
import type { AgentDefinition } from '../../src/agent/define-agent.ts';
import type { Run } from '../../src/agent/run.ts';
import { SwarmError } from '../../src/errors.ts';
import type { ApprovalDecision, RunResult, Runtime, SteeringOutcome } from '../../src/index.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { failure, type Reply, reply } from '../../src/testing/reply.ts';
import type { ScriptedResponse } from '../../src/testing/script.ts';
import { type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts';
import type { Tool } from '../../src/tools/tool.ts';
import type { SeenEntry, SeenRequest } from '../invariants/witness.ts';
import { createToolSpy } from './tool-spy.ts';

const CALLS = ['ok', 'slow', 'fails', 'asks', 'alone', 'unknown', 'invalid'] as const;
type CallKind = (typeof CALLS)[number];

/** What the model answers to one request. */
export type PlannedAnswer =
  | { readonly type: 'text' | 'silent-end' | 'breaks' | 'overloaded' | 'refused' | 'overflow' }
  | { readonly type: 'calls'; readonly calls: readonly CallKind[] };

/** Something from outside, at the so-manieth thing that happens. */
export interface PlannedAction {
  readonly at: number;
  readonly what: 'steer' | 'cancel' | 'stop-after-step';
}

/** A session's life, drawn at random. */
export interface Plan {
  readonly answers: readonly PlannedAnswer[];
  readonly actions: readonly PlannedAction[];
  readonly decisions: readonly ApprovalDecision['decision'][];
  readonly runs: number;
  readonly steps: number;
  readonly toolConcurrency: number;
  readonly toolCalls: number;
}

const answer: fc.Arbitrary<PlannedAnswer> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .array(fc.constantFrom(...CALLS), { minLength: 1, maxLength: 4 })
      .map((calls) => ({ type: 'calls' as const, calls })),
  },
  { weight: 3, arbitrary: fc.constant({ type: 'text' as const }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom('silent-end' as const, 'overloaded' as const).map((type) => ({ type })),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('breaks' as const, 'refused' as const, 'overflow' as const)
      .map((type) => ({ type })),
  },
);

/** Plans of up to three inputs to one session. */
export const plans: fc.Arbitrary<Plan> = fc.record({
  answers: fc.array(answer, { maxLength: 8 }),
  actions: fc.array(
    fc.record({
      at: fc.nat({ max: 40 }),
      what: fc.constantFrom(
        'steer' as const,
        'steer' as const,
        'cancel' as const,
        'stop-after-step' as const,
      ),
    }),
    { maxLength: 4 },
  ),
  decisions: fc.array(fc.constantFrom('approve' as const, 'deny' as const), { maxLength: 6 }),
  runs: fc.integer({ min: 1, max: 3 }),
  steps: fc.integer({ min: 1, max: 6 }),
  toolConcurrency: fc.constantFrom(1, 2, Number.POSITIVE_INFINITY),
  toolCalls: fc.constantFrom(0, 2, 5, 100),
});

/** A plan at work: counts what happens, acts at the planned moments, and sees what the invariants are about. */
export interface PlannedPlay {
  readonly model: ScriptedModel;
  readonly agent: Pick<AgentDefinition<unknown>, 'model' | 'tools' | 'limits'>;
  readonly requests: readonly SeenRequest[];
  readonly entries: readonly SeenEntry[];
  /** Counts one more thing that happens. */
  happen(): void;
  /** Whom the actions are for from now on. */
  attend(run: Run<unknown>): void;
  /** What became of every text. */
  steered(): Promise<readonly SteeringOutcome[]>;
}

export function playPlan(plan: Plan, ledger: Ledger, session: string): PlannedPlay {
  const requests: SeenRequest[] = [];
  const entries: SeenEntry[] = [];
  const texts: Promise<SteeringOutcome>[] = [];
  let happened = 0;
  let current: Run<unknown> | undefined;
  let asked = 0;

  const happen = () => {
    happened += 1;
    for (const { at, what } of plan.actions) {
      if (at !== happened || current === undefined) continue;
      // Two texts in three are the same: identity is not their words.
      if (what === 'steer') texts.push(current.steer(`text ${texts.length % 3 === 2 ? 'other' : 'same'}.`));
      else if (what === 'cancel') current.cancel('planned');
      else current.stopAfterStep();
    }
  };
  const model = scriptedModel({
    async script({ messages }) {
      requests.push({ messages, durable: await ledger.read(session) });
      happen();
      const planned = plan.answers[asked];
      asked += 1;
      return responseOf(planned ?? { type: 'text' }, asked);
    },
  });
  const see = async (operationId: string) => {
    entries.push({ operationId, durable: await ledger.read(session) });
    happen();
  };
  return {
    model,
    agent: {
      model,
      tools: plannedTools(see),
      limits: {
        steps: plan.steps,
        toolConcurrency: plan.toolConcurrency,
        attempts: { baseDelayMs: 0, max: 3 },
        tools: { identicalFailures: Number.POSITIVE_INFINITY },
      },
    },
    requests,
    entries,
    happen,
    attend(run) {
      current = run;
    },
    steered: () => Promise.all(texts),
  };
}

function responseOf(planned: PlannedAnswer, ordinal: number): ScriptedResponse {
  switch (planned.type) {
    case 'text':
      return reply().text(`Answer ${ordinal}.`).usage(10, 5);
    case 'silent-end':
      return reply().finish(null);
    case 'breaks':
      return reply().text('Half').destroy();
    case 'overloaded':
      return failure({ kind: 'overloaded' });
    case 'refused':
      return failure({ kind: 'auth' });
    case 'overflow':
      return failure({ kind: 'context-overflow' });
    case 'calls':
      return planned.calls.reduce(addCall, reply().text('Calling.')).usage(10, 5);
  }
}

function addCall(answer: Reply, call: CallKind, at: number): Reply {
  // Ids repeat from answer to answer, as those of some providers do.
  const quirks = { id: `call:${at}` };
  if (call === 'invalid') return answer.call('ok', { ident: 1 }, quirks);
  return answer.call(call, { id: `${at}` }, quirks);
}

function plannedTools(see: (operationId: string) => Promise<void>): readonly Tool<unknown>[] {
  const spy = createToolSpy();
  const enters = async (ctx: { readonly operationId: string }, value: unknown) => {
    await see(ctx.operationId);
    return value;
  };
  return [
    spy.tool('ok', ({ id }, ctx) => enters(ctx, `ok ${id}`)),
    spy.tool('slow', async ({ id }, ctx) => {
      await enters(ctx, undefined);
      for (let at = 0; at < 5; at += 1) await new Promise(setImmediate);
      ctx.signal.throwIfAborted();
      return { id };
    }),
    spy.tool('fails', async (_, ctx) => {
      await enters(ctx, undefined);
      throw new SwarmError('fault-injected', 'planned');
    }),
    spy.tool('asks', ({ id }, ctx) => enters(ctx, `asked ${id}`), { needsApproval: true }),
    spy.tool('alone', ({ id }, ctx) => enters(ctx, `alone ${id}`), { exclusive: true }),
  ];
}

/** Decides what a run asks, in the order of the plan, until the run is over; denies what the plan does not know. */
export async function decideAsPlanned(
  runtime: Runtime,
  run: Run<unknown>,
  decisions: Iterator<ApprovalDecision['decision']>,
): Promise<RunResult<unknown>> {
  void (async () => {
    for await (const event of run.events()) {
      if (event.type !== 'approval.requested') continue;
      const next = decisions.next();
      const decision = next.done === true ? 'deny' : next.value;
      // A cancel may come first: the request is then settled.
      await runtime.approvals.decide(event.data.request, { decision }).catch(() => undefined);
    }
  })();
  return run.result;
}
