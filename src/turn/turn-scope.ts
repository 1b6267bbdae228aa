import type { Clock } from '../clock.ts';
import type { LiveBus } from '../events/live-bus.ts';
import type { SessionId, TurnId } from '../ids.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { NewRecord, RecordData } from '../ledger/records.ts';
import type { SessionLog } from '../ledger/session-log.ts';
import type { GateRunner } from '../lifecycle/hooks.ts';
import type { Lifecycle, LifecycleHost } from '../lifecycle/lifecycle.ts';
import type { Limits } from '../limits.ts';
import type { Model, ModelSettings } from '../model/adapter.ts';
import type { ApprovalDesk, RememberedDecision } from '../tools/approvals.ts';
import type { Binding } from '../tools/binding.ts';
import type { DiscoveryPolicy } from '../tools/discovery-policy.ts';
import type { LiveTools } from '../tools/live-binding.ts';
import type { LoopGate } from '../tools/loop-gate.ts';
import type { PermissionPolicy } from '../tools/permission.ts';
import type { CachedPrefix } from './cache-watch.ts';
import type { ClosedTurn } from './close-turn.ts';
import type { CompactionPlan } from './compaction.ts';
import type { Conversation } from './conversation.ts';
import type { LeftStep } from './left-step.ts';
import type { PersonWatch } from './person-watch.ts';
import type { RunBudget } from './run-budget.ts';
import type { SteeringQueue } from './steering-queue.ts';
import type { StopSignal } from './stop-signal.ts';
import type { OutputPlan } from './structured-output.ts';
import type { TokenEstimate } from './token-estimate.ts';
import type { TurnTools } from './turn-tools.ts';
import type { UsageMeter } from './usage-meter.ts';

/** What a turn takes from its agent's definition: resolved, frozen, the same for all its steps. */
export interface TurnPlan {
  readonly agent: string;
  readonly model: Model;
  readonly instructions: string;
  readonly settings: ModelSettings;
  /** What the turn opens with; live tools may change it between two steps. */
  readonly binding: Binding;
  /** Names of tools the turn has beside those of the binding. */
  readonly required: readonly string[];
  /** Names the run may use at most, where it has a ceiling. */
  readonly ceiling?: readonly string[];
  /** Tools that come and go. Absent: the binding stays what it is. */
  readonly live?: LiveTools;
  readonly limits: Limits;
  readonly permission: readonly PermissionPolicy[];
  /** Gates of the runtime, then those of the agent. */
  readonly gates: GateRunner;
  readonly discovery: DiscoveryPolicy;
  /** Whole requests are kept as artifacts. */
  readonly capturesRequests: boolean;
  /** Whether the source of a bound tool still has it; asked anew for each call. Absent: every source has what it gave. */
  readonly isLive?: (name: string) => boolean;
  /** How the history is folded; absent where it never is. */
  readonly compaction?: CompactionPlan;
  /** What the turn must yield beside text. */
  readonly output?: OutputPlan;
  /** The last allowed step may call no tool, so that it brings an answer. */
  readonly answersAtLastStep: boolean;
}

/** What a turn shares with everything else its run causes. */
export interface RunScope {
  readonly runId: string;
  /** What the caller gave the run. */
  readonly context: unknown;
  readonly onApproval: 'wait' | 'pause';
  readonly budget: RunBudget;
  readonly usage: UsageMeter;
  /** Text deltas and the like: shown to whoever looks, never kept. */
  readonly live: LiveBus;
}

/** The session a turn belongs to, as its owner holds it. */
export interface TurnSession {
  readonly sessionId: SessionId;
  readonly rootId: string;
  readonly agentPath: readonly string[];
  readonly ledger: Ledger;
  readonly log: SessionLog;
  readonly conversation: Conversation;
  /** Decisions that hold for the session. */
  readonly memory: Map<string, RememberedDecision>;
  readonly clock: Clock;
  readonly lifecycle: LifecycleHost;
  /** 0 to 1, for jitter alone. */
  readonly random: () => number;
  /** Records a fact that may come when the turn is over and the session given back. Never throws. */
  report(record: NewRecord): void;
  /** A text for the turn was accepted. */
  steered(): void;
}

/**
 * All mutable state of exactly one turn. Made when the turn opens, dropped on every way out; nothing in it is
 * shared with another turn, a parent or a child.
 */
export interface TurnScope {
  readonly turnId: TurnId;
  /** No fact of the turn stands before this sequence of its session. */
  readonly fromSeq: number;
  readonly plan: TurnPlan;
  readonly run: RunScope;
  readonly session: TurnSession;
  readonly machine: Lifecycle<'turn'>;
  readonly stop: StopSignal;
  readonly approvals: ApprovalDesk;
  readonly loopGate: LoopGate;
  readonly steering: SteeringQueue;
  readonly tools: TurnTools;
  readonly people: PersonWatch;
  readonly progress: TurnProgress;
  readonly context: ContextState;
  /** Usage of this turn alone. */
  readonly turnUsage: UsageMeter;
  /** Makes the last facts of the turn durable. @throws SwarmError as `log.commit` of its session */
  commitEnd(batch: readonly NewRecord[], end: ClosedTurn): Promise<unknown>;
}

/** What the tools of one request are and cost: those that are visible, and no others. */
export type ToolsMeasure = NonNullable<RecordData<'turn.closed'>['tools']>;

/** What a turn has learned of the room for its requests. */
export interface ContextState {
  readonly estimate: TokenEstimate;
  /** Tokens of the request for which no fold could be made: the next attempt waits until there is more to fold. */
  skippedAt?: number;
  /** The window as a provider's refusal showed it, where it is smaller than it was said to be. */
  windowTokens?: number;
  /** What the provider's cache held of the last request. */
  cached?: CachedPrefix | undefined;
  /** Tokens, before calibration, of a refused request: what is sent in its place has fewer. */
  mustBeBelow?: number | undefined;
}

/** Counters of a turn; they go on after a resume. */
export interface TurnProgress {
  steps: number;
  toolCalls: number;
  /** Text of the last answer, or what there is of it. */
  text: string;
  /** Tools of the last request of the turn. */
  tools?: ToolsMeasure;
  /** Those of the request before the turn, and whether the turn begins without what was found then. */
  readonly toolsBefore?: { readonly toolsHash: string; readonly cleared: boolean } | undefined;
  /** Steps whose output was rejected. */
  readonly rejectedOutputs: Set<string>;
  /** Who takes over when the turn ends; set once that is durable. */
  handoff?: { readonly to: string; readonly session: string; readonly input: string };
  /** The last step gave way to the schedule of the agent; set once that is durable. */
  yields?: boolean;
  /** The step an earlier process left open, until it is taken up or ended. */
  leftStep?: LeftStep | undefined;
}
