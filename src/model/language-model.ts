/**
 * The part of the AI SDK's v4 model interface this room uses, as shapes of our own. Declarations stay free of
 * the SDK's types, and the assignments in `open-ai-compatible.ts` and `from-ai-sdk.ts` fail to compile when
 * the SDK's interface moves away from what is written here.
 */

/** JSON as the SDK types it: a key may be present and undefined. */
export type JsonData =
  | null
  | string
  | number
  | boolean
  | readonly JsonData[]
  | { readonly [key: string]: JsonData | undefined };

/** Per provider, what only that provider understands. */
export type ProviderMetadata = { [provider: string]: { readonly [key: string]: JsonData | undefined } };

/** Bytes, base64 text, or an address. */
export type FileData = { type: 'data'; data: Uint8Array | string } | { type: 'url'; url: URL };

interface Tagged {
  providerOptions?: ProviderMetadata;
}

export type TextPart = Tagged & { type: 'text'; text: string };
export type FilePart = Tagged & { type: 'file'; filename?: string; data: FileData; mediaType: string };
export type ToolResultOutput =
  | { type: 'text' | 'error-text'; value: string }
  | { type: 'json'; value: JsonData }
  | { type: 'content'; value: (TextPart | FilePart)[] };

export type AssistantPromptPart =
  | TextPart
  | FilePart
  | (Tagged & { type: 'reasoning'; text: string })
  | (Tagged & { type: 'reasoning-file'; data: FileData; mediaType: string })
  | (Tagged & { type: 'custom'; kind: `${string}.${string}` })
  | (Tagged & {
      type: 'tool-call';
      toolCallId: string;
      toolName: string;
      input: unknown;
      providerExecuted?: boolean;
    })
  | ToolResultPart;

export type ToolResultPart = Tagged & {
  type: 'tool-result';
  toolCallId: string;
  toolName: string;
  output: ToolResultOutput;
};

export type Message = Tagged &
  (
    | { role: 'system'; content: string }
    | { role: 'user'; content: (TextPart | FilePart)[] }
    | { role: 'assistant'; content: AssistantPromptPart[] }
    | { role: 'tool'; content: ToolResultPart[] }
  );

export interface FunctionTool extends Tagged {
  type: 'function';
  name: string;
  description?: string;
  inputSchema: object;
}

export type ReasoningEffort =
  | 'provider-default'
  | 'none'
  | 'minimal'
  | 'low'
  | 'medium'
  | 'high'
  | 'xhigh'
  | 'max';

export interface CallOptions {
  prompt: Message[];
  tools?: FunctionTool[];
  toolChoice?: { type: 'auto' | 'none' | 'required' } | { type: 'tool'; toolName: string };
  responseFormat?: { type: 'text' } | { type: 'json'; schema?: object; name?: string };
  abortSignal?: AbortSignal;
  providerOptions?: ProviderMetadata;
  reasoning?: ReasoningEffort;
  maxOutputTokens?: number;
  temperature?: number;
  topP?: number;
  seed?: number;
  stopSequences?: string[];
  presencePenalty?: number;
  frequencyPenalty?: number;
  includeRawChunks?: boolean;
}

export type ProviderWarning =
  | { type: 'unsupported' | 'compatibility'; feature: string; details?: string }
  | { type: 'deprecated'; setting: string; message: string }
  | { type: 'other'; message: string };

/** Tokens as a provider package reports them: `undefined` is unknown. */
export interface ProviderUsage {
  inputTokens: {
    total: number | undefined;
    noCache: number | undefined;
    cacheRead: number | undefined;
    cacheWrite: number | undefined;
  };
  outputTokens: { total: number | undefined; text: number | undefined; reasoning: number | undefined };
  raw?: { [key: string]: JsonData | undefined };
}

export type UnifiedFinish =
  | 'stop'
  | 'length'
  | 'content-filter'
  | 'tool-calls'
  | 'error'
  | 'interrupted'
  | 'other';

interface Described {
  providerMetadata?: ProviderMetadata;
}

type Source = Described & {
  type: 'source';
  sourceType: 'url' | 'document';
  id: string;
  url?: string;
  title?: string;
  mediaType?: string;
  filename?: string;
};

export interface Citation {
  source: Source;
  startIndex?: number;
  endIndex?: number;
  citedText?: string;
}

type Block =
  | { type: 'text-start' | 'reasoning-start' | 'reasoning-end' | 'tool-input-end'; id: string }
  | { type: 'text-delta' | 'reasoning-delta' | 'tool-input-delta'; id: string; delta: string }
  | { type: 'text-end'; id: string; citations?: Citation[] }
  | { type: 'tool-input-start'; id: string; toolName: string; providerExecuted?: boolean };

type Whole =
  | { type: 'tool-approval-request'; approvalId: string; toolCallId: string }
  | { type: 'tool-call'; toolCallId: string; toolName: string; input: string; providerExecuted?: boolean }
  | {
      type: 'tool-result';
      toolCallId: string;
      toolName: string;
      result: unknown;
      isError?: boolean;
      preliminary?: boolean;
    }
  | { type: 'custom'; kind: `${string}.${string}` }
  | { type: 'file' | 'reasoning-file'; mediaType: string; data: FileData }
  | Source
  | {
      type: 'finish';
      usage: ProviderUsage;
      finishReason: { unified: UnifiedFinish; raw: string | undefined };
    };

/** Everything a provider may send, one member a kind. */
export type StreamPart =
  | (Described & (Block | Whole))
  | { type: 'stream-start'; warnings: ProviderWarning[] }
  | { type: 'response-metadata'; id?: string; timestamp?: Date; modelId?: string }
  | { type: 'ping' }
  | { type: 'raw'; rawValue: unknown }
  | { type: 'error'; error: unknown };

export interface StreamResult {
  stream: ReadableStream<StreamPart>;
  response?: { headers?: { [name: string]: string } };
}

/** A provider's model, of which only streaming is used. */
export interface LanguageModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  doStream(options: CallOptions): PromiseLike<StreamResult>;
}
