import type { JsonObject } from '../ledger/content.ts';
import type { ResponsePart, StreamErrorDialect, StreamResponse, WireUsage } from './script.ts';
import { callDeltas } from './wire-calls.ts';
import { errorBody } from './wire-failures.ts';

/** What a server does next on a connection that streams. */
export type Frame =
  | { readonly type: 'bytes'; readonly bytes: Uint8Array }
  | { readonly type: 'wait'; pass(signal: AbortSignal): Promise<unknown> }
  | { readonly type: 'stall' }
  | { readonly type: 'destroy' };

/** What the chunks of one answer have in common. */
export interface AnswerIdentity {
  readonly id: string;
  readonly model: string;
  /** Ids for calls that say nothing of theirs, unique on the server. */
  newCallId(): string;
}

const encoder = new TextEncoder();

/** An answer as the frames of an SSE body. */
export function* streamFrames(response: StreamResponse, identity: AnswerIdentity): Generator<Frame> {
  let cumulative: WireUsage | undefined;
  let isFirst = true;
  const chunk = (choice: JsonObject, more: JsonObject = {}): Frame => {
    const first = isFirst;
    isFirst = false;
    // Servers open with the role, in the first delta whatever it carries.
    const delta =
      first && isDelta(choice['delta']) ? { role: 'assistant', ...choice['delta'] } : choice['delta'];
    const usage = cumulative === undefined ? {} : { usage: wireUsage(cumulative) };
    return event({
      ...chunkHead(identity),
      choices: [{ index: 0, finish_reason: null, ...choice, ...(delta === undefined ? {} : { delta }) }],
      ...usage,
      ...more,
    });
  };

  for (const part of withFinish(response.parts)) {
    switch (part.type) {
      case 'usage':
        if (part.place === 'own-chunk') yield usageChunk(identity, part.usage);
        break;
      case 'finish':
        if (part.reason === null) break;
        yield chunk({ delta: {}, finish_reason: part.reason }, finishUsage(response.parts));
        break;
      case 'failure':
        yield failureEvent(part.failure, part.dialect, identity);
        break;
      case 'line':
        yield text(`${part.event === undefined ? '' : `event: ${part.event}\n`}data: ${part.text}\n\n`);
        break;
      case 'comment':
        yield text(`: ${part.text}\n\n`);
        break;
      case 'raw':
        yield { type: 'bytes', bytes: part.bytes };
        break;
      case 'chunk':
        yield event(part.chunk);
        break;
      case 'wait':
      case 'stall':
      case 'destroy':
        yield part;
        break;
      default:
        for (const delta of deltasOf(part, identity)) {
          cumulative = cumulativeUsage(response.parts);
          yield chunk({ delta });
        }
    }
  }
  if (response.done) yield text('data: [DONE]\n\n');
}

/** Parts with the finish that a well-behaved provider would send, where the script says nothing of one. */
export function withFinish(parts: readonly ResponsePart[]): readonly ResponsePart[] {
  const ends = parts.some(({ type }) => ['finish', 'failure', 'stall', 'destroy'].includes(type));
  if (ends) return parts;
  const reason = parts.some(({ type }) => type === 'calls') ? 'tool_calls' : 'stop';
  const at = parts.findLastIndex(({ type }) => type !== 'usage') + 1;
  return [...parts.slice(0, at), { type: 'finish', reason }, ...parts.slice(at)];
}

/** Counts the way OpenAI writes them. */
export function wireUsage({ input, output, cacheRead, reasoning }: WireUsage): JsonObject {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input === null || output === null ? null : input + output,
    ...(cacheRead === undefined ? {} : { prompt_tokens_details: { cached_tokens: cacheRead } }),
    ...(reasoning === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

function deltasOf(
  part: Extract<ResponsePart, { type: 'text' | 'reasoning' | 'calls' | 'refusal' | 'delta' }>,
  identity: AnswerIdentity,
): readonly JsonObject[] {
  switch (part.type) {
    case 'text':
      return part.deltas.map((content) => ({ content }));
    case 'refusal':
      return [{ refusal: part.text }];
    case 'delta':
      return [part.delta];
    case 'calls':
      return callDeltas(part.calls, part.interleaved, identity.newCallId);
    case 'reasoning':
      return reasoningDeltas(part);
  }
}

function reasoningDeltas(part: Extract<ResponsePart, { type: 'reasoning' }>): readonly JsonObject[] {
  const { deltas, dialect, signature } = part;
  switch (dialect) {
    case 'reasoning_content':
    case 'reasoning':
      return deltas.map((delta) => ({ [dialect]: delta }));
    case 'content-parts':
      return deltas.map((delta) => ({
        content: [{ type: 'thinking', thinking: [{ type: 'text', text: delta }] }],
      }));
    case 'think-tags':
      return ['<think>', ...deltas, '</think>'].map((content) => ({ content }));
    case 'reasoning_details':
      return [
        ...deltas.map((delta) => ({
          content: '',
          reasoning: delta,
          reasoning_details: [{ type: 'reasoning.text', text: delta, format: 'unknown', index: 0 }],
        })),
        ...(signature === undefined
          ? []
          : [{ content: '', reasoning_details: [{ type: 'reasoning.text', signature, index: 0 }] }]),
      ];
  }
}

function cumulativeUsage(parts: readonly ResponsePart[]): WireUsage | undefined {
  const part = parts.find(({ type }) => type === 'usage');
  return part?.type === 'usage' && part.place === 'every-chunk' ? part.usage : undefined;
}

function finishUsage(parts: readonly ResponsePart[]): JsonObject {
  const part = parts.find(({ type }) => type === 'usage');
  if (part?.type !== 'usage') return {};
  if (part.place === 'finish-chunk') return { usage: wireUsage(part.usage) };
  return part.place === 'x_groq' ? { x_groq: { id: 'req_scripted', usage: wireUsage(part.usage) } } : {};
}

function usageChunk(identity: AnswerIdentity, usage: WireUsage): Frame {
  return event({ ...chunkHead(identity), choices: [], usage: wireUsage(usage) });
}

function failureEvent(
  failure: Parameters<typeof errorBody>[0],
  dialect: StreamErrorDialect,
  identity: AnswerIdentity,
): Frame {
  const body = errorBody(failure);
  const { message } = failure;
  switch (dialect) {
    case 'object':
      return event({ error: body });
    case 'with-choices':
      return event({
        ...chunkHead(identity),
        error: { code: failure.status ?? body['code'] ?? 500, message },
        choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: 'error' }],
      });
    case 'text':
      return event({ error: message });
    case 'flat':
      return event({ object: 'error', message, type: body['type'] ?? null, code: body['code'] ?? null });
    case 'event':
      return text(`event: error\ndata: ${JSON.stringify({ error: body })}\n\n`);
  }
}

function chunkHead({ id, model }: AnswerIdentity): JsonObject {
  return { id, object: 'chat.completion.chunk', created: 1_767_225_600, model };
}

function isDelta(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !('role' in value);
}

function event(payload: JsonObject): Frame {
  return text(`data: ${JSON.stringify(payload)}\n\n`);
}

function text(value: string): Frame {
  return { type: 'bytes', bytes: encoder.encode(value) };
}
