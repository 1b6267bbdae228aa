import type { AgentContext, AgentEvent, AgentInput, AgentState, agentMachine } from './agent.ts';
import type {
  GraphSupervisorContext,
  GraphSupervisorEvent,
  GraphSupervisorInput,
  GraphSupervisorState,
  graphSupervisorMachine,
} from './graph-supervisor.ts';
import type { StepContext, StepEvent, StepInput, StepState, stepMachine } from './step.ts';
import type {
  ToolCallContext,
  ToolCallEvent,
  ToolCallInput,
  ToolCallState,
  toolCallMachine,
} from './tool-call.ts';
import type { TurnContext, TurnEvent, TurnInput, TurnState, turnMachine } from './turn.ts';

/** All a machine is made of, by kind. */
interface MachineParts {
  readonly agent: {
    readonly machine: typeof agentMachine;
    readonly input: AgentInput;
    readonly context: AgentContext;
    readonly event: AgentEvent;
    readonly state: AgentState;
  };
  readonly turn: {
    readonly machine: typeof turnMachine;
    readonly input: TurnInput;
    readonly context: TurnContext;
    readonly event: TurnEvent;
    readonly state: TurnState;
  };
  readonly step: {
    readonly machine: typeof stepMachine;
    readonly input: StepInput;
    readonly context: StepContext;
    readonly event: StepEvent;
    readonly state: StepState;
  };
  readonly 'tool-call': {
    readonly machine: typeof toolCallMachine;
    readonly input: ToolCallInput;
    readonly context: ToolCallContext;
    readonly event: ToolCallEvent;
    readonly state: ToolCallState;
  };
  readonly 'graph-supervisor': {
    readonly machine: typeof graphSupervisorMachine;
    readonly input: GraphSupervisorInput;
    readonly context: GraphSupervisorContext;
    readonly event: GraphSupervisorEvent;
    readonly state: GraphSupervisorState;
  };
}

/** Kinds of machines; also the `id` of each. */
export type MachineKind = keyof MachineParts;

/** The machine of a kind. `machine.provide({ guards })` gives another of the same type. */
export type MachineOf<K extends MachineKind> = MachineParts[K]['machine'];
/** What an instance of a kind starts from. */
export type InputOf<K extends MachineKind> = MachineParts[K]['input'];
/** The facts an instance of a kind keeps. */
export type ContextOf<K extends MachineKind> = MachineParts[K]['context'];
/** What may happen to an instance of a kind. */
export type EventOf<K extends MachineKind> = MachineParts[K]['event'];
/** Names of the states of a kind. */
export type StateOf<K extends MachineKind> = MachineParts[K]['state'];

/** One machine of each kind. */
export type MachineSet = { readonly [K in MachineKind]: MachineOf<K> };
