import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { answerTo, type ChatRequest } from './sse-script.ts';

// The provider of the measurements, alone in a process so that its work is nobody's CPU.

const delayMs = Number(process.argv[2] ?? 0);

async function answer(body: string, response: ServerResponse): Promise<void> {
  // What the body has to be is known: every contender sends a chat completion.
  const parts = answerTo(JSON.parse(body) as ChatRequest);
  if (delayMs > 0) await setTimeout(delayMs);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const part of parts) {
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
