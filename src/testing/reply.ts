import type { JsonObject, JsonValue } from '../ledger/content.ts';
import type { FailureKind, ModelFailure } from '../model/adapter.ts';
import type { Gate } from './gate.ts';
import type {
  CallQuirks,
  PlainResponse,
  ReasoningDialect,
  ResponsePart,
  ScriptedCall,
  ScriptedResponse,
  StreamErrorDialect,
  StreamResponse,
  UsagePlace,
  WireUsage,
} from './script.ts';

/** How a text is cut: into so many deltas of about one size, or into deltas of so many characters. */
export type DeltaRule = { readonly deltas: number } | { readonly chars: number };

/**
 * A streamed answer under construction. Every method gives a new one and leaves the old as it was, so that
 * scripts can share beginnings. Parts go out in the order they were added.
 */
export interface Reply extends StreamResponse {
  text(text: string, cut?: DeltaRule): Reply;
  reasoning(
    text: string,
    options?: { readonly dialect?: ReasoningDialect; readonly signature?: string; readonly cut?: DeltaRule },
  ): Reply;
  /** One call. Calls added one after another are calls of one answer. */
  call(name: string, args?: JsonObject | string, quirks?: CallQuirks): Reply;
  /** Several calls; `interleaved` sends one piece of each in turn. */
  calls(calls: readonly ScriptedCall[], options?: { readonly interleaved?: boolean }): Reply;
  /** Text in the `refusal` field. */
  refusal(text: string): Reply;
  /** Default place: a chunk of its own. Never given = the provider reports none. */
  usage(input: number | null, output: number | null, more?: UsageOptions): Reply;
  /**
   * Why the answer ends: any word a provider may use. Default `tool_calls` if there are calls, else `stop`.
   * `null` never says why.
   */
  finish(reason: string | null): Reply;
  /** Goes on when the gate opens, or when the promise of a function resolves. */
  wait(gate: Gate | ((signal: AbortSignal) => Promise<unknown>)): Reply;
  /** An SSE comment, as servers send to keep a connection alive. */
  comment(text?: string): Reply;
  /** A chunk with this delta: unknown fields, strange roles. */
  delta(delta: JsonObject): Reply;
  /** A chunk exactly as given. */
  chunk(chunk: JsonObject): Reply;
  /** A `data:` line exactly as given, which need not be JSON. */
  line(text: string): Reply;
  /** Bytes exactly as given: broken UTF-8, half an event. */
  raw(bytes: Uint8Array | string): Reply;
  /** The answer breaks off with an error event. */
  error(failure: FailureOptions, dialect?: StreamErrorDialect): Reply;
  /** An error event with any payload. No finish follows unless one is added. */
  errorPayload(payload: JsonValue, event?: string): Reply;
  /** Nothing more comes, and the connection stays open. */
  stall(): Reply;
  /** The connection breaks here. */
  destroy(): Reply;
  /** Ends the body without `[DONE]`. */
  withoutDone(): Reply;
  /** Writes the body in pieces of these sizes in turn, wherever that cuts it. */
  split(...bytes: readonly number[]): Reply;
  withStatus(status: number): Reply;
  withHeader(name: string, value: string): Reply;
}

/** More of the usage of an answer. */
export interface UsageOptions {
  readonly cacheRead?: number;
  readonly reasoning?: number;
  readonly place?: UsagePlace;
}

/** A failure of a model; what is not given follows from the kind. */
export interface FailureOptions extends Partial<Omit<ModelFailure, 'kind'>> {
  readonly kind: FailureKind;
}

/**
 * Begins a streamed answer.
 *
 * @example
 * const script = [
 *   reply().reasoning('Two files.').call('read', { path: 'a' }).call('read', { path: 'b' }).usage(120, 30),
 *   reply().text('Both are empty.', { deltas: 3 }).usage(180, 6),
 * ];
 */
export function reply(): Reply {
  return build({ type: 'stream', status: 200, headers: {}, parts: [], done: true, splitBytes: [] });
}

