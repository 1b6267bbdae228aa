// A turn that reads more than its model can hold. Run it with: npm run example -- examples/long-turn.ts
import { createRuntime, defineAgent, defineTool, openaiCompatible } from 'swarmwright';
import { spawnScriptedServer } from 'swarmwright/testing';
import { z } from 'zod';

// Stands in for a provider, in a process of its own. It remembers nothing between two requests.
await using server = await spawnScriptedServer(new URL('long-turn/script.ts', import.meta.url));

const WINDOW = 3_000;

// With a window the runtime judges each request before it is sent.
const model = openaiCompatible({ baseURL: server.baseURL, model: 'scripted', contextWindow: WINDOW });

const readChapter = defineTool({
  name: 'read_chapter',
  description: 'Text of one chapter.',
  inputSchema: z.object({ number: z.int().min(1) }),
  // About 200 tokens each: a book of 24 has about twice what fits.
  execute: ({ number }) =>
    `Chapter ${number}.`.concat(' It was a dark and stormy night.'.repeat(24 + number)),
});

const reader = defineAgent({
  name: 'reader',
  instructions: 'You count the words of a book, chapter by chapter.',
  model,
  tools: [readChapter],
  // Also the default: results that are in the way can be read again, and older history is summed up by the model of
  // the agent. `compaction: { model: cheaper }` lets another one do it.
});

await using runtime = createRuntime();
const run = runtime.run(reader, 'How many words does the book have?');

for await (const event of run.events({ content: ['compaction'] })) {
  if (event.type === 'compaction.committed') {
    const { messages, fromChars, toChars, summary } = event.data;
    console.log(`folded ${messages} messages, ${fromChars} characters into ${toChars}: ${summary}`);
  }
}

const result = await run.result;
if (result.status !== 'completed') throw new Error(JSON.stringify(result));
console.log(`\n${result.text}\n${result.steps} steps`);

// What was sent, at its largest, in the usual four characters a token.
const sizes = (await server.requests()).map(({ body }) => JSON.stringify(body).length / 4);
console.log(`largest request: ${Math.ceil(Math.max(...sizes))} of ${WINDOW} tokens`);
