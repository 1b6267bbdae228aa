import type { AssistantPart, JsonObject, ToolOutput, Usage, UserPart } from '../ledger/content.ts';

/** A tool as a provider sees it: plain data, nothing to execute. Frozen and reused, so its bytes never change. */
export interface WireTool {
  /** Matches `[a-zA-Z0-9_-]{1,64}`. */
  readonly name: string;
  readonly description: string;
  /** Draft-7 JSON Schema whose root is an object. */
  readonly inputSchema: JsonObject;
}

/** A call of the history as it goes back to a provider. */
export interface PromptCall {
  readonly type: 'call';
  /** Unique within the request; the provider's own id where it was usable. */
  readonly wireId: string;
  readonly toolName: string;
  readonly args: JsonObject;
  readonly providerMetadata?: JsonObject;
}

/** An assistant part ready to be sent: calls carry their content. */
export type PromptAssistantPart = Exclude<AssistantPart, { type: 'call' }> | PromptCall;

export interface PromptToolResult {
  readonly wireId: string;
  readonly toolName: string;
  readonly output: ToolOutput;
}

/** One message of a request. Tool results of a step stand together, in call order, right after its message. */
export type PromptMessage =
  | { readonly role: 'user'; readonly content: readonly UserPart[] }
  | {
      readonly role: 'assistant';
      readonly content: readonly PromptAssistantPart[];
      /** Who wrote it: reasoning and metadata of another provider or model are dropped when sent. */
      readonly origin?: { readonly provider: string; readonly model: string };
    }
  | { readonly role: 'tool'; readonly results: readonly PromptToolResult[] };

export type ToolChoice =
  | { readonly type: 'auto' }
  | { readonly type: 'none' }
  | { readonly type: 'required' }
  | { readonly type: 'tool'; readonly toolName: string };

/** Sampling settings of one agent. */
export interface ModelSettings {
  readonly temperature?: number;
  readonly topP?: number;
  readonly seed?: number;
  readonly maxOutputTokens?: number;
  readonly stopSequences?: readonly string[];
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  /** Sent only if set: some models reject it. */
  readonly parallelToolCalls?: boolean;
  readonly reasoning?: string;
  readonly toolChoice?: ToolChoice;
  readonly providerOptions?: JsonObject;
}

/** Everything one provider request says. No step budget, no hook, nothing executable. */
export interface StepRequest {
  readonly system?: string;
  readonly messages: readonly PromptMessage[];
  readonly tools: readonly WireTool[];
  /** How many of `tools`, from the first, every request of the turn has. Set for models with `cacheBreakpoints`. */
  readonly stableTools?: number;
  readonly toolChoice: ToolChoice;
  readonly settings: ModelSettings;
  /** JSON Schema of a structured answer, for models whose `capabilities.structuredOutput` is true. */
  readonly responseSchema?: JsonObject;
}

/** What a failure is, in the runtime's own words. */
export type FailureKind =
  | 'auth'
  | 'rate-limited'
  | 'overloaded'
  | 'context-overflow'
  | 'invalid-request'
  | 'network'
  | 'timeout'
  | 'aborted'
  | 'content-filter'
  | 'malformed-response'
  | 'provider-error';

/** A failure with everything secret or large left out. */
export interface ModelFailure {
  readonly kind: FailureKind;
  /** Finer word: `quota`, `bad-retry-after`, `no-finish`, `not-sse`, `empty`, `chunk-shape`, `idle`, `connect`... */
  readonly detail?: string;
  /** Scrubbed and bounded. */
  readonly message: string;
  /** Whether another attempt may help. The loop also requires that nothing was emitted. */
  readonly retryable: boolean;
  /** At most this many further attempts for this failure, where the class says so. */
  readonly maxRetries?: number;
  readonly retryAfterMs?: number;
  readonly status?: number;
  readonly code?: string;
  readonly requestId?: string;
  readonly phase: 'connect' | 'stream';
}

/** One call as the model wrote it: nothing parsed, repaired or checked. */
export interface ReturnedCall {
  readonly ordinal: number;
  readonly wireId: string;
  readonly toolName: string;
  /** JSON text, as it came. */
  readonly input: string;
  readonly providerMetadata?: JsonObject;
}

