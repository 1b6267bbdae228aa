import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { McpServer } from '../../src/mcp/mcp-server.ts';
import type { McpServerSettings } from '../../src/mcp/server-options.ts';
import { reply } from '../../src/testing/reply.ts';
import { everythingServer, filesystemServer, servedEverything } from '../support/mcp-everything.ts';
import { mcpWorld } from '../support/mcp-world.ts';
import { playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { eventSeen, ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { toolsOf } from '../support/search-turns.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const done = reply().text('Done.');

const transports: readonly [string, (more?: McpServerSettings) => Promise<McpServer>][] = [
  ['stdio', async (more) => everythingServer(more)],
  ['streamable HTTP', async (more) => (await servedEverything(more)).server],
];

describe.each(transports)('a reference server over %s', (_, serve) => {
  it('CX-05 lists its tools under its name and runs them', async () => {
    const { model, records } = await playTurn(
      'memory',
      [reply().call('every__echo', { message: 'Hello there' }).call('every__get-sum', { a: 2, b: 3 }), done],
      { agent: { tools: [await serve()] } },
    );
    expect(toolsOf(model)[0]).toEqual(
      expect.arrayContaining(['every__echo', 'every__get-sum', 'every__get-tiny-image']),
    );
    expect(lastResults(model, 1)).toEqual(['Echo: Hello there', 'The sum of 2 and 3 is 5.']);
    expect(ofType(records, 'tools.changed')[0]?.data.added[0]?.source).toBe('mcp:every');
  });

  it('CX-05 gives images, links, resources and structured content as bounded parts', async () => {
    const { model, records } = await playTurn(
      'memory',
      [
        reply()
          .call('every__get-tiny-image', {})
          .call('every__get-resource-links', { count: 2 })
          .call('every__get-resource-reference', { resourceType: 'Text', resourceId: 1 })
          .call('every__get-resource-reference', { resourceType: 'Blob', resourceId: 2 })
          .call('every__get-structured-content', { location: 'Chicago' }),
        done,
      ],
      { agent: { tools: [await serve()] } },
    );
    const [image, links, text, blob, structured] = lastResults(model, 1);
    expect(image).toContain('[image]');
    const [first] = ofType(records, 'tool.settled').filter(({ data }) => data.output.type === 'content');
    expect(JSON.stringify(first?.data.output)).toMatch(/"mediaType":"image\/png","source":\{"ref":\{/);
    expect(links).toMatch(/\[resource link demo:\/\/resource\/dynamic\/blob\/1: .*text\/plain/);
    expect(text).toMatch(/\[resource demo:\/\/resource\/dynamic\/text\/1\]\nResource 1: This is a plaintext/);
    expect(blob).toMatch(/text\/plain, \d+ bytes, kept as artifact [0-9a-f]{64}\]/);
    expect(JSON.parse(structured ?? '')).toMatchObject({ temperature: expect.any(Number) });
  });

  it('CX-05 shows progress to observers', async () => {
    const { model, records } = await playTurn(
      'memory',
      [reply().call('every__trigger-long-running-operation', { duration: 0.4, steps: 4 }), done],
      {
        agent: { tools: [await serve()] },
        runtime: { limits: { tools: { progressIntervalMs: 0 } } },
      },
    );
    const told = ofType(records, 'tool.progressed').map(({ data }) => data.text);
    expect(told).toContain('2 of 4');
    expect(lastResults(model, 1)[0]).toContain('Long running operation completed');
  });

  it('CX-05 ends a call that is cancelled at once', async () => {
    const { agent } = scriptedAgent(
      [reply().call('every__trigger-long-running-operation', { duration: 3_600, steps: 36_000 })],
      { tools: [await serve()] },
    );
    const { runtime } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    await eventSeen(run, 'tool.dispatched');
    run.cancel('enough');
    expect((await run.result).status).toBe('cancelled');
  });

  it('CX-05 ends a call that takes too long as an error result', async () => {
    const { model } = await playTurn(
      'memory',
      [reply().call('every__trigger-long-running-operation', { duration: 3_600, steps: 2 }), done],
      { agent: { tools: [await serve({ timeoutMs: 50 })] } },
    );
    expect(lastResults(model, 1)[0]).toMatch(/50 ms/);
  });

  it('CX-05 refuses what its server asks for unless it was configured', async () => {
    const { model } = await playTurn('memory', [done], { agent: { tools: [await serve()] } });
    expect(toolsOf(model)[0]?.join()).not.toMatch(/elicitation|sampling|roots/);
  });

  it('CX-05 answers elicitation and sampling where it was configured', async () => {
    const asked: string[] = [];
    const { model } = await playTurn(
      'memory',
      [
        reply()
          .call('every__trigger-elicitation-request', {})
          .call('every__trigger-sampling-request', { prompt: 'How far?', maxTokens: 10 }),
        done,
      ],
      {
        agent: {
          tools: [
            await serve({
              async elicit({ server, schema }) {
                asked.push(`${server}: ${Object.keys(schema['properties'] ?? {}).includes('name')}`);
                return { action: 'accept', content: { name: 'Ada', check: true } };
              },
              async sample({ server, params }) {
                asked.push(`${server}: ${JSON.stringify(params).includes('How far?')}`);
                return { model: 'local', text: 'Nine miles.' };
              },
            }),
          ],
        },
      },
    );
    expect(asked.sort()).toEqual(['every: true', 'every: true']);
    const [elicited, sampled] = lastResults(model, 1);
    expect(elicited).toContain('Ada');
    expect(sampled).toContain('Nine miles.');
  });
});

describe('the file server', () => {
  it('CX-05 reads and writes real files', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'swarmwright-files-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'a.txt'), 'line one\r\nline two');
    const { model } = await playTurn(
      'memory',
      [
        reply().call('files__read_text_file', { path: join(folder, 'a.txt') }),
        reply().call('files__read_text_file', { path: '/etc/passwd' }),
        done,
      ],
      { agent: { tools: [filesystemServer([folder])] } },
    );
    expect(lastResults(model, 1)).toEqual(['line one\r\nline two']);
    expect(lastResults(model, 2)[0]).toContain('Access denied');
  });
});

describe.each(['older', 'newer'] as const)('a call by the %s protocol', (protocol) => {
  it('CX-05 that is cancelled is cancelled at its server', async () => {
    const world = mcpWorld(['hang'], {}, protocol);
    const { agent } = scriptedAgent([reply().call('world__hang', {})], { tools: [world.server] });
    const { runtime } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    await world.logged(/^call hang/);
    run.cancel('enough');
    await run.result;
    await world.logged(/^cancelled$/);
    expect(world.pids()).toHaveLength(1);
  });
});

describe('a result', () => {
  const call = async (result: object) => {
    const world = mcpWorld(['look']);
    world.answer('look', result);
    const { model, records } = await playTurn('memory', [reply().call('world__look', {}), done], {
      agent: { tools: [world.server] },
    });
    const [settled] = ofType(records, 'tool.settled');
    return { shown: lastResults(model, 1)[0] ?? '', settled };
  };

  it('CX-05 that is audio is kept as an artifact', async () => {
    const data = Buffer.from('sound').toString('base64');
    const { shown } = await call({ content: [{ type: 'audio', data, mimeType: 'audio/wav' }] });
    expect(shown).toMatch(/^\[audio: audio\/wav, 5 bytes, kept as artifact [0-9a-f]{64}\]$/);
  });

  it('CX-05 that is nothing but structured content is JSON', async () => {
    const { shown } = await call({ content: [], structuredContent: { far: [1, 2] } });
    expect(shown).toBe('{"far":[1,2]}');
  });

  it('CX-05 that says it is an error is one', async () => {
    const { shown, settled } = await call({
      content: [{ type: 'text', text: 'no such city' }],
      isError: true,
    });
    expect(shown).toBe('no such city');
    expect(settled?.data.status).toBe('error');
  });

  it('CX-05 that is large is cut, and whole in an artifact', async () => {
    const { shown, settled } = await call({ content: [{ type: 'text', text: 'x'.repeat(200_000) }] });
    expect(shown.length).toBeLessThan(60_000);
    expect(settled?.data.resultRef?.size).toBeGreaterThanOrEqual(200_000);
  });
});
