import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createRuntime, defineAgent, defineTool } from '../../src/index.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';

describe('one turn', () => {
  it('runs a tool and answers', async () => {
    const model = scriptedModel({
      script: [reply().call('add', { a: 1, b: 2 }).usage(10, 5), reply().text('Three.').usage(20, 3)],
    });
    const add = defineTool({
      name: 'add',
      description: 'Adds.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      execute: ({ a, b }) => String(a + b),
    });
    const agent = defineAgent({ name: 'adder', instructions: 'Add.', model, tools: [add] });
    await using runtime = createRuntime();
    const run = runtime.run(agent, 'one and two');
    const events: string[] = [];
    const reading = (async () => {
      for await (const event of run.events()) events.push(event.type);
    })();
    const result = await run.result;
    await reading;
    expect(result.status).toBe('completed');
    model.assertPlayedOut();
  });
});
