import { createAnthropic } from '@ai-sdk/anthropic';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { fromAiSdk } from '../../src/model/from-ai-sdk.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { fakeModel, STOP, streamOf, textParts } from '../support/fake-language-model.ts';
import { ANTHROPIC_TEXT } from '../support/provider-turns.ts';
import { request, runStep } from '../support/run-step.ts';
import { deferredTool, deferredTools } from '../support/search-turns.ts';
import { startSseServer } from '../support/sse-server.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const MARK = { anthropic: { cacheControl: { type: 'ephemeral' } } };
const tool = (name: string) => ({ name, description: '', inputSchema: { type: 'object' } });

/** What the provider package is called with. */
async function lowered(options: Parameters<typeof fromAiSdk>[1], more: Parameters<typeof request>[0] = {}) {
  const fake = fakeModel(() => streamOf([...textParts('ok'), STOP]));
  const tools = [tool('a'), tool('b'), tool('found')];
  await runStep(fromAiSdk(fake, options), request({ system: 'Work.', tools, stableTools: 2, ...more }));
  const [call] = fake.calls;
  return {
    tools: call?.tools?.map(({ providerOptions }) => providerOptions),
    prompt: call?.prompt.map(({ role, providerOptions }) => [role, providerOptions]),
  };
}

describe('cache breakpoints', () => {
  it('are put nowhere by default', async () => {
    expect(await lowered({})).toEqual({
      tools: [undefined, undefined, undefined],
      prompt: [
        ['system', undefined],
        ['user', undefined],
      ],
    });
  });

  it('are put after the last stable tool, the system text and the last message', async () => {
    const said = (text: string) => ({ role: 'user', content: [{ type: 'text', text }] }) as const;
    const { tools, prompt } = await lowered(
      { cacheBreakpoints: MARK },
      { messages: [said('one'), said('two')] },
    );
    expect(tools).toEqual([undefined, MARK, undefined]);
    expect(prompt).toEqual([
      ['system', MARK],
      ['user', undefined],
      ['user', MARK],
    ]);
  });

  it('reach the wire of Anthropic', async () => {
    const server = await startSseServer();
    onTestFinished(() => server[Symbol.asyncDispose]());
    server.script(ANTHROPIC_TEXT);
    const provider = createAnthropic({ baseURL: `${server.origin}/v1`, apiKey: 'none' });
    const model = fromAiSdk(provider('claude-sonnet-4-5'), { cacheBreakpoints: MARK });
    const tools = [tool('a'), tool('found')];
    await runStep(model, request({ system: 'Work.', tools, stableTools: 1 }));
    const mark = { cache_control: { type: 'ephemeral' } };
    expect(server.requests[0]?.body).toMatchObject({
      tools: [mark, expect.not.objectContaining(mark)],
      system: [mark],
      messages: [{ role: 'user', content: [mark] }],
    });
  });

  it('are put on no tool where none is stable', async () => {
    const { tools } = await lowered({ cacheBreakpoints: MARK }, { stableTools: 0 });
    expect(tools).toEqual([undefined, undefined, undefined]);
  });

  it('leave a definition as it is for models without them', async () => {
    await lowered({ cacheBreakpoints: MARK });
    expect((await lowered({})).tools).toEqual([undefined, undefined, undefined]);
  });

  it('are refused where they are no provider options', () => {
    const options = { cacheBreakpoints: { anthropic: 'ephemeral' } };
    // What a JavaScript caller may write.
    expect(() =>
      fromAiSdk(
        fakeModel(() => streamOf([])),
        options as never,
      ),
    ).toThrow(/cacheBreakpoints/);
  });
});

describe('a request of a turn', () => {
  const play = async (cacheBreakpoints: boolean) => {
    const scripted = scriptedModel({
      script: [
        reply().call('tool_search', { query: 'paint' }),
        reply().call('paint', {}),
        reply().call('submit_output', { word: 'done' }),
      ],
    });
    const model = { ...scripted, capabilities: { ...scripted.capabilities, cacheBreakpoints } };
    const agent = defineAgent({
      name: 'worker',
      instructions: 'Work.',
      model,
      tools: [deferredTool('look', { defer: 'never' }), ...deferredTools('paint', 'wash')],
      output: z.object({ word: z.string() }),
    });
    const { runtime } = watchedRuntime();
    expect((await runtime.run(agent, 'Go.').result).status).toBe('completed');
    return scripted.requests.map(({ request: { tools, stableTools } }) => [
      tools.map(({ name }) => name).join(' '),
      stableTools,
    ]);
  };

  it('says how many of its tools every request of the turn has', async () => {
    expect(await play(true)).toEqual([
      ['look tool_search submit_output', 2],
      ['look tool_search submit_output paint', 2],
      ['look tool_search submit_output paint', 2],
    ]);
  });

  it('says nothing of it to a model that has no use for it', async () => {
    expect((await play(false)).map(([, stable]) => stable)).toEqual([undefined, undefined, undefined]);
  });
});
