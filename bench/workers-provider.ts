import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { machineMs } from './machine-clock.ts';
import type { ChatRequest } from './sse-script.ts';

// The provider of the measurements of workers, alone in a process. It answers one line to every request, `delayMs` after
// it came, and tells when that was.

/** When requests about an input came, in milliseconds of `machineMs`, in their order. */
export type Requests = Readonly<Record<string, readonly number[]>>;

const delayMs = Number(process.argv[2] ?? 0);
const requests: Record<string, number[]> = {};

const chunk = (choice: object, more: object = {}) => {
  const base = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' };
  const choices = [{ index: 0, finish_reason: null, ...choice }];
  return `data: ${JSON.stringify({ ...base, choices, ...more })}\n\n`;
};
const usage = { usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 } };
const ANSWER = [
  chunk({ delta: { role: 'assistant', content: 'Done.' } }),
  chunk({ delta: {}, finish_reason: 'stop' }, usage),
  'data: [DONE]\n\n',
].join('');

function inputOf({ messages }: ChatRequest): string {
  const { content } = messages.findLast(({ role }) => role === 'user') ?? {};
  return typeof content === 'string' ? content : (content?.[0]?.text ?? '');
}

const server = createServer((request, response) => {
  const cameAt = machineMs();
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', async () => {
    // What the body has to be is known: the workers send a chat completion.
    const input = inputOf(JSON.parse(Buffer.concat(parts).toString()) as ChatRequest);
    requests[input] = [...(requests[input] ?? []), cameAt];
    await setTimeout(delayMs);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(ANSWER);
  });
});
process.on('message', () => process.send?.(requests));
// The parent may be gone without a word; nothing is left for the server to do then.
process.on('disconnect', () => process.exit());
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => {
  // A listening TCP server has an address of this shape.
  process.send?.((server.address() as AddressInfo).port);
});