/** What an observer of a live response sees. Everything else a provider sends counts as activity only. */
export type StepEvent =
  | { readonly type: 'text-delta'; readonly text: string }
  | { readonly type: 'reasoning-delta'; readonly text: string }
  | { readonly type: 'tool-input'; readonly toolName: string; readonly providerExecuted: boolean }
  | { readonly type: 'tool-call'; readonly call: ReturnedCall }
  | { readonly type: 'provider-tool-result'; readonly toolName: string; readonly isError: boolean }
  | { readonly type: 'warning'; readonly message: string };

/** What an attempt has shown before it ended; each of them forbids some kind of retry. */
export interface Emitted {
  readonly text: boolean;
  readonly reasoning: boolean;
  /** Tool input of any kind, provider-side tools included. */
  readonly toolActivity: boolean;
  /** Signed or opaque metadata that a later request must carry. */
  readonly metadata: boolean;
}

/** What is known of a response when it ends, whatever the end. */
export interface StepReport {
  /** Blocks in the order they were opened; calls stand as `{ type: 'call', ordinal }`. */
  readonly content: readonly AssistantPart[];
  readonly calls: readonly ReturnedCall[];
  readonly emitted: Emitted;
  /** Absent when the provider reported none or only a part of one: unknown, never zero. */
  readonly usage?: Usage;
  readonly warnings: readonly string[];
  readonly response: {
    readonly id?: string;
    readonly modelId?: string;
    readonly requestId?: string;
  };
}

export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'other';

/**
 * How an attempt ended. Precedence: aborted, then any failure, then a missing end (`truncated`), then
 * `completed`. With `finish.reason` 'length' and calls present no call of the step may run.
 */
export type StepOutcome =
  | {
      readonly type: 'completed';
      readonly report: StepReport;
      readonly finish: { readonly reason: FinishReason; readonly raw?: string };
    }
  | { readonly type: 'truncated'; readonly report: StepReport; readonly failure: ModelFailure }
  | { readonly type: 'failed'; readonly report: StepReport; readonly failure: ModelFailure }
  | { readonly type: 'aborted'; readonly report: StepReport };

/** One response on its way. Iterate `events` to its end (or break, which aborts), then `outcome` settles. */
export interface StepStream {
  readonly events: AsyncIterable<StepEvent>;
  /** Settles exactly once, after `events` ended; never rejects. */
  readonly outcome: Promise<StepOutcome>;
}

export interface StepOptions {
  /** Ends the request; the outcome is then `aborted`, whatever the provider says. */
  readonly signal: AbortSignal;
  /** Called for every part the provider sends, shown or not: feeds a watchdog. */
  readonly onActivity?: () => void;
}

/** What a caller states of a model. Nothing is looked up: names and prices change faster than packages. */
export interface ModelCapabilities {
  /** The provider can be made to answer in a JSON Schema. */
  readonly structuredOutput?: boolean;
  /** Tool calls work. Default true. */
  readonly tools?: boolean;
  /** The provider caches prompt prefixes. */
  readonly promptCache?: boolean;
  /** The provider caches up to where it is told to; requests then say where they stay the same. */
  readonly cacheBreakpoints?: boolean;
  readonly images?: boolean;
}

/** US dollars for a million tokens. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
}

/**
 * One model behind one provider: exactly one physical request a call of `step`. It never executes a tool,
 * never retries, never continues, and prints nothing.
 */
export interface ModelAdapter {
  readonly provider: string;
  readonly modelId: string;
  /** Tokens of prompt and answer together, if known. */
  readonly contextWindow?: number;
  readonly maxOutputTokens?: number;
  readonly price?: ModelPrice;
  readonly capabilities: ModelCapabilities;
  /** Counts the tokens of a text as this model does. Must be pure. Default: a quarter of its characters. */
  readonly countTokens?: (text: string) => number;
  /** Never throws for what a provider can do; misuse throws `SwarmError`. */
  step(request: StepRequest, options: StepOptions): StepStream;
}

/** A model as definitions hold it. */
export type Model = ModelAdapter;
