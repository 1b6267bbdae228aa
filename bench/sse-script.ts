// What the provider of the measurements answers. It goes by what a request holds, the tools it lists and the results
// in it, so that whoever asks the same is given the same work.

const DELTAS = 20;

/** Children that the lead asks for in its first step. */
const CHILDREN = 8;

interface ChatMessage {
  readonly role: string;
  readonly content?: string | readonly { readonly text?: string }[] | null;
}

/** A chat completion, as far as the answer depends on it. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

interface Step {
  readonly step: number;
  readonly calls?: readonly { readonly name: string; readonly input: object }[];
  /** What the text ends with. */
  readonly last?: string;
}

function chunk(step: number, choice: object, usage?: object): string {
  const base = { id: `chatcmpl-${step}`, object: 'chat.completion.chunk', created: 1, model: 'bench' };
  return `data: ${JSON.stringify({ ...base, choices: [{ index: 0, finish_reason: null, ...choice }], ...usage })}\n\n`;
}

/** Chunks of one step as a provider sends them: a role, deltas of some tokens, calls or none, the end. */
function chunksOf({ step, calls = [], last = '' }: Step): readonly string[] {
  const texts = Array.from({ length: DELTAS }, (_, i) => `step ${step} delta ${i} `);
  if (last !== '') texts.push(last);
  const asked = calls.map(({ name, input }, index) => {
    const called = { name, arguments: JSON.stringify(input) };
    return { index, id: `call_${step}_${index}`, type: 'function', function: called };
  });
  const usage = { usage: { prompt_tokens: 100, completion_tokens: 40, total_tokens: 140 } };
  return [
    chunk(step, { delta: { role: 'assistant', content: '' } }),
    ...texts.map((content) => chunk(step, { delta: { content } })),
    ...asked.map((call) => chunk(step, { delta: { tool_calls: [call] } })),
    chunk(step, { delta: {}, finish_reason: asked.length === 0 ? 'stop' : 'tool_calls' }, usage),
    'data: [DONE]\n\n',
  ];
}

/** A turn of three steps, the first two ending in a call. */
const turnSteps = [0, 1, 2].map((step) =>
  chunksOf({ step, calls: step === 2 ? [] : [{ name: 'weather', input: { city: `city ${step}` } }] }),
);

/** The lead asks all its children in one step, and then says how many it heard of, each in its place. */
const leadAsks = chunksOf({
  step: 0,
  calls: Array.from({ length: CHILDREN }, (_, i) => ({ name: 'ask_worker', input: { task: `part ${i}` } })),
});

function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map(({ text = '' }) => text).join('');
}

function leadSteps(results: readonly string[]): readonly string[] {
  if (results.length === 0) return leadAsks;
  const heard = results.filter((result, i) => result.includes(`part ${i} is fine.`)).length;
  return chunksOf({ step: 1, last: `heard ${heard} of ${CHILDREN}` });
}

/** A worker looks at its part, and then says whether it is fine. */
function workerSteps(messages: readonly ChatMessage[], results: readonly string[]): readonly string[] {
  const asked = messages.findLast(({ role }) => role === 'user');
  const part = asked === undefined ? '' : textOf(asked);
  if (results.length === 0) return chunksOf({ step: 0, calls: [{ name: 'look_at', input: { part } }] });
  return chunksOf({ step: 1, last: results.includes(`${part}: 21 lines`) ? `${part} is fine.` : 'No.' });
}

/** The parts of the response, each to be written by itself. */
export function answerTo({ messages, tools = [] }: ChatRequest): readonly string[] {
  const results = messages.filter(({ role }) => role === 'tool').map(textOf);
  const isListed = (name: string): boolean => tools.some((tool) => tool.function.name === name);
  if (isListed('ask_worker')) return leadSteps(results);
  if (isListed('look_at')) return workerSteps(messages, results);
  return turnSteps[results.length] ?? [];
}