function build(response: StreamResponse): Reply {
  const add = (...parts: readonly ResponsePart[]) =>
    build({ ...response, parts: [...response.parts, ...parts] });
  return {
    ...response,
    text: (text, cut) => add({ type: 'text', deltas: cutText(text, cut) }),
    reasoning: (text, { dialect = 'reasoning_content', signature, cut } = {}) =>
      add({
        type: 'reasoning',
        deltas: cutText(text, cut),
        dialect,
        ...(signature === undefined ? {} : { signature }),
      }),
    call: (name, args, quirks) =>
      addCalls(response, [{ name, ...(args === undefined ? {} : { args }), ...quirks }], false),
    calls: (calls, options) => addCalls(response, calls, options?.interleaved ?? false),
    refusal: (text) => add({ type: 'refusal', text }),
    usage: (input, output, { place = 'own-chunk', ...more } = {}) =>
      add({ type: 'usage', usage: { input, output, ...more } satisfies WireUsage, place }),
    finish: (reason) => add({ type: 'finish', reason }),
    wait: (gate) =>
      add({ type: 'wait', pass: typeof gate === 'function' ? gate : (signal) => gate.pass(signal) }),
    comment: (text = 'keep-alive') => add({ type: 'comment', text }),
    delta: (delta) => add({ type: 'delta', delta }),
    chunk: (chunk) => add({ type: 'chunk', chunk }),
    line: (text) => add({ type: 'line', text }),
    raw: (bytes) =>
      add({ type: 'raw', bytes: typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes }),
    error: (options, dialect = 'object') =>
      add({ type: 'failure', failure: completed({ phase: 'stream', ...options }), dialect }),
    errorPayload: (payload, event) =>
      add(
        { type: 'line', text: JSON.stringify(payload), ...(event === undefined ? {} : { event }) },
        { type: 'finish', reason: null },
      ),
    stall: () => add({ type: 'stall' }),
    destroy: () => add({ type: 'destroy' }),
    withoutDone: () => build({ ...response, done: false }),
    split: (...splitBytes) => build({ ...response, splitBytes }),
    withStatus: (status) => build({ ...response, status }),
    withHeader: (name, value) => build({ ...response, headers: { ...response.headers, [name]: value } }),
  };
}

/** Calls that follow calls are one set: their default index is their place in the answer. */
function addCalls(response: StreamResponse, calls: readonly ScriptedCall[], interleaved: boolean): Reply {
  const before = response.parts.flatMap((part) => (part.type === 'calls' ? part.calls : [])).length;
  const placed = calls.map((call, offset) => ({ index: before + offset, ...call }));
  return build({ ...response, parts: [...response.parts, { type: 'calls', calls: placed, interleaved }] });
}

function cutText(text: string, rule: DeltaRule = { deltas: 1 }): readonly string[] {
  const size = 'chars' in rule ? rule.chars : Math.ceil(text.length / rule.deltas);
  const deltas: string[] = [];
  for (let at = 0; at < text.length; at += Math.max(1, size)) {
    deltas.push(text.slice(at, at + Math.max(1, size)));
  }
  return deltas.length === 0 ? [text] : deltas;
}

const RETRYABLE: ReadonlySet<FailureKind> = new Set([
  ...(['rate-limited', 'overloaded', 'network', 'timeout', 'malformed-response', 'provider-error'] as const),
]);

function completed(options: FailureOptions): ModelFailure {
  return {
    message: `scripted failure: ${options.kind}`,
    retryable: RETRYABLE.has(options.kind),
    phase: 'connect',
    ...options,
  };
}

/**
 * A request that fails as a whole, the way an OpenAI-compatible provider says it: status, headers and body
 * follow from the kind. The in-process model gives the failure itself.
 */
export function failure(options: FailureOptions): ScriptedResponse {
  return { type: 'failure', failure: completed(options) };
}

/** Any HTTP answer that is no stream. An object is sent as JSON. Only for the server. */
export function httpResponse(
  status: number,
  body: JsonValue = '',
  headers: Readonly<Record<string, string>> = {},
): PlainResponse {
  const isText = typeof body === 'string';
  const contentType = isText ? 'text/plain; charset=utf-8' : 'application/json';
  return {
    type: 'plain',
    status,
    headers: { 'content-type': contentType, ...headers },
    body: isText ? body : JSON.stringify(body),
  };
}

/** An HTML page, as proxies send, with any status. Only for the server. */
export function htmlResponse(status: number, title: string): PlainResponse {
  const body = `<!doctype html><html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`;
  return { type: 'plain', status, headers: { 'content-type': 'text/html' }, body };
}

/** The connection breaks before any header. */
export function resetConnection(): ScriptedResponse {
  return { type: 'reset' };
}

/** No byte is ever sent; the connection stays open. */
export function silence(): ScriptedResponse {
  return { type: 'silence' };
}

/**
 * Plays a recorded stream byte for byte. `text` is the SSE body, or one JSON chunk a line (then framed as
 * `data:` lines and closed with `[DONE]`). Only for the server.
 */
export function recordedStream(text: string): Reply {
  if (!/^\s*\{/.test(text)) return reply().raw(text).withoutDone().finish(null);
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.reduce((answer, line) => answer.line(line), reply()).finish(null);
}
