import type { GateHookName } from '../../machines/hooks.ts';
import type { AssistantPart, JsonObject, JsonValue, ToolOutput, UserPart } from '../ledger/content.ts';

/** Where in a run a gate stands. Never changed by a gate. */
export interface GateScope {
  readonly sessionId: string;
  /** Agent names from the root to the one concerned. */
  readonly agentPath: readonly string[];
}

interface TurnGateScope extends GateScope {
  readonly turnId: string;
}

interface StepGateScope extends TurnGateScope {
  readonly stepId: string;
}

/** A call a model made, in the history of a request. */
export interface RequestCall {
  readonly type: 'call';
  readonly wireId: string;
  readonly toolName: string;
  readonly args: JsonObject;
  readonly providerMetadata?: JsonObject;
}

/** One message of a projected request. */
export type RequestMessage =
  | { readonly role: 'user'; readonly content: readonly UserPart[] }
  | {
      readonly role: 'assistant';
      readonly content: readonly (Exclude<AssistantPart, { type: 'call' }> | RequestCall)[];
      readonly origin?: { readonly provider: string; readonly model: string };
    }
  | {
      readonly role: 'tool';
      readonly results: readonly {
        readonly wireId: string;
        readonly toolName: string;
        readonly output: ToolOutput;
      }[];
    };

/** What a call gate is asked about. */
interface CallSubject extends StepGateScope {
  readonly callId: string;
  readonly toolName: string;
  /** The arguments after repair. */
  readonly input: JsonObject;
}

/** What each gate is asked about. {@link GATE_CHANGES} names the fields it may change; the rest is fixed. */
export interface GateSubjects {
  readonly beforeTurn: GateScope & { readonly runId: string; readonly input: readonly UserPart[] };
  readonly beforeRequest: TurnGateScope & {
    /** From 1. */
    readonly stepIndex: number;
    readonly model: string;
    readonly system: string;
    readonly messages: readonly RequestMessage[];
    /** Names of the visible tools, in wire order. */
    readonly tools: readonly string[];
  };
  readonly beforeStep: StepGateScope & {
    readonly stepIndex: number;
    readonly model: string;
    readonly tools: readonly string[];
  };
  readonly beforeToolCall: CallSubject;
  /** `input` is what was permitted, and what runs. */
  readonly beforeToolExecute: CallSubject;
  readonly beforeSteering: TurnGateScope & { readonly steeringId: string; readonly text: string };
  readonly beforeActivation: StepGateScope & { readonly names: readonly string[] };
  readonly beforeCompaction: TurnGateScope & {
    /** Estimate of the request that led to it, in tokens. */
    readonly estimatedTokens: number;
    readonly windowTokens: number;
  };
  readonly beforeChild: StepGateScope & {
    readonly callId: string;
    readonly childSessionId: string;
    readonly childAgent: string;
    readonly input: string;
  };
  readonly beforeContinue: TurnGateScope & {
    /** Step that just ended, from 1, and the number of its calls. */
    readonly stepIndex: number;
    readonly calls: number;
  };
  readonly beforeComplete: TurnGateScope & {
    readonly stepIndex: number;
    /** Text of the last answer. */
    readonly text: string;
    /** Structured output, if the agent has one. */
    readonly output?: JsonValue;
  };
}

/** Fields of its subject a gate may change. A gate that returns another value for any other field refuses. */
export const GATE_CHANGES = Object.freeze({
  beforeTurn: ['input'],
  beforeRequest: ['system', 'messages'],
  beforeStep: [],
  beforeToolCall: ['input'],
  beforeToolExecute: [],
  beforeSteering: ['text'],
  beforeActivation: ['names'],
  beforeCompaction: [],
  beforeChild: ['input'],
  beforeContinue: [],
  beforeComplete: [],
}) satisfies { readonly [N in GateHookName]: readonly (keyof GateSubjects[N])[] };
