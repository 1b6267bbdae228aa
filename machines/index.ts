import { agentMachine } from './agent.ts';
import { graphSupervisorMachine } from './graph-supervisor.ts';
import type { MachineSet } from './machine-kind.ts';
import { stepMachine } from './step.ts';
import { toolCallMachine } from './tool-call.ts';
import { turnMachine } from './turn.ts';

/** Every machine of the runtime, by kind: for charts, tools and `provide`. */
export const allMachines: MachineSet = Object.freeze({
  agent: agentMachine,
  turn: turnMachine,
  step: stepMachine,
  'tool-call': toolCallMachine,
  'graph-supervisor': graphSupervisorMachine,
});

export {
  type AgentContext,
  type AgentEvent,
  type AgentInput,
  type AgentState,
  agentMachine,
  type GraphPresence,
  type WakeReason,
} from './agent.ts';
export {
  type GraphCloseReason,
  type GraphSupervisorContext,
  type GraphSupervisorEvent,
  type GraphSupervisorInput,
  type GraphSupervisorState,
  graphSupervisorMachine,
} from './graph-supervisor.ts';
export {
  EFFECT_HOOKS,
  type EffectHookName,
  GATE_HOOKS,
  type GateHookName,
  HOOK_ROWS,
  type HookRow,
  hookFor,
  OBSERVER_HOOKS,
  type ObserverHookName,
  START_EVENT,
  START_STATE,
} from './hooks.ts';
export type {
  ContextOf,
  EventOf,
  InputOf,
  MachineKind,
  MachineOf,
  MachineSet,
  StateOf,
} from './machine-kind.ts';
export type { StateMeta, StateTag, StateTimer } from './state-meta.ts';
export {
  type RetryCause,
  type StepContext,
  type StepEmission,
  type StepEvent,
  type StepInput,
  type StepState,
  stepMachine,
} from './step.ts';
export {
  type ToolCallContext,
  type ToolCallEvent,
  type ToolCallInput,
  type ToolCallOutcome,
  type ToolCallRecovery,
  type ToolCallState,
  toolCallMachine,
} from './tool-call.ts';
export {
  type TurnCloseReason,
  type TurnContext,
  type TurnEvent,
  type TurnInput,
  type TurnPauseReason,
  type TurnState,
  type TurnStopReason,
  turnMachine,
} from './turn.ts';
