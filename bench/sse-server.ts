import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';

// The provider of the measurements, alone in a process so that its work is nobody's CPU. A turn has three
// steps of 20 deltas, the first two ending in a call; how many results a request holds says which step it is.

const DELTAS = 20;
const delayMs = Number(process.argv[2] ?? 0);

interface ChatRequest {
  readonly messages: readonly { readonly role: string }[];
}

function chunk(step: number, choice: object, usage?: object): string {
  const base = { id: `chatcmpl-${step}`, object: 'chat.completion.chunk', created: 1, model: 'bench' };
  return `data: ${JSON.stringify({ ...base, choices: [{ index: 0, finish_reason: null, ...choice }], ...usage })}\n\n`;
}

/** Chunks of one step as a provider sends them: a role, deltas of some tokens, a call or none, the end. */
function chunksOf(step: number): readonly string[] {
  const isLast = step === 2;
  const deltas = Array.from({ length: DELTAS }, (_, i) =>
    chunk(step, { delta: { content: `step ${step} delta ${i} ` } }),
  );
  const call = {
    index: 0,
    id: `call_${step}`,
    type: 'function',
    function: { name: 'weather', arguments: JSON.stringify({ city: `city ${step}` }) },
  };
  const usage = { usage: { prompt_tokens: 100, completion_tokens: 40, total_tokens: 140 } };
  return [
    chunk(step, { delta: { role: 'assistant', content: '' } }),
    ...deltas,
    ...(isLast ? [] : [chunk(step, { delta: { tool_calls: [call] } })]),
    chunk(step, { delta: {}, finish_reason: isLast ? 'stop' : 'tool_calls' }, usage),
    'data: [DONE]\n\n',
  ];
}

const steps = [chunksOf(0), chunksOf(1), chunksOf(2)];

async function answer(body: string, response: ServerResponse): Promise<void> {
  // What the body has to be is known: every contender sends a chat completion.
  const { messages } = JSON.parse(body) as ChatRequest;
  const results = messages.filter(({ role }) => role === 'tool').length;
  if (delayMs > 0) await setTimeout(delayMs);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const part of steps[results] ?? []) {
    response.write(part);
    // A delta arrives by itself, as it does from a model.
    await setImmediate();
  }
  response.end();
}

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => void answer(Buffer.concat(parts).toString(), response));
});
// The parent may be gone without a word; nothing is left for the server to do then.
process.on('disconnect', () => process.exit());
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => {
  // A listening TCP server has an address of this shape.
  process.send?.((server.address() as AddressInfo).port);
});
