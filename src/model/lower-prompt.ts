import type { JsonObject } from '../ledger/content.ts';
import type { PromptAssistantPart, PromptMessage, PromptToolResult, StepRequest } from './adapter.ts';
import type {
  AssistantPromptPart,
  Message,
  ProviderMetadata,
  ToolResultOutput,
  ToolResultPart,
} from './language-model.ts';
import { fileData, lowerFile, lowerUserParts, nameOf } from './lower-files.ts';
import { lowerProviderItem } from './lower-provider-item.ts';
import { isRecord } from './provider-json.ts';
import { createWireIds, type WireIdPolicy } from './wire-ids.ts';

/** Of which assistant messages a provider gets its own thinking back. `tool-turns` = of those with calls. */
export type EchoReasoning = 'always' | 'tool-turns' | 'never';

/** Images of a tool result: in one user message after all results of the step, in the result, or not sent. */
export type ToolResultImages = 'message' | 'native' | 'drop';

/** How one provider wants its prompts. */
export interface PromptPolicy {
  readonly provider: string;
  readonly modelId: string;
  readonly echoReasoning: EchoReasoning;
  /** Send an empty thinking field with calls whose thinking is not known; some providers insist on the field. */
  readonly emptyReasoning: boolean;
  readonly wireIds: WireIdPolicy;
  readonly toolResultImages: ToolResultImages;
  readonly images: boolean;
  /** Marks a place up to which the provider is to cache; absent where it caches of its own accord. */
  readonly cacheBreakpoints?: ProviderMetadata;
  /** What belongs on an assistant message rather than on a part of it, taken from its thinking. */
  readonly messageFields?: (metadata: JsonObject | undefined) => JsonObject | undefined;
}

/**
 * The messages of a request as the provider package takes them. Thinking and metadata go back to the provider
 * and model that wrote them and to nobody else; arguments are always an object; each id is mapped alike in
 * calls and results.
 */
export function lowerPrompt(
  request: Pick<StepRequest, 'system' | 'messages'>,
  policy: PromptPolicy,
): Message[] {
  const wireId = createWireIds(policy.wireIds);
  const lowered: Message[] = [];
  if (request.system !== undefined) lowered.push({ role: 'system', content: request.system });
  for (const message of request.messages) {
    if (message.role === 'user') {
      lowered.push({ role: 'user', content: lowerUserParts(message.content, policy.images) });
    } else if (message.role === 'assistant') {
      const assistant = lowerAssistant(message, policy, wireId);
      if (assistant !== undefined) lowered.push(assistant);
    } else {
      lowered.push(...lowerResults(message.results, policy, wireId));
    }
  }
  return policy.cacheBreakpoints === undefined ? lowered : marked(lowered, policy.cacheBreakpoints);
}

/** The system text and the last message end what is the same in the next request. */
function marked(messages: readonly Message[], breakpoint: ProviderMetadata): Message[] {
  return messages.map((message, at) =>
    message.role === 'system' || at === messages.length - 1 ? withBreakpoint(message, breakpoint) : message,
  );
}

/** `tagged` with the mark beside what it says to each provider already. */
export function withBreakpoint<T extends { providerOptions?: ProviderMetadata }>(
  tagged: T,
  breakpoint: ProviderMetadata,
): T {
  const { providerOptions = {} } = tagged;
  const added = Object.entries(breakpoint).map(([provider, options]) => [
    provider,
    { ...providerOptions[provider], ...options },
  ]);
  return { ...tagged, providerOptions: { ...providerOptions, ...Object.fromEntries(added) } };
}

type AssistantMessage = Extract<PromptMessage, { role: 'assistant' }>;
type WireId = (id: string) => string;

function lowerAssistant(
  message: AssistantMessage,
  policy: PromptPolicy,
  wireId: WireId,
): Message | undefined {
  const own = message.origin?.provider === policy.provider && message.origin.model === policy.modelId;
  const hasCalls = message.content.some((part) => part.type === 'call');
  const echo =
    own && (policy.echoReasoning === 'always' || (policy.echoReasoning === 'tool-turns' && hasCalls));
  const fields = echo ? ownFields(message, policy) : undefined;
  const content: AssistantPromptPart[] = [];
  for (const part of message.content) {
    // Fields of the message hold the thinking already, text and seal.
    if (part.type === 'reasoning' && (!echo || fields !== undefined)) continue;
    const lowered = lowerAssistantPart(part, own, wireId);
    if (lowered !== undefined) content.push(lowered);
  }
  if (content.length === 0) return undefined;
  const missing =
    policy.emptyReasoning &&
    hasCalls &&
    fields === undefined &&
    !content.some((part) => part.type === 'reasoning');
  const extra = missing ? { reasoning_content: '' } : fields;
  return extra === undefined
    ? { role: 'assistant', content }
    : { role: 'assistant', content, providerOptions: { openaiCompatible: extra } };
}

