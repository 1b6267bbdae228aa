import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type Tool } from '../../src/index.ts';
import { createRuntime } from '../../src/runtime.ts';
import { type Reply, reply } from '../../src/testing/reply.ts';
import { requestsOf, startApprovalRun } from '../support/approval-run.ts';
import { changingSource } from '../support/changing-source.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import {
  deferredTool,
  deferredTools,
  inventoryOf,
  listedNames,
  searching,
  toolsOf,
} from '../support/search-turns.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const done = reply().text('Done.');
const direct = (name: string, options: Parameters<typeof deferredTool>[1] = {}) =>
  deferredTool(name, { defer: 'never', ...options });
/** A tool that does not say when it is deferred, and takes some 3,000 characters. */
const large = (name: string) =>
  defineTool({
    name,
    description: `Does ${name}.`,
    inputSchema: z.object(
      Object.fromEntries(
        Array.from({ length: 3 }, (_, at) => [`f${at}`, z.string().describe('x'.repeat(980))]),
      ),
    ),
    execute: () => 'done',
  });
const largeTools = (count: number) => Array.from({ length: count }, (_, at) => large(`large_${at}`));

describe('tools of a run', () => {
  const play = (clientTools: readonly Tool<unknown>[], script: readonly Reply[] = [done]) =>
    playTurn('memory', script, { agent: { tools: [direct('look')] }, run: { clientTools } });

  it('are deferred where it pays, and grouped as those of the client', async () => {
    const few = await play(largeTools(4));
    expect(toolsOf(few.model)[0]).toHaveLength(5);
    const many = await play(largeTools(6), [searching({ query: 'large_3', limit: 1 }), done]);
    expect(toolsOf(many.model)).toEqual([
      ['look', 'tool_search'],
      ['look', 'tool_search', 'large_3'],
    ]);
    expect(Object.keys(listedNames(inventoryOf(many.model)))).toEqual(['client']);
  });

  it('are grouped by the source they come from, unless they name a group', async () => {
    const source = changingSource('mcp:files', [
      deferredTool('read'),
      deferredTool('send', { group: 'post' }),
    ]);
    const run = { clientTools: [deferredTool('own'), source] };
    const { model } = await playTurn('memory', [done], { run });
    expect(listedNames(inventoryOf(model))).toEqual({
      client: ['own'],
      'mcp:files': ['read'],
      post: ['send'],
    });
  });

  it('stay direct or deferred for the whole turn, whatever comes beside them', async () => {
    const source = changingSource('mcp:files', largeTools(4));
    const script = [
      reply()
        .wait(async () =>
          source.offer([...largeTools(4), ...Array.from({ length: 4 }, (_, at) => large(`later_${at}`))]),
        )
        .call('large_0', { f0: '', f1: '', f2: '' }),
      done,
    ];
    const { model } = await playTurn('memory', script, { run: { clientTools: [source] } });
    expect(toolsOf(model)).toEqual([
      ['large_0', 'large_1', 'large_2', 'large_3'],
      ['large_0', 'large_1', 'large_2', 'large_3', 'tool_search'],
    ]);
    expect(listedNames(inventoryOf(model, 1))['mcp:files']).toEqual([
      'later_0',
      'later_1',
      'later_2',
      'later_3',
    ]);
  });

  it('are gone with their run', async () => {
    const { agent, model } = scriptedAgent([reply().call('mine', {}), done, reply().call('mine', {}), done]);
    const { runtime } = watchedRuntime();
    await runtime.run(agent, 'Go.', { sessionId: 's-client', clientTools: [direct('mine')] }).result;
    await runtime.run(agent, 'Go.', { sessionId: 's-client' }).result;
    expect(toolsOf(model)).toEqual([['mine'], ['mine'], [], []]);
    expect(lastResults(model, 3)[0]).toContain('withdrawn');
  });

  it.each([
    ['a name of the agent', [direct('look')], 'duplicate-tool'],
    ['one name twice', deferredTools('a', 'a'), 'duplicate-tool'],
    ['a name that looks like one of the agent', [direct('1ook')], 'look-alike-tool-name'],
    ['an unusable schema', [direct('bad', { inputSchema: { type: 'string' } })], 'unusable-schema'],
    ['what is no tool', [{ kind: 'tool', name: 'x y' }], 'invalid-definition'],
    ['what is no source', [{ name: 'mcp:x' }], 'invalid-definition'],
    ['two sources of one name', [changingSource('s', []), changingSource('s', [])], 'invalid-definition'],
    ['a source named as the list is', [direct('a'), changingSource('client', [])], 'invalid-definition'],
  ])('C12 refuse %s at once', async (_, clientTools, code) => {
    const { agent } = scriptedAgent([], { tools: [direct('look')] });
    await using runtime = createRuntime();
    // What JavaScript callers may pass.
    const given = clientTools as readonly Tool<unknown>[];
    expect(() => runtime.run(agent, 'Go.', { clientTools: given })).toThrow(
      expect.objectContaining({ code }),
    );
  });

  it('get the context of the run, and settle like others', async () => {
    const mine = direct('mine', { execute: (_, { context }) => `for ${String(context)}` });
    const script = [reply().call('mine', {}), done];
    const { model } = await playTurn('memory', script, { run: { clientTools: [mine], context: 'Ann' } });
    expect(lastResults(model, 1)).toEqual(['for Ann']);
  });
});

