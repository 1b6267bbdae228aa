// The public surface of `swarmwright`, by what it is for.

// define

export {
  type Agent,
  type AgentDefinition,
  type AnyAgent,
  type CompactionOptions,
  defineAgent,
  type HandoffOutput,
  type HandoffTarget,
  isAgent,
} from './agent/define-agent.ts';
export { type AnyGraph, defineGraph, type Graph, type GraphDefinition } from './graph/define-graph.ts';
export {
  type AnySwarm,
  defineSwarm,
  type Swarm,
  type SwarmDefinition,
  type SwarmMode,
} from './graph/define-swarm.ts';
export type {
  Branch,
  GraphBuilder,
  InputMapper,
  ItemsOf,
  JoinInput,
  JoinOptions,
  LoopOptions,
  MapOptions,
  NodeOptions,
  NodeShape,
  NodeShapes,
} from './graph/graph-builder.ts';
export type { GraphNode } from './graph/graph-node.ts';
export type {
  NodeContext,
  NodeFunction,
  NodeSettings,
  NodeTarget,
  RetryOptions,
} from './graph/node-target.ts';
export type { AiTool } from './model/ai-tool.ts';
export { type AskUserOptions, askUser, type Question } from './tools/ask-user.ts';
export { defineTool } from './tools/define-tool.ts';
export { type AiToolOptions, fromAiTool } from './tools/from-ai-tool.ts';
export type {
  CallScope,
  InputOf,
  InputSchema,
  ReconcileResult,
  Tool,
  ToolArtifacts,
  ToolContext,
  ToolDefinition,
  ToolEnd,
  ToolScope,
  TypedTool,
} from './tools/tool.ts';

// models

export type {
  Emitted,
  FailureKind,
  FinishReason,
  Model,
  ModelAdapter,
  ModelCapabilities,
  ModelFailure,
  ModelPrice,
  ModelSettings,
  PromptAssistantPart,
  PromptCall,
  PromptMessage,
  PromptToolResult,
  ReturnedCall,
  StepEvent,
  StepOptions,
  StepOutcome,
  StepReport,
  StepRequest,
  StepStream,
  ToolChoice,
  WireTool,
} from './model/adapter.ts';
export { type AiSdkLanguageModel, type AiSdkModelOptions, fromAiSdk } from './model/from-ai-sdk.ts';
export { type OpenAiCompatibleOptions, openaiCompatible } from './model/open-ai-compatible.ts';

// find tools

export type { ClientTools } from './agent/client-tools.ts';
export type { DiscoveryOptions, DiscoveryPreset, RepairOptions } from './tools/discovery-policy.ts';
export type { SearchableTool } from './tools/search-documents.ts';
export type { RankedTool, ToolRanker } from './tools/search-index.ts';
export type { Reranker } from './tools/search-rerank.ts';
export type {
  AnyToolSource,
  OpenToolSource,
  ToolSource,
  ToolSourceDefinition,
  ToolSourceHost,
} from './tools/tool-source.ts';

// run

export type { Approvals, PendingFilter } from './agent/approvals.ts';
export type { ForkOptions } from './agent/fork-run.ts';
export type { ForkRequest } from './agent/fork-session.ts';
export type { SessionMessage } from './agent/message-turn.ts';
export type { Run, RunEventOptions } from './agent/run.ts';
export type { RunInput } from './agent/run-input.ts';
export type { IndeterminateCall, RunError, RunResult, RunUsage } from './agent/run-result.ts';
export type { DecideIndeterminate } from './agent/run-turn-job.ts';
export type { RuntimeOptions } from './agent/runtime-options.ts';
export type { Sessions } from './agent/sessions.ts';
export type { RunOptions, RunSettings } from './agent/start-run.ts';
export type { Queued, QueuedRun, QueuedWake, WorkPool } from './agent/work-pool.ts';
export type { InputFor, OptionsFor, OutputFor, RunTarget } from './graph/run-target.ts';
export { createRuntime, type ResumeOptions, type Runtime } from './runtime.ts';
export type { ApprovalDecision } from './tools/approval-decisions.ts';
export type { PendingApproval } from './tools/approvals.ts';
export type { PermissionPolicy, PermissionRequest, Verdict } from './tools/permission.ts';
export type { IndeterminateDecision } from './tools/reconcile-call.ts';
export type { BudgetOptions } from './turn/run-budget.ts';
export type { SteeringOutcome } from './turn/steering-queue.ts';

// ledger

export type {
  ArtifactRef,
  AssistantPart,
  JsonObject,
  JsonValue,
  ToolOutput,
  Usage,
  UserPart,
} from './ledger/content.ts';
export type {
  AppendResult,
  Head,
  InboxItem,
  InboxReply,
  Ledger,
  LedgerWriter,
  OpenSummary,
  PositionedRecord,
  SessionSummary,
} from './ledger/ledger.ts';
export { type MemoryLedgerOptions, memoryLedger } from './ledger/memory-ledger.ts';
export type {
  ApprovalScope,
  Failure,
  LedgerRecord,
  NewRecord,
  PauseReason,
  RecordData,
  RecordOf,
  RecordType,
  RecoveryMode,
  SessionIdentity,
  StopReason,
  TurnStatus,
} from './ledger/records.ts';
export type { RecoveryReport, ReportedCall } from './ledger/recovery.ts';
export { type SqliteLedgerOptions, sqliteLedger } from './ledger/sqlite-ledger.ts';

// events

export type { DurableEventType } from './events/event-data.ts';
export type { ContentPolicy } from './events/event-projector.ts';
export type { EventOf, RunEvent } from './events/event-schemas.ts';
export type { SinkStats } from './events/outbox.ts';
export type { Sink, SinkState } from './events/sink.ts';

// hooks and inspection

export type { HookCount, HookName, HookStats } from './lifecycle/hook-stats.ts';
export type {
  Effect,
  EffectContext,
  EffectFact,
  Gate,
  GateAnswer,
  GateContext,
  GateSubjects,
  Hooks,
} from './lifecycle/hooks.ts';
export type {
  InspectedDecision,
  InspectedRequest,
  InspectedRuntime,
  Inspector,
} from './lifecycle/inspector.ts';
export type { Observer } from './lifecycle/observer-hooks.ts';
export type { InstanceSnapshot } from './lifecycle/registry.ts';
export type { InstanceIds, TransitionMeta, TransitionRecord } from './lifecycle/transition-record.ts';

// ground

export { type Clock, systemClock } from './clock.ts';
export { describeErrorCode, isSwarmError, SwarmError, type SwarmErrorCode } from './errors.ts';
export type { IdSource } from './ids.ts';
export { DEFAULT_LIMITS, type LimitOptions, type Limits } from './limits.ts';
