import { SwarmError } from '../errors.ts';
import type { JsonObject, JsonValue } from '../ledger/content.ts';
import type { ModelFailure } from '../model/adapter.ts';

/** How a provider writes down what the model thought. */
export type ReasoningDialect =
  /** `delta.reasoning_content`: DeepSeek, Qwen, Kimi, xAI. */
  | 'reasoning_content'
  /** `delta.reasoning`: Groq, vLLM. */
  | 'reasoning'
  /** `delta.reasoning_details`, with a signature: OpenRouter. */
  | 'reasoning_details'
  /** `delta.content` as a list with thinking parts: Mistral. */
  | 'content-parts'
  /** `<think>` tags in the text. */
  | 'think-tags';

/** How one tool call is written on the wire; the defaults are those of a well-behaved provider. */
export interface CallQuirks {
  /** Default: one that is unique on the server. `null` leaves it out. */
  readonly id?: string | null;
  /** Default: the place among the calls of the answer, from 0. `null` leaves it out. */
  readonly index?: number | null;
  /** Pieces the arguments come in. Default 1. */
  readonly fragments?: number;
  /** Which pieces carry the name; `blank-after` repeats it empty, `after-arguments` sends it last. Default `first`. */
  readonly nameIn?: 'first' | 'every' | 'blank-after' | 'after-arguments' | 'never';
  /** Which pieces carry the id. Default `first`. */
  readonly idIn?: 'first' | 'every';
  /** Sends the arguments as a JSON object instead of text. */
  readonly argumentsAsObject?: boolean;
  /** Uses the `function_call` of old. */
  readonly legacy?: boolean;
}

/** One call of an answer. Arguments given as text are sent as they are, broken or not. */
export interface ScriptedCall extends CallQuirks {
  readonly name: string;
  readonly args?: JsonObject | string;
}

/** Tokens as a server counts them. `null` is a count the provider left empty. */
export interface WireUsage {
  readonly input: number | null;
  readonly output: number | null;
  readonly cacheRead?: number;
  readonly reasoning?: number;
}

/** Where an answer carries its usage. */
export type UsagePlace =
  /** A chunk of its own without choices, after the finish. */
  | 'own-chunk'
  | 'finish-chunk'
  /** Cumulative, in every chunk. */
  | 'every-chunk'
  /** Only where Groq puts it. */
  | 'x_groq';

/** One thing that happens while an answer streams. */
export type ResponsePart =
  | { readonly type: 'text'; readonly deltas: readonly string[] }
  | {
      readonly type: 'reasoning';
      readonly deltas: readonly string[];
      readonly dialect: ReasoningDialect;
      readonly signature?: string;
    }
  | { readonly type: 'calls'; readonly calls: readonly ScriptedCall[]; readonly interleaved: boolean }
  | { readonly type: 'refusal'; readonly text: string }
  | { readonly type: 'usage'; readonly usage: WireUsage; readonly place: UsagePlace }
  | { readonly type: 'finish'; readonly reason: string | null }
  /** Waits until `pass` resolves; its signal aborts when the client is gone. */
  | { readonly type: 'wait'; pass(signal: AbortSignal): Promise<unknown> }
  | { readonly type: 'comment'; readonly text: string }
  /** A whole chunk as given, or one with a `delta` of its own. */
  | { readonly type: 'chunk'; readonly chunk: JsonObject }
  | { readonly type: 'delta'; readonly delta: JsonObject }
  /** One `data:` line, JSON or not. */
  | { readonly type: 'line'; readonly text: string; readonly event?: string }
  | { readonly type: 'raw'; readonly bytes: Uint8Array }
  /** The answer breaks off with this failure, said the provider's way. */
  | { readonly type: 'failure'; readonly failure: ModelFailure; readonly dialect: StreamErrorDialect }
  /** Nothing more comes, and the connection stays. */
  | { readonly type: 'stall' }
  /** The connection breaks. */
  | { readonly type: 'destroy' };

/** How a provider reports an error once it has begun to stream. */
export type StreamErrorDialect =
  /** `{"error": {message, type, code}}` */
  | 'object'
  /** A chunk with both `error` and `choices`. */
  | 'with-choices'
  /** `{"error": "text"}` */
  | 'text'
  /** `{"object": "error", "message", "code"}` */
  | 'flat'
  /** An SSE event named `error`. */
  | 'event';

/** A streamed answer, as far as it got. */
export interface StreamResponse {
  readonly type: 'stream';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly parts: readonly ResponsePart[];
  /** Whether the stream ends with `[DONE]`. */
  readonly done: boolean;
  /** Bytes of each piece the body is written in, repeated; empty = one piece a chunk. */
  readonly splitBytes: readonly number[];
}

/** An answer that is no stream: an HTTP failure, an HTML page, an empty body. */
export interface PlainResponse {
  readonly type: 'plain';
  readonly status: number;
  readonly statusText?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What the server does with one request. */
export type ScriptedResponse =
  | StreamResponse
  | PlainResponse
  /** A request that fails as a whole with this failure, said the provider's way. */
  | { readonly type: 'failure'; readonly failure: ModelFailure }
  /** The connection breaks before any header. */
  | { readonly type: 'reset' }
  /** The connection stays and nothing is ever sent. */
  | { readonly type: 'silence' };

/** One message of a request, in the few words a script needs. */
export interface ParsedMessage {
  readonly role: 'user' | 'assistant' | 'tool';
  /** All text of it; what is no text stands as `[image]` and the like. */
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly args: JsonValue }[];
  /** Of a tool result: the call it answers. */
  readonly callId?: string;
}

