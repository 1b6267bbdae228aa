import type { EFFECT_HOOKS, EffectHookName, GateHookName } from '../../machines/hooks.ts';
import type { LedgerRecord } from '../ledger/records.ts';
import type { GateSubjects } from './gate-subjects.ts';
import type {
  AgentObservers,
  GraphObservers,
  StepObservers,
  ToolCallObservers,
  TurnObservers,
} from './observer-hooks.ts';

export type { GateSubjects } from './gate-subjects.ts';

/** What a gate may use besides its subject. */
export interface GateContext {
  /** Aborts at the deadline of the gate and when the work it stands before is stopped. */
  readonly signal: AbortSignal;
}

/**
 * What a gate says: nothing (go on), a refusal with a reason that may reach a model or a user, or another
 * subject to go on with.
 */
export type GateAnswer<S> =
  | undefined
  | { readonly refuse: string; readonly replace?: never }
  | { readonly replace: S; readonly refuse?: never };

/**
 * Awaited before something happens. It gets a frozen copy of its subject. One that throws, or has not answered
 * within `limits.timeouts.gateMs`, refuses.
 */
export type Gate<S> = (subject: S, context: GateContext) => GateAnswer<S> | PromiseLike<GateAnswer<S>>;

/** How it came to a refusal. */
export type GateRefusalCause = 'refused' | 'threw' | 'late' | 'stopped' | 'forbidden-change';

/** What all gates of a point came to. Where none changed anything, `subject` is the very one that was given. */
export type GateResult<S> =
  | { readonly type: 'allow'; readonly subject: S }
  | {
      readonly type: 'refuse';
      readonly reason: string;
      /** The hook that refused, as `<name of the hooks>.<hook>`. */
      readonly by: string;
      readonly cause: GateRefusalCause;
    };

/** The gates that stand before one agent's work, in declared order. */
export interface GateRunner {
  /** Whether a gate is declared: a subject that costs something to build is built only then. */
  has(name: GateHookName): boolean;
  /**
   * Asks each gate in order, each with what the one before left. Never rejects. `signal` ends the wait: the
   * result is then a refusal with the cause `stopped`.
   */
  run<N extends GateHookName>(
    name: N,
    subject: GateSubjects[N],
    signal: AbortSignal,
  ): Promise<GateResult<GateSubjects[N]>>;
}

/** The durable record an effect is bound to. */
export type EffectFact<N extends EffectHookName> = LedgerRecord & { readonly type: (typeof EFFECT_HOOKS)[N] };

/** What an effect may use besides its fact. */
export interface EffectContext {
  /** Id of the fact: the same on every repetition, for use as idempotency key. */
  readonly id: string;
  /** Aborts at the deadline of the effect and when the runtime closes. */
  readonly signal: AbortSignal;
}

/**
 * Runs after its fact is durable, at least once, also after a crash. One that throws, or takes longer than
 * `limits.timeouts.gateMs`, is counted and runs again when the session is next opened.
 */
export type Effect<N extends EffectHookName> = (
  fact: EffectFact<N>,
  context: EffectContext,
) => void | PromiseLike<void>;

/** Hooks that may change or refuse what is about to happen. */
export interface GateHooks {
  /** Admission of an input. May change `input`. */
  readonly beforeTurn?: Gate<GateSubjects['beforeTurn']>;
  /** The projected request. May change `system` and `messages`; a refusal fails the turn. */
  readonly beforeRequest?: Gate<GateSubjects['beforeRequest']>;
  /** The frozen step; a refusal fails the turn. */
  readonly beforeStep?: Gate<GateSubjects['beforeStep']>;
  /** Admission of a call, before permission. May change `input`, which is then validated again. */
  readonly beforeToolCall?: Gate<GateSubjects['beforeToolCall']>;
  /** A permitted call, just before its intent is committed. */
  readonly beforeToolExecute?: Gate<GateSubjects['beforeToolExecute']>;
  /** A steering text. May change `text`; a refusal leaves it undelivered. */
  readonly beforeSteering?: Gate<GateSubjects['beforeSteering']>;
  /** Tools a search found. May change `names`, within those found. */
  readonly beforeActivation?: Gate<GateSubjects['beforeActivation']>;
  /** A fold of history. */
  readonly beforeCompaction?: Gate<GateSubjects['beforeCompaction']>;
  /** A child session. May change `input`. */
  readonly beforeChild?: Gate<GateSubjects['beforeChild']>;
  /** Another step; a refusal ends the turn. */
  readonly beforeContinue?: Gate<GateSubjects['beforeContinue']>;
  /** The end of a turn; a refusal asks for one more step, and its reason is what the model is told. */
  readonly beforeComplete?: Gate<GateSubjects['beforeComplete']>;
}

/** Hooks that run after a fact is durable. */
export interface EffectHooks {
  readonly afterTurn?: Effect<'afterTurn'>;
  readonly afterStep?: Effect<'afterStep'>;
  readonly afterToolCall?: Effect<'afterToolCall'>;
  readonly afterSteering?: Effect<'afterSteering'>;
  readonly afterApproval?: Effect<'afterApproval'>;
  readonly afterActivation?: Effect<'afterActivation'>;
  readonly afterCompaction?: Effect<'afterCompaction'>;
  /** A child that was asked ended. A work of a graph or a swarm is a node: `afterNode`. */
  readonly afterChild?: Effect<'afterChild'>;
  /** An attempt of a node ended. */
  readonly afterNode?: Effect<'afterNode'>;
  /** A graph ended. */
  readonly afterGraph?: Effect<'afterGraph'>;
}

/**
 * Hooks of a runtime or an agent; those of the runtime come first. Three kinds with different powers: `on*`
 * observers are told, `before*` gates may change or refuse, `after*` effects run once a fact is durable.
 *
 * @example
 * const hooks: Hooks = {
 *   name: 'policy',
 *   onToolStarted: (record) => console.log(record.meta['toolName']),
 *   beforeToolCall: ({ toolName }) => (toolName === 'deploy' ? { refuse: 'Not on Fridays.' } : undefined),
 * };
 */
export interface Hooks
  extends TurnObservers,
    StepObservers,
    ToolCallObservers,
    AgentObservers,
    GraphObservers,
    GateHooks,
    EffectHooks {
  /** Shown where one of its gates refuses, and part of the key of its effects; default `hooks<position>`. */
  readonly name?: string;
}
