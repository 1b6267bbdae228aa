/** A tool of a raw loop. */
export interface RawTool {
  /** As it stands in a request. */
  readonly definition: object;
  execute(json: string): Promise<string>;
}

/** One agent as a loop of requests. */
export interface RawAgent {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly model: string;
  readonly instructions: string;
  readonly tools: Readonly<Record<string, RawTool>>;
}

interface RawChunk {
  readonly choices: readonly {
    readonly delta: {
      readonly content?: string;
      readonly tool_calls?: readonly {
        readonly id: string;
        readonly function: { readonly name: string; readonly arguments: string };
      }[];
    };
  }[];
}

interface RawCall {
  readonly id: string;
  readonly name: string;
  readonly json: string;
}

/** Reads one response: its text and its calls, with no care for anything that could go wrong. */
async function readRaw(body: ReadableStream<Uint8Array>) {
  let text = '';
  let rest = '';
  const calls: RawCall[] = [];
  const decoder = new TextDecoder();
  for await (const bytes of body) {
    rest += decoder.decode(bytes, { stream: true });
    const events = rest.split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) {
      const data = event.slice('data: '.length);
      if (data === '[DONE]') continue;
      // The server is ours: what it sends is known.
      const delta = (JSON.parse(data) as RawChunk).choices[0]?.delta;
      text += delta?.content ?? '';
      for (const { id, function: called } of delta?.tool_calls ?? []) {
        calls.push({ id, name: called.name, json: called.arguments });
      }
    }
  }
  return { text, calls };
}

/** The floor: what the runtime of JavaScript itself takes for the requests and their parsing. Gives the last text. */
export async function rawLoop(agent: RawAgent, prompt: string): Promise<string> {
  const { url, headers, model, instructions } = agent;
  const tools = Object.values(agent.tools).map(({ definition }) => definition);
  const messages: object[] = [
    { role: 'system', content: instructions },
    { role: 'user', content: prompt },
  ];
  for (;;) {
    const body = JSON.stringify({ model, stream: true, messages, tools });
    const response = await fetch(url, { method: 'POST', headers, body });
    if (response.body === null) throw new Error('the server sent no body');
    const { text, calls } = await readRaw(response.body);
    if (calls.length === 0) return text;
    const toolCalls = calls.map(({ id, name, json }) => ({
      id,
      type: 'function',
      function: { name, arguments: json },
    }));
    messages.push({ role: 'assistant', content: text, tool_calls: toolCalls });
    const results = calls.map(async ({ id, name, json }) => {
      const content = await agent.tools[name]?.execute(json);
      return { role: 'tool', tool_call_id: id, content };
    });
    messages.push(...(await Promise.all(results)));
  }
}
