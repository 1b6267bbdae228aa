import { type ChildEnd, type ChildWatch, runChild } from '../agent/child-sessions.ts';
import type { AnyAgent } from '../agent/define-agent.ts';
import { type Ancestor, childLineage } from '../agent/lineage.ts';
import type { DecideIndeterminate } from '../agent/run-turn-job.ts';
import type { OpenSession } from '../agent/session-parts.ts';
import { childSessionIdOf, type SessionId } from '../ids.ts';
import type { GateRunner } from '../lifecycle/hooks.ts';
import type { StopCause } from '../turn/stop-signal.ts';
import type { RunScope } from '../turn/turn-scope.ts';
import type { WorkState } from './work-state.ts';

/** What the operators of one schedule work with. */
export interface OperatorParts {
  readonly session: OpenSession;
  /** The supervisor, as those below it see it. */
  readonly supervisor: Ancestor;
  readonly agents: ReadonlyMap<string, AnyAgent>;
  readonly run: RunScope;
  /** Hard ceiling of the run, by tool name. */
  readonly boundTools: readonly string[] | undefined;
  readonly decide: DecideIndeterminate;
  /** Gates of the runtime and of the supervisor. */
  readonly gates: GateRunner;
}

/** A work that is entered. */
export interface EnteredWork {
  readonly work: WorkState;
  /** Id of the fact of that; names the turn of the operator's session that is this work. */
  readonly entry: string;
  readonly prompt: string;
  /** Ends it, and everything below it. */
  readonly signal: AbortSignal;
  stopCause(): StopCause;
  readonly watch: ChildWatch;
}

/** One session an operator: its works are turns of that session, one after the other. */
export function operatorSession(session: string, operator: string): SessionId {
  return childSessionIdOf(session, `operator ${operator}`);
}

/** Runs one work to the end of its turn; settles only when everything below it has. Never rejects. */
export async function runOperator(parts: OperatorParts, entered: EnteredWork): Promise<ChildEnd> {
  const { session, supervisor, run, boundTools, decide } = parts;
  const { work, entry, prompt, signal, watch } = entered;
  const { identity } = session.log;
  const agent = parts.agents.get(work.operator.spec.target ?? '');
  const sessionId = operatorSession(identity.session, work.operator.spec.operator);
  if (agent === undefined) return unknownAgent(work, sessionId);
  session.child({ type: 'CHILD_STARTED', childId: sessionId });
  const end = await runChild(session.parts, {
    sessionId,
    agent,
    input: [{ type: 'text', text: prompt }],
    cause: entry,
    parent: { session: identity.session, root: identity.root },
    lineage: childLineage(supervisor, agent),
    run,
    boundTools,
    signal,
    stopCause: () => entered.stopCause(),
    decide,
    watch,
  });
  session.child({ type: 'CHILD_DONE', childId: sessionId, status: end.type });
  return end;
}

/** A definition that is gone since the work was scheduled. */
function unknownAgent({ operator }: WorkState, session: SessionId): ChildEnd {
  const message = `the agent ${operator.spec.target ?? ''} is not one of the swarm any more`;
  return {
    type: 'failed',
    failure: { kind: 'unknown-agent', message },
    text: '',
    usage: { total: {}, byAgent: {}, reported: {} },
    steps: 0,
    toolCalls: 0,
    last: { session, head: undefined },
  };
}

/** Asks the gates before a child about a work: the text it goes on with, or why it does not. */
export async function passChildGate(
  { session, supervisor, gates }: OperatorParts,
  work: WorkState,
  prompt: string,
  signal: AbortSignal,
): Promise<
  { readonly type: 'passed'; readonly prompt: string } | { readonly type: 'refused'; readonly reason: string }
> {
  if (!gates.has('beforeChild')) return { type: 'passed', prompt };
  const { session: sessionId } = session.log.identity;
  const { operator, target = '' } = work.operator.spec;
  // The operator is named by the place of the call that asked for it.
  const [turn = '', step = '', call = ''] = operator.slice(1).split('.');
  const result = await gates.run(
    'beforeChild',
    {
      sessionId,
      agentPath: supervisor.lineage.agentPath,
      turnId: `${sessionId}.${turn}`,
      stepId: `${sessionId}.${turn}.${step}`,
      callId: `${sessionId}.${turn}.${step}.${call}`,
      childSessionId: operatorSession(sessionId, operator),
      childAgent: target,
      input: prompt,
    },
    signal,
  );
  return result.type === 'refuse'
    ? { type: 'refused', reason: result.reason }
    : { type: 'passed', prompt: result.subject.input };
}
