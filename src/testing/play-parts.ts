import { isSwarmError, SwarmError } from '../errors.ts';
import type { ModelFailure } from '../model/adapter.ts';
import type { ProviderUsage, StreamPart, UnifiedFinish } from '../model/language-model.ts';
import { readChatUsage } from '../model/usage.ts';
import { untilAborted } from './abort.ts';
import type { EndRequest } from './request-log.ts';
import type { ResponsePart, ScriptedCall, ScriptedResponse, StreamResponse } from './script.ts';
import { argumentsText } from './wire-calls.ts';
import { wireUsage, withFinish } from './wire-stream.ts';

/** One answer to be played as parts of the model interface. */
export interface PartsPlayback {
  readonly answer: Promise<ScriptedResponse | undefined>;
  /** Said where there is no answer. */
  readonly refusal: string;
  readonly signal: AbortSignal;
  readonly end: EndRequest;
  newCallId(): string;
  /** Told which failure the script meant, before it is thrown. */
  onFailure(failure: ModelFailure): void;
  /** Told what a part of the script threw. */
  threw(cause: unknown): void;
}

/** The parts of an answer; throws where the connection of a provider would break. */
export async function* playParts(playback: PartsPlayback): AsyncGenerator<StreamPart, void> {
  try {
    const answer = await playback.answer;
    if (answer === undefined) fail(playback, invalid(playback.refusal));
    yield* partsOf(answer, playback);
  } catch (cause) {
    if (!isSwarmError(cause, 'fault-injected')) playback.threw(cause);
    throw cause;
  } finally {
    playback.end({ aborted: playback.signal.aborted });
  }
}

/** Breaks the answer off. The error only carries the news through code that reads real providers. */
function fail(playback: PartsPlayback, failure: ModelFailure): never {
  playback.onFailure(failure);
  throw new SwarmError('fault-injected', failure.message);
}

function invalid(message: string): ModelFailure {
  return { kind: 'invalid-request', message, retryable: false, phase: 'connect' };
}

function broken(phase: 'connect' | 'stream'): ModelFailure {
  return { kind: 'network', message: 'the connection broke', retryable: true, phase };
}

async function* partsOf(answer: ScriptedResponse, playback: PartsPlayback): AsyncGenerator<StreamPart> {
  switch (answer.type) {
    case 'failure':
      return fail(playback, answer.failure);
    case 'reset':
      return fail(playback, broken('connect'));
    case 'silence':
      return untilAborted(playback.signal);
    case 'plain':
      return fail(playback, invalid('an HTTP answer needs scriptedServer'));
    case 'stream':
      yield* streamParts(answer, playback);
  }
}

/** What is gathered on the way and said at the end of an answer. */
interface Tail {
  readonly calls: StreamPart[];
  refused: boolean;
  finish: string | null;
}

async function* streamParts(answer: StreamResponse, playback: PartsPlayback): AsyncGenerator<StreamPart> {
  const tail: Tail = { calls: [], refused: false, finish: null };
  for (const [at, part] of withFinish(answer.parts).entries()) {
    switch (part.type) {
      case 'text':
        yield* deltaParts('text', 'text', part.deltas);
        break;
      case 'refusal':
        tail.refused = true;
        yield* deltaParts('text', 'text', [part.text]);
        break;
      case 'reasoning':
        yield* reasoningParts(`reasoning-${at}`, part);
        break;
      case 'calls':
        yield* callParts(part.calls, tail, playback);
        break;
      case 'finish':
        tail.finish = part.reason;
        break;
      default:
        await passBy(part, playback);
    }
  }
  // The packages that read chat completions hold calls back until the answer ends.
  yield* tail.calls;
  yield finishPart(tail.refused ? 'content_filter' : tail.finish, usageOf(answer.parts));
}

type Passing = Exclude<ResponsePart, { type: 'text' | 'refusal' | 'reasoning' | 'calls' | 'finish' }>;

/** Parts that say nothing themselves: they take time, or break the answer off. */
async function passBy(part: Passing, playback: PartsPlayback): Promise<void> {
  switch (part.type) {
    case 'usage':
    case 'comment':
      return;
    case 'wait':
      await part.pass(playback.signal);
      return;
    case 'stall':
      return untilAborted(playback.signal);
    case 'destroy':
      return fail(playback, broken('stream'));
    case 'failure':
      return fail(playback, part.failure);
    case 'chunk':
    case 'delta':
    case 'line':
    case 'raw':
      return fail(playback, invalid(`a part of the kind ${part.type} needs scriptedServer`));
  }
}

function* callParts(
  calls: readonly ScriptedCall[],
  tail: Tail,
  playback: PartsPlayback,
): Generator<StreamPart> {
  for (const call of calls) {
    const id = call.id || playback.newCallId();
    yield { type: 'tool-input-start', id, toolName: call.name };
    tail.calls.push({
      type: 'tool-call',
      toolCallId: id,
      toolName: call.name,
      input: argumentsText(call),
    });
  }
}

function* deltaParts(
  kind: 'text' | 'reasoning',
  id: string,
  deltas: readonly string[],
): Generator<StreamPart> {
  for (const delta of deltas) yield { type: `${kind}-delta`, id, delta };
}

function* reasoningParts(
  id: string,
  part: Extract<ResponsePart, { type: 'reasoning' }>,
): Generator<StreamPart> {
  const { signature, deltas } = part;
  yield { type: 'reasoning-start', id };
  yield* deltaParts('reasoning', id, deltas);
  yield {
    type: 'reasoning-end',
    id,
    ...(signature === undefined ? {} : { providerMetadata: { scripted: { signature } } }),
  };
}

const UNIFIED: Readonly<Record<string, UnifiedFinish>> = {
  stop: 'stop',
  length: 'length',
  content_filter: 'content-filter',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
};

function finishPart(reason: string | null, usage: ProviderUsage): StreamPart {
  if (reason === null)
    return { type: 'finish', usage, finishReason: { unified: 'interrupted', raw: undefined } };
  return { type: 'finish', usage, finishReason: { unified: UNIFIED[reason] ?? 'other', raw: reason } };
}

function usageOf(parts: readonly ResponsePart[]): ProviderUsage {
  const part = parts.find(({ type }) => type === 'usage');
  return readChatUsage(part?.type === 'usage' ? wireUsage(part.usage) : undefined);
}