/** A request as scripts see it, the same for the server and the in-process model. */
export interface ParsedRequest {
  /** From 0, in order of arrival. */
  readonly ordinal: number;
  readonly model: string;
  readonly system: string;
  /** Without the system text. */
  readonly messages: readonly ParsedMessage[];
  readonly toolNames: readonly string[];
  /** `auto`, `none`, `required`, or the name of the tool. */
  readonly toolChoice: string;
  /** Text of the last message. */
  readonly lastText: string;
}

/** The answers to those requests that `when` holds for. The first route that holds is asked. */
export interface ScriptRoute {
  /** Named in the message when answers are left. */
  readonly name: string;
  when(request: ParsedRequest): boolean;
  readonly play: readonly ScriptedResponse[];
}

/**
 * What to answer: a list in order, a list for each of several kinds of request, or a function (`index` counts
 * its calls; `undefined` = no answer is meant to come).
 */
export type Script =
  | readonly ScriptedResponse[]
  | { readonly routes: readonly ScriptRoute[] }
  | ((
      request: ParsedRequest,
      index: number,
    ) => ScriptedResponse | undefined | Promise<ScriptedResponse | undefined>);

/** Answers by the model a request names, for swarms whose agents share a server. */
export function scriptByModel(plays: Readonly<Record<string, readonly ScriptedResponse[]>>): Script {
  const routes = Object.entries(plays).map(([name, play]) => ({
    name,
    play,
    when: (request: ParsedRequest) => request.model === name,
  }));
  return { routes };
}

/** A script on its way. */
export interface ScriptPlayer {
  /** The answer to a request; undefined when the script holds none, or threw. */
  next(request: ParsedRequest): Promise<ScriptedResponse | undefined>;
  /** Keeps what a part of the script threw while it was played. */
  threw(cause: unknown): void;
  /**
   * @throws SwarmError 'script-unplayed' when the script threw, requests were `refused`, answers are left, or
   * some were asked for that it does not hold
   */
  assertPlayedOut(refused: readonly string[]): void;
}

/** Starts a script. @throws SwarmError 'invalid-definition' for what is none, in the name of `owner` */
export function createPlayer(owner: string, script: Script): ScriptPlayer {
  assertScript(owner, script);
  const overrun: string[] = [];
  const faults: unknown[] = [];
  const routes = routesOf(script);
  const at = routes.map(() => 0);
  let asked = 0;

  const pick = (request: ParsedRequest) => {
    const index = routes.findIndex(({ when }) => when(request));
    const place = at[index];
    if (place === undefined) return undefined;
    at[index] = place + 1;
    return routes[index]?.play[place];
  };

  const ask = async (request: ParsedRequest) => {
    const index = asked;
    asked += 1;
    return typeof script === 'function' ? script(request, index) : pick(request);
  };

  return {
    async next(request) {
      try {
        const response = await ask(request);
        if (response === undefined) overrun.push(describeRequest(request));
        return response;
      } catch (cause) {
        faults.push(cause);
        return undefined;
      }
    },
    threw: (cause) => void faults.push(cause),
    assertPlayedOut(refused) {
      if (faults.length > 0)
        throw new SwarmError('script-unplayed', 'the script threw', { cause: faults[0] });
      const left = routes.flatMap(({ name, play }, index) =>
        (at[index] ?? 0) < play.length
          ? [`${name}: ${play.length - (at[index] ?? 0)} of ${play.length}`]
          : [],
      );
      const complaints = [
        ...(refused.length > 0 ? [`a strict provider refuses ${refused.join(' | ')}`] : []),
        ...(left.length > 0 ? [`answers never asked for (${left.join('; ')})`] : []),
        ...(overrun.length > 0 ? [`no answer for ${overrun.join('; ')}`] : []),
      ];
      if (complaints.length > 0) throw new SwarmError('script-unplayed', complaints.join(', and '));
    },
  };
}

/** JavaScript callers get past the types: a script under another name, or one answer without a list. */
function assertScript(owner: string, script: unknown): void {
  if (Array.isArray(script) || typeof script === 'function') return;
  if (typeof script === 'object' && script !== null && 'routes' in script && Array.isArray(script.routes)) {
    return;
  }
  const kinds = 'a list of answers, { routes } or a function';
  throw new SwarmError('invalid-definition', `${owner}: script is ${kinds}`);
}

function routesOf(script: Script): readonly ScriptRoute[] {
  if (typeof script === 'function') return [];
  if ('routes' in script) return script.routes;
  return [{ name: 'script', when: () => true, play: script }];
}

function describeRequest({ ordinal, model, lastText }: ParsedRequest): string {
  return `request ${ordinal} to ${model} ending in ${JSON.stringify(lastText.slice(-80))}`;
}
