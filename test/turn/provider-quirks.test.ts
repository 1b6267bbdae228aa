import { describe, expect, it } from 'vitest';
import { fromAiSdk } from '../../src/model/from-ai-sdk.ts';
import type { StreamPart } from '../../src/model/language-model.ts';
import { type Reply, reply } from '../../src/testing/reply.ts';
import { violationsOf } from '../invariants/session.ts';
import { fakeModel, streamOf } from '../support/fake-language-model.ts';
import { ofType } from '../support/run-events.ts';
import { scriptedAgent, servedAgent } from '../support/scripted-agents.ts';
import { FINISH } from '../support/stream-parts.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

async function play(first: Reply) {
  const spy = createToolSpy();
  const { server, agent } = await servedAgent([first, reply().text('Done.')], {
    tools: [spy.tool('read'), spy.tool('write')],
  });
  const { runtime, ledger, misfits } = watchedRuntime();
  const run = runtime.run(agent, 'Go.');
  expect(await run.result).toMatchObject({ status: 'completed', text: 'Done.' });
  const records = await ledger.read(run.sessionId);
  expect(violationsOf({ records })).toEqual([]);
  expect(misfits).toEqual([]);
  server.assertPlayedOut();
  const [, assistant, ...results] = server.requests[1]?.messages ?? [];
  return { records, entries: spy.entries, calls: assistant?.calls ?? [], results };
}

const idsOf = (entries: readonly { readonly id: string }[]) => entries.map(({ id }) => id);

describe('calls as providers send them', () => {
  it('MA-20 an unknown tool is a result that names the call and lists what there is', async () => {
    const { entries, results } = await play(reply().call('fly', { to: 'Mars' }));
    expect(entries).toEqual([]);
    expect(results[0]?.text).toMatch(/fly.*nothing was run.*read, write/);
    expect(results[0]?.text).not.toContain('Mars');
  });

  it.each([
    ['READ', 'read'],
    ['Write', 'write'],
  ])('MA-20 %s runs as %s and is replayed under that name', async (written, name) => {
    const { entries, calls } = await play(reply().call(written, { id: 'a' }));
    expect(entries.map(({ toolName }) => toolName)).toEqual([name]);
    expect(calls.map((call) => call.name)).toEqual([name]);
  });

  it('MA-20 a name no provider accepts is replayed under one it does', async () => {
    const { results, calls } = await play(reply().call('fly to.Mars!', {}));
    expect(calls[0]?.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(results[0]?.text).toContain('fly to.Mars!');
  });

  it.each([
    ['text that is no JSON', '{"id": "a'],
    ['JSON that is no object', '[1, 2]'],
    ['a wrong field', '{"ident": "a"}'],
    ['a wrong type', '{"id": {"secret": 1}}'],
  ])('MA-20 %s is refused by us, without the values', async (_title, args) => {
    const { entries, results, calls, records } = await play(reply().call('read', args));
    expect(entries).toEqual([]);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['invalid-arguments']);
    expect(results[0]?.text).not.toContain('secret');
    // History replays an object, whatever the model wrote.
    expect(calls[0]?.args).toBeTypeOf('object');
  });

  it('MA-20 empty arguments are an empty object, and judged as one', async () => {
    const { entries, results } = await play(reply().call('read', ''));
    expect(entries).toEqual([]);
    expect(results[0]?.text).toMatch(/id/);
  });

  it('MA-20 two calls of one id run as two, and go back under two ids', async () => {
    const { entries, calls, results } = await play(
      reply()
        .call('read', { id: 'a' }, { id: 'same', index: 0 })
        .call('read', { id: 'b' }, { id: 'same', index: 1 }),
    );
    expect(idsOf(entries)).toEqual(['a', 'b']);
    expect(new Set(entries.map(({ operationId }) => operationId)).size).toBe(2);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
    expect(results.map(({ text }) => text)).toEqual(['read a', 'read b']);
  });

  it.each<[string, Reply]>([
    ['without an id', reply().call('read', { id: 'a' }, { id: null })],
    ['without an index', reply().call('read', { id: 'a' }, { index: null })],
    ['in fragments', reply().call('read', { id: 'a' }, { fragments: 5 })],
    ['with its name after its arguments', reply().call('read', { id: 'a' }, { nameIn: 'after-arguments' })],
    ['as an object', reply().call('read', { id: 'a' }, { argumentsAsObject: true })],
  ])('MA-20 a call %s runs once', async (_title, first) => {
    const { entries } = await play(first);
    expect(idsOf(entries)).toEqual(['a']);
  });
});

describe('what a provider package adds', () => {
  it.each<[string, StreamPart]>([
    ['an error of a tool', { type: 'tool-error', toolCallId: 'c', toolName: 'read', error: 'no' } as never],
    [
      'a result of its own',
      {
        type: 'tool-result',
        toolCallId: 'w',
        toolName: 'web',
        result: { ok: true },
        providerExecuted: true,
      } as never,
    ],
  ])('MA-20 %s settles no call of ours', async (_title, extra) => {
    const spy = createToolSpy();
    const call: StreamPart = { type: 'tool-call', toolCallId: 'c', toolName: 'read', input: '{"id":"a"}' };
    let asked = 0;
    const sdk = fakeModel(() => {
      asked += 1;
      return streamOf(
        asked === 1 ? [call, extra, FINISH] : [{ type: 'text-delta', id: 't', delta: 'Done.' }, FINISH],
      );
    });
    const { agent } = scriptedAgent([], { tools: [spy.tool('read')] });
    const { runtime, ledger } = watchedRuntime();
    const run = runtime.run({ ...agent, model: fromAiSdk(sdk) }, 'Go.');
    expect(await run.result).toMatchObject({ status: 'completed', toolCalls: 1 });
    expect(idsOf(spy.entries)).toEqual(['a']);
    const settled = ofType(await ledger.read(run.sessionId), 'tool.settled');
    expect(settled.map(({ data }) => data.output)).toEqual([{ type: 'text', text: 'read a' }]);
  });
});
