import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../../src/ledger/content.ts';
import { reply } from '../../src/testing/reply.ts';
import { askUser } from '../../src/tools/ask-user.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { presetTools } from '../support/discovery-presets.ts';
import { type PlayOptions, playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { ofType } from '../support/run-events.ts';

const OSLO = { city: 'Oslo' };
const inspect = (name: string) => reply().call('tool_inspect', { name });
const invoke = (name: string, params: JsonObject = OSLO) => reply().call('tool_invoke', { name, params });

async function playInvoke(script: readonly ReturnType<typeof reply>[], options: PlayOptions = {}) {
  const entries: { readonly name: string; readonly input: unknown }[] = [];
  const played = await playTurn('memory', [...script, reply().text('Done.')], {
    ...options,
    agent: { tools: presetTools((name, input) => entries.push({ name, input })), ...options.agent },
    run: { discovery: { preset: 'invoke' }, ...options.run },
  });
  return { ...played, entries };
}

const guarded: Tool<unknown> = defineTool({
  name: 'guarded',
  description: 'Does what must be allowed.',
  inputSchema: z.object({}),
  defer: 'always',
  needsApproval: true,
  execute: () => 'allowed',
});

const elsewhere: Tool<unknown> = defineTool({
  name: 'elsewhere',
  description: 'Is not for this agent.',
  inputSchema: z.object({}),
  defer: 'always',
  applies: () => false,
  execute: () => 'elsewhere done',
});

describe('tool_search of tools that are called through another', () => {
  it('lists names and hints by namespace, without parameters', async () => {
    const { model } = await playInvoke([reply().call('tool_search', { query: 'weather' })]);
    expect(JSON.parse(lastResults(model, 1)[0] ?? '')).toEqual({
      tools: { outdoors: [{ name: 'get_weather', description: 'Tells the weather of a city.' }] },
    });
  });

  it('lists a whole namespace, or all of them', async () => {
    const { model } = await playInvoke([
      reply().call('tool_search', { namespace: 'outdoors' }).call('tool_search', {}),
    ]);
    const [some, all] = lastResults(model, 1).map((result) => JSON.parse(result).tools);
    expect(Object.keys(some)).toEqual(['outdoors']);
    expect(some.outdoors.map(({ name }: { name: string }) => name)).toEqual(['get_tides', 'get_weather']);
    expect(Object.keys(all)).toEqual(['outdoors', 'post']);
  });

  it('says so where nothing matches', async () => {
    const { model } = await playInvoke([
      reply().call('tool_search', { query: 'quantum' }).call('tool_search', { namespace: 'nowhere' }),
    ]);
    const [miss, nowhere] = lastResults(model, 1);
    expect(miss).toContain('No tools matched');
    expect(nowhere).toContain('no namespace nowhere');
  });

  it('counts as an inspection where it is verbose, and only there', async () => {
    const search = (verbose: boolean) => reply().call('tool_search', { query: 'get_weather', verbose });
    const verbose = await playInvoke([search(true), invoke('get_weather')]);
    expect(lastResults(verbose.model, 1)[0]).toContain('Name of the place.');
    expect(verbose.entries).toHaveLength(1);
    const plain = await playInvoke([search(false), invoke('get_weather')]);
    expect(plain.entries).toEqual([]);
  });

  it('shows the parameters of an inspected tool again only where it is verbose', async () => {
    const { model } = await playInvoke([
      inspect('get_weather'),
      reply().call('tool_search', { query: 'get_weather' }),
      reply().call('tool_search', { query: 'get_weather', verbose: true }),
    ]);
    expect(lastResults(model, 2)[0]).not.toContain('parameters');
    expect(lastResults(model, 3)[0]).toContain('Name of the place.');
  });

  it('makes a tool active once, however often it is inspected', async () => {
    const { records } = await playInvoke([inspect('get_weather'), inspect('get_weather')]);
    expect(ofType(records, 'tools.activated')).toHaveLength(1);
  });

  it('tells the namespaces in the system text', async () => {
    const { model } = await playInvoke([]);
    expect(model.requests[0]?.system).toContain('- outdoors (2)\n- post (1)');
    expect(model.requests[0]?.system).not.toContain('get_weather');
  });
});

describe('tool_invoke', () => {
  it.each([
    ['unregistered', 'launch', 'There is no tool named launch'],
    ['unlisted', 'elsewhere', 'elsewhere is not available in this turn'],
    ['direct', 'note', 'note is among your tools'],
    ['non-executable', 'ask_user', 'ask_user is not executed by a program'],
    ['gated', 'guarded', 'guarded needs an approval'],
  ])('CR-05 says of a tool that is %s what is wrong', async (_, name, text) => {
    const tools = [...presetTools(), guarded, elsewhere, askUser()];
    const { model, records } = await playInvoke([inspect(name).call('tool_invoke', { name })], {
      agent: { tools },
    });
    for (const result of lastResults(model, 1)) expect(result).toContain(text);
    const settled = ofType(records, 'tool.settled').map(({ data }) => `${data.toolName}: ${data.status}`);
    expect(settled.sort()).toEqual(['tool_inspect: error', 'tool_invoke: error']);
  });

  it('CR-05 gives its call an id of both, and the tool sees it', async () => {
    const seen: string[] = [];
    const tool = defineTool({
      name: 'files.read',
      description: 'Reads.',
      inputSchema: z.object({}),
      defer: 'always',
      execute: (_, ctx) => {
        seen.push(ctx.callId);
        return 'read';
      },
    });
    const { records } = await playInvoke([inspect('files.read'), invoke('files.read', {})], {
      agent: { tools: [tool] },
    });
    const called = ofType(records, 'tool.called').at(-1);
    expect(called?.call).toMatch(/^[^:]+\.1\.2\.0::files_read_[0-9a-f]{8}$/);
    expect(seen).toEqual([called?.call]);
  });

  it('CR-05 refuses the first call of a tool nobody looked at, with its signature', async () => {
    const { model, records, entries } = await playInvoke([invoke('get_weather'), invoke('get_weather')]);
    expect(ofType(records, 'tool.refused').map(({ data }) => [data.toolName, data.code])).toEqual([
      ['get_weather', 'needs-schema'],
    ]);
    expect(lastResults(model, 1)[0]).toContain('"name":"get_weather"');
    expect(lastResults(model, 1)[0]).toContain('Name of the place.');
    expect(entries).toHaveLength(1);
  });

  it('CR-05 does not take an inspection of the same step for one', async () => {
    const { entries } = await playInvoke([
      inspect('get_weather').call('tool_invoke', { name: 'get_weather', params: OSLO }),
    ]);
    expect(entries).toEqual([]);
  });

  it('CR-05 checks the arguments and fills in defaults', async () => {
    const { entries, records } = await playInvoke([
      inspect('get_weather'),
      invoke('get_weather', { town: 1 }),
      invoke('get_weather', OSLO),
    ]);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['invalid-arguments']);
    expect(entries).toEqual([{ name: 'get_weather', input: { city: 'Oslo', days: 1 } }]);
  });

  it('CR-05 takes arguments that are written as a text', async () => {
    const { entries } = await playInvoke([
      inspect('get_weather'),
      reply().call('tool_invoke', { name: 'get_weather', params: '{"city":"Oslo"}' }),
    ]);
    expect(entries).toEqual([{ name: 'get_weather', input: { city: 'Oslo', days: 1 } }]);
  });

  it('CR-02 leaves a tool that asks for approval to be called by its own name', async () => {
    const { model } = await playInvoke([], { agent: { tools: [...presetTools(), guarded] } });
    expect(model.requests[0]?.toolNames).toContain('guarded');
  });

  it('does not run a deferred tool that is called by its own name', async () => {
    const { entries, model } = await playInvoke([inspect('get_weather'), reply().call('get_weather', OSLO)]);
    expect(entries).toEqual([]);
    expect(lastResults(model, 2)[0]).toContain('Call it through tool_invoke');
  });
});

