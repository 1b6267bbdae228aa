import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createRuntime, defineAgent, defineTool } from '../../src/index.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';

const weather = defineTool({
  name: 'get_weather',
  description: 'Tells the weather of a city.',
  inputSchema: z.object({ city: z.string() }),
  defer: 'always',
  execute: ({ city }) => `${city}: sunny`,
});

describe('tool_search in a turn', () => {
  it('TS-05 makes a found tool visible from the next step on', async () => {
    const model = scriptedModel({
      script: [
        reply().call('tool_search', { query: 'weather' }),
        reply().call('get_weather', { city: 'Oslo' }),
        reply().text('Sunny.'),
      ],
    });
    const agent = defineAgent({ name: 'guide', instructions: 'Help.', model, tools: [weather] });
    await using runtime = createRuntime();
    const result = await runtime.run(agent, 'How is Oslo?').result;
    expect(result).toMatchObject({ status: 'completed', text: 'Sunny.' });
    expect(model.requests.map(({ request }) => request.tools.map((tool) => tool.name))).toEqual([
      ['tool_search'],
      ['tool_search', 'get_weather'],
      ['tool_search', 'get_weather'],
    ]);
    model.assertPlayedOut();
  });
});