function ownFields(message: AssistantMessage, policy: PromptPolicy): JsonObject | undefined {
  if (policy.messageFields === undefined) return undefined;
  for (const part of message.content) {
    if (part.type !== 'reasoning') continue;
    const fields = policy.messageFields(part.providerMetadata);
    if (fields !== undefined) return fields;
  }
  return undefined;
}

function lowerAssistantPart(
  part: PromptAssistantPart,
  own: boolean,
  wireId: WireId,
): AssistantPromptPart | undefined {
  switch (part.type) {
    case 'text':
      // An empty block says nothing, unless its metadata does.
      if (part.text === '' && !(own && part.providerMetadata !== undefined)) return undefined;
      return { type: 'text', text: part.text, ...ownOptions(part, own) };
    case 'reasoning':
      return { type: 'reasoning', text: part.text, ...ownOptions(part, own) };
    case 'call':
      return {
        type: 'tool-call',
        toolCallId: wireId(part.wireId),
        toolName: part.toolName,
        // A string or a list here would be refused by servers for as long as the history lasts.
        input: isRecord(part.args) ? part.args : {},
        ...ownOptions(part, own),
      };
    case 'file':
      return lowerAnsweredFile(part, own);
    case 'provider-item':
      return own ? lowerProviderItem(part.item) : undefined;
    case 'source':
      return undefined;
  }
}

function lowerAnsweredFile(
  part: Extract<PromptAssistantPart, { type: 'file' }>,
  own: boolean,
): AssistantPromptPart {
  const data = own ? fileData(part.source) : undefined;
  if (data === undefined) return { type: 'text', text: `[file (${part.mediaType})]` };
  return { type: 'file', mediaType: part.mediaType, data, ...ownOptions(part, own) };
}

function ownOptions(
  part: { readonly providerMetadata?: JsonObject | undefined },
  own: boolean,
): { providerOptions?: ProviderMetadata } {
  if (!own || part.providerMetadata === undefined) return {};
  // Metadata is stored as it came: a record of records.
  return { providerOptions: part.providerMetadata as ProviderMetadata };
}

function lowerResults(results: readonly PromptToolResult[], policy: PromptPolicy, wireId: WireId): Message[] {
  const content: ToolResultPart[] = [];
  const images: Extract<Message, { role: 'user' }>['content'] = [];
  for (const result of results) {
    content.push({
      type: 'tool-result',
      toolCallId: wireId(result.wireId),
      toolName: result.toolName,
      output: lowerOutput(result, policy, images),
    });
  }
  const messages: Message[] = [];
  if (content.length > 0) messages.push({ role: 'tool', content });
  // After all results: a user message between two results of a step is refused by every provider.
  if (images.length > 0) messages.push({ role: 'user', content: images });
  return messages;
}

function lowerOutput(
  result: PromptToolResult,
  policy: PromptPolicy,
  images: Extract<Message, { role: 'user' }>['content'],
): ToolResultOutput {
  const { output } = result;
  switch (output.type) {
    case 'text':
      return { type: 'text', value: output.text };
    case 'error':
      return { type: 'error-text', value: output.text };
    case 'json':
      return { type: 'json', value: output.value };
    case 'content': {
      if (policy.toolResultImages === 'native') {
        return { type: 'content', value: lowerUserParts(output.parts, policy.images) };
      }
      const lines: string[] = [];
      for (const part of output.parts) {
        if (part.type === 'text') {
          lines.push(part.text);
          continue;
        }
        const sent = policy.toolResultImages === 'message' && (policy.images || part.type !== 'image');
        lines.push(`[${nameOf(part)}: ${sent ? 'in the message after the results' : 'not shown'}]`);
        if (!sent) continue;
        images.push({ type: 'text', text: `${nameOf(part)} of the result of ${result.toolName}:` });
        images.push(lowerFile(part, policy.images));
      }
      return { type: 'text', value: lines.join('\n') };
    }
  }
}
