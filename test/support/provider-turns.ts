import { eventLines, type Reply, raw } from './sse-server.ts';

/** A stream of named events, as Anthropic and OpenAI's Responses write them. */
function named(events: readonly { readonly type: string }[]): Reply {
  return raw(events.map((event) => `event: ${event.type}\n${eventLines([event])}`).join(''));
}

/** Signed thinking, a text and two calls from Anthropic. */
export const ANTHROPIC_CALLS = named([
  {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-x',
      content: [],
      stop_reason: null,
      usage: {
        input_tokens: 20,
        cache_read_input_tokens: 8,
        cache_creation_input_tokens: 2,
        output_tokens: 1,
      },
    },
  },
  block(0, { type: 'thinking', thinking: '', signature: '' }),
  blockDelta(0, { type: 'thinking_delta', thinking: 'Two ' }),
  blockDelta(0, { type: 'thinking_delta', thinking: 'cities.' }),
  blockDelta(0, { type: 'signature_delta', signature: 'sig-1' }),
  blockStop(0),
  block(1, { type: 'text', text: '' }),
  blockDelta(1, { type: 'text_delta', text: 'Let me see.' }),
  blockStop(1),
  block(2, { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} }),
  blockDelta(2, { type: 'input_json_delta', partial_json: '{"city":' }),
  blockDelta(2, { type: 'input_json_delta', partial_json: '"Rome"}' }),
  blockStop(2),
  block(3, { type: 'tool_use', id: 'toolu_2', name: 'weather', input: {} }),
  blockDelta(3, { type: 'input_json_delta', partial_json: '{"city":"Oslo"}' }),
  blockStop(3),
  {
    type: 'message_delta',
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: { output_tokens: 30 },
  },
  { type: 'message_stop' },
] as { type: string }[]);

/** A plain answer from Anthropic. */
export const ANTHROPIC_TEXT = named([
  {
    type: 'message_start',
    message: {
      id: 'msg_2',
      type: 'message',
      role: 'assistant',
      model: 'claude-x',
      content: [],
      stop_reason: null,
      usage: { input_tokens: 9, output_tokens: 1 },
    },
  },
  block(0, { type: 'text', text: '' }),
  blockDelta(0, { type: 'text_delta', text: 'Rome 30, Oslo unknown.' }),
  blockStop(0),
  {
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: 7 },
  },
  { type: 'message_stop' },
] as { type: string }[]);

function block(index: number, content: object): { type: string } {
  return { type: 'content_block_start', index, content_block: content } as { type: string };
}

function blockDelta(index: number, delta: object): { type: string } {
  return { type: 'content_block_delta', index, delta } as { type: string };
}

function blockStop(index: number): { type: string } {
  return { type: 'content_block_stop', index } as { type: string };
}

const RESPONSE = { id: 'resp_1', created_at: 1_700_000_000, model: 'gpt-x' };

function item(phase: 'added' | 'done', index: number, content: object): { type: string } {
  return { type: `response.output_item.${phase}`, output_index: index, item: content } as { type: string };
}

/** Sealed thinking and two calls from OpenAI's Responses. */
export const RESPONSES_CALLS = named([
  { type: 'response.created', response: RESPONSE } as { type: string },
  item('added', 0, { type: 'reasoning', id: 'rs_1', encrypted_content: 'sealed-0' }),
  { type: 'response.reasoning_summary_part.added', item_id: 'rs_1', summary_index: 0 } as { type: string },
  {
    type: 'response.reasoning_summary_text.delta',
    item_id: 'rs_1',
    summary_index: 0,
    delta: 'Two cities.',
  } as { type: string },
  { type: 'response.reasoning_summary_part.done', item_id: 'rs_1', summary_index: 0 } as { type: string },
  item('done', 0, {
    type: 'reasoning',
    id: 'rs_1',
    encrypted_content: 'sealed-1',
    summary: [{ type: 'summary_text', text: 'Two cities.' }],
  }),
  ...['Rome', 'Oslo'].flatMap((city, at) => [
    item('added', at + 1, {
      type: 'function_call',
      id: `fc_${at}`,
      call_id: `call_${at}`,
      name: 'weather',
      arguments: '',
    }),
    {
      type: 'response.function_call_arguments.delta',
      item_id: `fc_${at}`,
      output_index: at + 1,
      delta: `{"city":"${city}"}`,
    } as { type: string },
    item('done', at + 1, {
      type: 'function_call',
      id: `fc_${at}`,
      call_id: `call_${at}`,
      name: 'weather',
      arguments: `{"city":"${city}"}`,
      status: 'completed',
    }),
  ]),
  {
    type: 'response.completed',
    response: {
      ...RESPONSE,
      usage: {
        input_tokens: 30,
        input_tokens_details: { cached_tokens: 10 },
        output_tokens: 30,
        output_tokens_details: { reasoning_tokens: 12 },
      },
    },
  } as { type: string },
]);

/** A plain answer from OpenAI's Responses. */
export const RESPONSES_TEXT = named([
  { type: 'response.created', response: RESPONSE } as { type: string },
  item('added', 0, { type: 'message', id: 'msg_1' }),
  { type: 'response.output_text.delta', item_id: 'msg_1', delta: 'Rome 30.' } as { type: string },
  item('done', 0, { type: 'message', id: 'msg_1' }),
  { type: 'response.completed', response: { ...RESPONSE, usage: { input_tokens: 9, output_tokens: 7 } } } as {
    type: string;
  },
]);

function candidate(parts: readonly object[], extra: object = {}): object {
  return {
    candidates: [{ content: { role: 'model', parts }, index: 0, ...extra }],
    modelVersion: 'gemini-x',
  };
}

const GOOGLE_USAGE = {
  promptTokenCount: 30,
  candidatesTokenCount: 18,
  thoughtsTokenCount: 12,
  totalTokenCount: 60,
};

/** Thinking and two calls from Google, the first of them signed. */
export const GOOGLE_CALLS = raw(
  eventLines([
    candidate([{ text: 'Two cities.', thought: true }]),
    candidate([{ functionCall: { name: 'weather', args: { city: 'Rome' } }, thoughtSignature: 'sig-1' }]),
    {
      ...candidate([{ functionCall: { name: 'weather', args: { city: 'Oslo' } } }], { finishReason: 'STOP' }),
      usageMetadata: GOOGLE_USAGE,
    },
  ]),
);

/** A plain answer from Google. */
export const GOOGLE_TEXT = raw(
  eventLines([
    { ...candidate([{ text: 'Rome 30.' }], { finishReason: 'STOP' }), usageMetadata: GOOGLE_USAGE },
  ]),
);
