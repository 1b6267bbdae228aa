const BASE = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'm-1' };

/** One chunk of a chat-completions stream with a delta. */
export function delta(fields: { [key: string]: unknown }, finish: string | null = null): object {
  return { ...BASE, choices: [{ index: 0, delta: fields, finish_reason: finish }] };
}

/** Text deltas, one for each argument. */
export function text(...pieces: string[]): object[] {
  return pieces.map((content) => delta({ content }));
}

/** One delta of a tool call. */
export function call(fields: { index?: number; id?: string | null; name?: string; args?: unknown }): object {
  const { index, id, name, args } = fields;
  return delta({
    tool_calls: [
      {
        ...(index !== undefined && { index }),
        ...(id !== undefined && { id }),
        type: 'function',
        function: { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) },
      },
    ],
  });
}

export function finish(reason: string | null): object {
  return delta({}, reason);
}

/** The closing chunk with usage: 10 tokens in, 5 out unless said otherwise. */
export function usage(fields: { [key: string]: unknown } = {}): object {
  return {
    ...BASE,
    choices: [],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, ...fields },
  };
}

/** A whole call of the tool `weather`. */
export function weather(id: string, city: string, index?: number): object {
  return call({ ...(index !== undefined && { index }), id, name: 'weather', args: JSON.stringify({ city }) });
}
