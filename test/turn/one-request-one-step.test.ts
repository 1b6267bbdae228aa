import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/index.ts';
import { openaiCompatible } from '../../src/model/open-ai-compatible.ts';
import { failure, httpResponse, reply } from '../../src/testing/reply.ts';
import { ofType } from '../support/run-events.ts';
import { scriptedAgent, servedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';

const noDelay = { attempts: { baseDelayMs: 0 } };

describe('requests and steps', () => {
  it('MA-01 one adapter call is one request and one step, also with tools', async () => {
    const spy = createToolSpy();
    const { server, agent } = await servedAgent(
      [
        reply().call('read', { id: 'a' }).call('read', { id: 'b' }),
        reply().call('read', { id: 'c' }),
        reply().text('Done.'),
      ],
      { tools: [spy.tool('read')] },
    );
    let adapterCalls = 0;
    const inner = openaiCompatible({ baseURL: server.baseURL, model: 'scripted' });
    const model: typeof inner = {
      ...inner,
      step(request, options) {
        adapterCalls += 1;
        return inner.step(request, options);
      },
    };
    await using runtime = createRuntime();
    const run = runtime.run({ ...agent, model }, 'Read.');
    const result = await run.result;
    const records = await runtime.sessions.read(run.sessionId);
    expect(result).toMatchObject({ status: 'completed', steps: 3, toolCalls: 3 });
    expect(adapterCalls).toBe(3);
    expect(server.requests).toHaveLength(3);
    expect(ofType(records, 'step.opened')).toHaveLength(3);
    server.assertPlayedOut();
  });

  it('MA-02 tools reach the provider as plain data, and only settlement enters them', async () => {
    const spy = createToolSpy();
    const { model, agent } = scriptedAgent([reply().call('read', { id: 'a' }), reply().text('Done.')], {
      tools: [spy.tool('read')],
    });
    await using runtime = createRuntime();
    const run = runtime.run(agent, 'Read.');
    await run.result;
    const records = await runtime.sessions.read(run.sessionId);
    const [tool] = model.requests[0]?.request.tools ?? [];
    expect(Object.keys(tool ?? {}).sort()).toEqual(['description', 'inputSchema', 'name']);
    expect(structuredClone(model.requests[0]?.request)).toEqual(model.requests[0]?.request);
    expect(spy.entries.map(({ operationId }) => operationId)).toEqual(
      ofType(records, 'tool.dispatched').map(({ data }) => data.operationId),
    );
  });

  it('MA-06 every attempt has one capture, and it is durable before the request', async () => {
    const durable: number[] = [];
    const { server, agent } = await servedAgent(
      async (_request, index) => {
        const records = await runtime.sessions.read('captured');
        durable.push(ofType(records, 'request.prepared').length);
        return [failure({ kind: 'overloaded' }), reply().text('Done.')][index];
      },
      { limits: noDelay },
    );
    const runtime = createRuntime();
    await runtime.run(agent, 'Go.', { sessionId: 'captured' }).result;
    const records = await runtime.sessions.read('captured');
    expect(durable).toEqual([1, 2]);
    expect(ofType(records, 'request.prepared')).toHaveLength(2);
    expect(ofType(records, 'attempt.started').map(({ data }) => data.attempt)).toEqual([1, 2]);
    // A retry sends the same bytes.
    expect(new Set(ofType(records, 'attempt.started').map(({ data }) => data.sha256)).size).toBe(1);
    expect(server.requests[1]?.body).toEqual(server.requests[0]?.body);
    await runtime.close();
  });

  it('MA-06 a step has the usage its provider reported, or none', async () => {
    const { server, agent } = await servedAgent([
      reply().call('nothing', {}).usage(11, 3, { cacheRead: 4, reasoning: 2 }),
      reply().text('Done.'),
    ]);
    await using runtime = createRuntime();
    const run = runtime.run(agent, 'Go.');
    await run.result;
    const closed = ofType(await runtime.sessions.read(run.sessionId), 'step.closed');
    expect(closed.map(({ data }) => data.usage)).toEqual([
      { inputTokens: 11, outputTokens: 3, totalTokens: 14, cacheReadTokens: 4, reasoningTokens: 2 },
      undefined,
    ]);
    server.assertPlayedOut();
  });

  it('MA-10 a 500 is one HTTP request an attempt', async () => {
    const { server, agent } = await servedAgent(() => httpResponse(500, { error: { message: 'no' } }), {
      limits: { attempts: { baseDelayMs: 0, max: 3 } },
    });
    await using runtime = createRuntime();
    const run = runtime.run(agent, 'Go.');
    const result = await run.result;
    const records = await runtime.sessions.read(run.sessionId);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'provider-error', status: 500 } });
    expect(ofType(records, 'attempt.started')).toHaveLength(3);
    expect(server.requests).toHaveLength(3);
  });
});
