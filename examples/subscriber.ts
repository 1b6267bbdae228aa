// Follows the events of agents on NATS: npm run example -- examples/subscriber.ts [URL] [--after SEQUENCE]
// Without a URL it brings all of it along: a server, an agent that works, and this subscriber beside it.
import { parseArgs } from 'node:util';
import { createRuntime, defineAgent, defineTool } from 'swarmwright';
import { type SubscribeOptions, subscribe } from 'swarmwright/nats';
import { reply, scriptedModel } from 'swarmwright/testing';
import { z } from 'zod';
import { openBus } from './nats/bus.ts';

/** Prints events until `isLast` says so. What a service does with them stands where they are printed. */
async function follow(options: SubscribeOptions, isLast: (type: string) => boolean): Promise<number> {
  let handled = 0;
  for await (const item of subscribe(options)) {
    if (item.type === 'gap') {
      console.log(`  gap in ${item.session}: ${item.after} to ${item.before}, ${item.refilled} found`);
      continue;
    }
    const { event, sequence } = item;
    console.log(
      `  ${String(sequence).padStart(4)} ${event.agent} ${event.type} ${JSON.stringify(event.data).slice(0, 80)}`,
    );
    // A service stores this with what it did: it is where it goes on after a crash.
    handled = sequence;
    if (isLast(event.type)) break;
  }
  return handled;
}

const count = defineTool({
  name: 'count',
  description: 'Counts the words of a text.',
  inputSchema: z.object({ text: z.string() }),
  execute: ({ text }) => text.split(/\s+/).length,
});

/** An agent that works, on a server of this example's own. */
async function demonstrate(): Promise<void> {
  await using bus = await openBus({});
  console.log(bus.description);
  if (bus.url === undefined) return;
  const model = scriptedModel({
    script: [reply().call('count', { text: 'to be or not to be' }), reply().text('Six.')],
  });
  const agent = defineAgent({ name: 'counter', instructions: 'Count.', model, tools: [count] });
  const runtime = createRuntime({ sinks: bus.sinks });
  const run = runtime.run(agent, 'How many words?');
  console.log('\nWhat comes, up to the first call:');
  const at = await follow(
    { connection: bus.url, root: run.sessionId, from: 'start' },
    (type) => type === 'tool.called',
  );
  await run.result;
  console.log('\nAnother process, from there on:');
  await follow(
    { connection: bus.url, root: run.sessionId, from: { after: at } },
    (type) => type === 'turn.closed',
  );
  await runtime.close();
}

const { values, positionals } = parseArgs({ allowPositionals: true, options: { after: { type: 'string' } } });
const [connection] = positionals;
if (connection === undefined) await demonstrate();
else {
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  const from = values.after === undefined ? 'start' : { after: Number(values.after) };
  await follow({ connection, from, signal: stop.signal }, () => false);
}
