import type { z } from 'zod';
import type { ArtifactRef, JsonObject, ToolOutput } from '../ledger/content.ts';
import type { RecoveryMode } from '../ledger/records.ts';

/** Bytes a tool keeps beside its result; the reference may stand in the result. */
export interface ToolArtifacts {
  /** Durable before it resolves. @throws SwarmError 'artifact-too-large' */
  put(bytes: Uint8Array | string, mediaType: string): Promise<ArtifactRef>;
  /** @throws SwarmError 'artifact-missing', 'artifact-corrupt' */
  get(ref: ArtifactRef): Promise<Uint8Array>;
}

/** What an implementation gets beside its input. */
export interface ToolContext<Context = unknown> {
  /** Aborts on cancel, on the tool's timeout and when the runtime is fenced off the session. */
  readonly signal: AbortSignal;
  /** What the caller gave `runtime.run`. */
  readonly context: Context;
  readonly sessionId: string;
  readonly turnId: string;
  readonly stepId: string;
  readonly callId: string;
  /** Idempotency key for external systems: the same after a decided retry of the same intent. */
  readonly operationId: string;
  /** Fencing token for external systems: grows with every new owner of the session. */
  readonly epoch: number;
  /** Names of the agents from the root to the caller. */
  readonly agentPath: readonly string[];
  /** Shows a line to observers; rate-limited and bounded, never to the model. */
  progress(text: string): void;
  readonly artifacts: ToolArtifacts;
}

/** What `applies` is asked with, once at the start of a turn. */
export interface ToolScope {
  readonly agent: string;
  readonly agentPath: readonly string[];
  readonly sessionId: string;
  readonly context: unknown;
}

/** What `needsApproval` is asked with beside the arguments. */
export interface CallScope extends ToolScope {
  readonly callId: string;
}

/** What became of an execution whose outcome a crash left open. */
export type ReconcileResult<Output> =
  | { readonly type: 'completed'; readonly output: Output }
  | { readonly type: 'not-executed' }
  | { readonly type: 'unknown' };

/** A zod schema or a plain JSON Schema whose root is an object. */
export type InputSchema = z.ZodType | JsonObject;

/** The value `execute` gets: parsed by the zod schema, or the JSON object a JSON Schema lets through. */
export type InputOf<S extends InputSchema> = S extends z.ZodType ? z.output<S> : JsonObject;

/** What a value returned by a tool means beyond itself. */
export interface ToolEnd<Output> {
  readonly endTurn: true;
  readonly output: Output;
}

/** Options of {@link defineTool}. */
export interface ToolDefinition<S extends InputSchema, Output, Context> {
  /** What the model calls; `[A-Za-z0-9_.:-]`, at most 256 characters. Longer than 64 or dotted gets an alias. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: S;
  readonly outputSchema?: z.ZodType<Output>;
  execute(
    input: InputOf<S>,
    ctx: ToolContext<Context>,
  ): Promise<Output | ToolEnd<Output>> | Output | ToolEnd<Output>;
  /**
   * `never` (default): in every request; `always`: found by search; `auto` (default of a tool from a live source):
   * deferred where it pays.
   */
  readonly defer?: 'never' | 'always' | 'auto';
  readonly group?: string;
  readonly aliases?: readonly string[];
  /** Whether the tool is part of the turn at all. A throw counts as no. */
  applies?(scope: ToolScope): boolean;
  /** Asks a person before each execution; a function decides on the arguments, and a throw asks. */
  readonly needsApproval?: boolean | ((input: JsonObject, scope: CallScope) => boolean | Promise<boolean>);
  /**
   * Family of remembered decisions; tools may share one. Default: tool, schema and argument pattern. A tool of a live
   * source shares none: it is asked about again when its source changes it.
   */
  readonly approvalScope?: string;
  /** Whether a decision may hold for more than its call. Default true. */
  readonly rememberable?: boolean;
  /**
   * What a crash between dispatch and outcome licenses; recorded with the call, for whoever decides. The runtime itself
   * enters no tool again, whatever it says here: it only asks one of `reconcile`. Default `never_auto_retry`.
   */
  readonly recovery?: RecoveryMode;
  /** For `recovery: 'reconcile'`: asks the outside world what became of the call. */
  reconcile?(input: InputOf<S>, ctx: ToolContext<Context>): Promise<ReconcileResult<Output>>;
  /** Shares a step with no other call. Default false. */
  readonly exclusive?: boolean;
  /** Milliseconds before the signal aborts. Default `limits.tools.timeoutMs`. */
  readonly timeoutMs?: number;
  /** Bytes of the result that the model sees. Default `limits.tools.maxResultBytes`. */
  readonly maxResultBytes?: number;
  /** What the model sees instead of the result itself; bounded like any result. */
  toModelOutput?(output: Output): ToolOutput | string;
}

/**
 * A tool, frozen: made by {@link defineTool}. `Context` is what `ctx.context` must be. Input and output types
 * are erased here so that tools of different shapes form one list.
 */
export interface Tool<in Context = never> {
  readonly kind: 'tool';
  readonly name: string;
  readonly description: string;
  readonly inputSchema: InputSchema;
  readonly outputSchema: z.ZodType | undefined;
  /** `undefined` = the tool does not say: `never`, or `auto` where it comes from a live source. */
  readonly defer: 'never' | 'always' | 'auto' | undefined;
  readonly group: string | undefined;
  readonly aliases: readonly string[];
  readonly applies: ((scope: ToolScope) => boolean) | undefined;
  readonly needsApproval: boolean | ((input: JsonObject, scope: CallScope) => boolean | Promise<boolean>);
  readonly approvalScope: string | undefined;
  readonly rememberable: boolean;
  readonly recovery: RecoveryMode;
  readonly reconcile:
    | ((input: unknown, ctx: ToolContext<Context>) => Promise<ReconcileResult<unknown>>)
    | undefined;
  readonly exclusive: boolean;
  readonly timeoutMs: number | undefined;
  readonly maxResultBytes: number | undefined;
  readonly toModelOutput: ((output: unknown) => ToolOutput | string) | undefined;
  /**
   * Set by {@link askUser}: the call is never executed. Settlement parks it as a question, which is the `question`
   * of its arguments, and the answer's text is the result.
   */
  readonly parks: 'question' | undefined;
  readonly execute: (input: unknown, ctx: ToolContext<Context>) => unknown;
}

/** {@link Tool} with its shapes kept for inference: what `defineTool` returns. */
export interface TypedTool<Input, Output, in Context> extends Tool<Context> {
  /** Types only; never present at run time. */
  readonly '~types'?: { readonly input: Input; readonly output: Output };
}
