/** A chat-completions client of a few lines: what the tests see of the server is what is on the wire. */
export interface WireAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parsed `data:` lines; text where a line is not JSON. */
  readonly events: readonly unknown[];
}

export interface WireOptions {
  readonly messages?: readonly unknown[];
  readonly model?: string;
  readonly stream?: boolean;
  readonly signal?: AbortSignal;
  readonly more?: object;
}

export function post(baseURL: string, options: WireOptions = {}): Promise<Response> {
  const { messages = [{ role: 'user', content: 'hi' }], model = 'm', stream = true, signal, more } = options;
  return fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages, stream, ...more }),
    ...(signal === undefined ? {} : { signal }),
  });
}

export async function ask(baseURL: string, options: WireOptions = {}): Promise<WireAnswer> {
  const response = await post(baseURL, options);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, events: eventsOf(text) };
}

export function eventsOf(text: string): readonly unknown[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => parse(line.slice(6)));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The deltas of a stream, without the role that opens it. */
export function deltasOf(events: readonly unknown[]): readonly unknown[] {
  return events.flatMap((event) => {
    const delta = (event as { choices?: { delta?: Record<string, unknown> }[] }).choices?.[0]?.delta;
    if (delta === undefined) return [];
    const { role, ...rest } = delta;
    return Object.keys(rest).length === 0 ? [] : [rest];
  });
}