describe('a call through tool_invoke', () => {
  it('CR-06 is asked permission for, recorded and counted as the tool it means', async () => {
    const asked: JsonObject[] = [];
    const { records, result } = await playInvoke([inspect('get_weather'), invoke('get_weather')], {
      agent: {
        permission: ({ toolName, input, callId }) => {
          asked.push({ toolName, input, callId });
          return 'allow';
        },
      },
    });
    const [called] = ofType(records, 'tool.called').slice(-1);
    expect(called?.data).toMatchObject({ toolName: 'get_weather', via: 'tool_invoke', args: OSLO });
    expect(asked.at(-1)).toEqual({ toolName: 'get_weather', input: OSLO, callId: called?.call });
    const names = records.flatMap((record) =>
      record.call === called?.call && 'toolName' in record.data ? [record.data.toolName] : [],
    );
    expect(names).toEqual(['get_weather', 'get_weather', 'get_weather']);
    expect(result).toMatchObject({ toolCalls: 2 });
  });

  it('CR-06 shares the streak of failures of the tool it means', async () => {
    const tools = presetTools(() => {
      throw new Error('no wind');
    });
    const call = invoke('get_weather');
    const { records } = await playInvoke([inspect('get_weather'), call, call, call], { agent: { tools } });
    expect(ofType(records, 'tool.refused').map(({ data }) => [data.toolName, data.code])).toEqual([
      ['get_weather', 'loop-gate'],
    ]);
  });

  it('CR-06 keeps its step to itself where the tool it means does', async () => {
    const exclusive = defineTool({
      name: 'reboot',
      description: 'Starts anew.',
      inputSchema: z.object({}),
      defer: 'always',
      exclusive: true,
      execute: () => 'rebooted',
    });
    const { records } = await playInvoke(
      [inspect('reboot'), invoke('reboot', {}).call('note', { text: 'x' })],
      { agent: { tools: [...presetTools(), exclusive] } },
    );
    expect(ofType(records, 'tool.refused').map(({ data }) => [data.toolName, data.code])).toEqual([
      ['note', 'exclusive-step'],
    ]);
  });

  it('CR-06 has its output mapped by the tool it means', async () => {
    const mapped = defineTool({
      name: 'mapped',
      description: 'Maps.',
      inputSchema: z.object({}),
      defer: 'always',
      execute: () => ({ deep: 1 }),
      toModelOutput: ({ deep }) => `deep is ${deep}`,
    });
    const { model } = await playInvoke([inspect('mapped'), invoke('mapped', {})], {
      agent: { tools: [mapped] },
    });
    expect(lastResults(model, 2)).toEqual(['deep is 1']);
  });
});