describe.each(LEDGER_KINDS)('the ceiling of a run (%s)', (kind) => {
  const source = () => changingSource('mcp:world', [direct('near'), direct('far')]);

  it('GS-05 TS-10 holds over the tools of the agent, of its sources and of the run', async () => {
    const { model } = await playTurn(kind, [done], {
      agent: { tools: [direct('look'), direct('touch')], toolSources: [source()] },
      run: { clientTools: [direct('mine'), direct('yours')], boundTools: ['look', 'near', 'mine', 'gone'] },
    });
    expect(toolsOf(model)).toEqual([['look', 'mine', 'near']]);
  });

  it('holds over what a source adds later', async () => {
    const world = source();
    const script = [
      reply()
        .wait(async () => world.offer([direct('near'), direct('beyond')]))
        .call('near', {}),
      reply().call('beyond', {}),
      done,
    ];
    const { model, records } = await playTurn(kind, script, {
      agent: { toolSources: [world] },
      run: { boundTools: ['near'] },
    });
    expect(toolsOf(model)).toEqual([['near'], ['near'], ['near']]);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['unknown-tool']);
  });

  it('holds over what comes after a resume that does not name it', async () => {
    const world = source();
    const spy = createToolSpy();
    const ask = spy.tool('ask', undefined, { needsApproval: true });
    const { runtime, run, agent, model, finish } = await startApprovalRun(
      kind,
      [reply().call('ask', { id: '1' }), reply().call('far', {}), done],
      {
        tools: () => [ask],
        agent: { toolSources: [world] },
        run: { onApproval: 'pause', boundTools: ['ask', 'near'] },
      },
    );
    const [request = ''] = await requestsOf(run, 1);
    await run.result;
    await runtime.approvals.decide(request, { decision: 'approve' });
    world.offer([direct('near'), direct('far'), direct('beyond')]);
    const { result, records } = await finish(runtime.resume(agent, run.sessionId));
    expect(result.status).toBe('completed');
    expect(toolsOf(model).at(-1)).toEqual(['ask', 'near']);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['unknown-tool']);
  });

  it('without the search tool in it makes all that is left direct', async () => {
    const { model } = await playTurn(kind, [done], {
      agent: { tools: deferredTools('paint', 'wash') },
      run: { boundTools: ['paint'] },
    });
    expect(toolsOf(model)).toEqual([['paint']]);
    expect(inventoryOf(model)).toBe('');
  });

  it('a resumed run that does not bring its tools along finds them withdrawn', async () => {
    const spy = createToolSpy();
    const ask = spy.tool('ask', undefined, { needsApproval: true });
    const { agent, model } = scriptedAgent([reply().call('ask', { id: '1' }), done]);
    const { runtime, ledger } = watchedRuntime({ ledger: await openLedger(kind) });
    const run = runtime.run(agent, 'Go.', { clientTools: [ask], onApproval: 'pause' });
    const [request = ''] = await requestsOf(run, 1);
    await run.result;
    await runtime.approvals.decide(request, { decision: 'approve' });
    const resumed = await runtime.resume(agent, run.sessionId).result;
    expect(resumed.status).toBe('completed');
    expect(spy.entries).toEqual([]);
    expect(lastResults(model, 1)[0]).toContain('withdrawn');
    expect(ofType(await ledger.read(run.sessionId), 'tool.refused').map(({ data }) => data.code)).toEqual([
      'withdrawn',
    ]);
  });

  it('a resumed run that brings its tools along goes on with them', async () => {
    const spy = createToolSpy();
    const ask = spy.tool('ask', undefined, { needsApproval: true });
    const { agent, model } = scriptedAgent([reply().call('ask', { id: '1' }), done]);
    const { runtime } = watchedRuntime({ ledger: await openLedger(kind) });
    const run = runtime.run(agent, 'Go.', { clientTools: [ask], onApproval: 'pause' });
    const [request = ''] = await requestsOf(run, 1);
    await run.result;
    await runtime.approvals.decide(request, { decision: 'approve' });
    await runtime.resume(agent, run.sessionId, { clientTools: [ask] }).result;
    expect(spy.entries.map(({ id }) => id)).toEqual(['1']);
    expect(lastResults(model, 1)).toEqual(['ask 1']);
  });
});
