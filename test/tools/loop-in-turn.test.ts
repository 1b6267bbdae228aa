import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/runtime.ts';
import { reply } from '../../src/testing/reply.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { createToolSpy, type ToolSpy } from '../support/tool-spy.ts';

const failing = (spy: ToolSpy) => spy.tool('fetch', ({ id }) => ({ error: `no ${id}` }));
const fetch = (id: string) => reply().call('fetch', { id });

describe.each(LEDGER_KINDS)('a model that repeats itself (%s)', (kind) => {
  it('TR-06 the third identical failing call in a row is blocked, and so are more', async () => {
    const spy = createToolSpy();
    const { model, records } = await playTurn(
      kind,
      [fetch('a'), fetch('a'), fetch('a'), fetch('a'), reply().text('Done.')],
      { agent: { tools: [failing(spy)] } },
    );
    expect(spy.entries).toHaveLength(2);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['loop-gate', 'loop-gate']);
    expect(lastResults(model, 3)[0]).toContain('the same call failed several times in a row');
  });

  it('TR-06 another call in between starts the count anew', async () => {
    const spy = createToolSpy();
    await playTurn(
      kind,
      [fetch('a'), fetch('a'), fetch('b'), fetch('a'), fetch('a'), reply().text('Done.')],
      { agent: { tools: [failing(spy)] } },
    );
    expect(spy.entries).toHaveLength(5);
  });

  it('TR-06 the order of keys makes no other call', async () => {
    const spy = createToolSpy();
    const { records } = await playTurn(
      kind,
      [
        reply().call('fetch', '{"id":"a","x":1}'),
        reply().call('fetch', '{"x":1,"id":"a"}'),
        reply().call('fetch', '{"id":"a","x":1}'),
        reply().text('Done.'),
      ],
      { agent: { tools: [failing(spy)] } },
    );
    expect(spy.entries).toHaveLength(2);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['loop-gate']);
  });

  it('TR-06 polling that succeeds is never blocked', async () => {
    const spy = createToolSpy();
    await playTurn(kind, [...Array.from({ length: 6 }, () => fetch('a')), reply().text('Done.')], {
      agent: { tools: [spy.tool('fetch', () => 'pending')] },
    });
    expect(spy.entries).toHaveLength(6);
  });

  it('TR-06 the count is that of one turn', async () => {
    const spy = createToolSpy();
    const { agent } = scriptedAgent(
      [fetch('a'), fetch('a'), reply().text('One.'), fetch('a'), reply().text('Two.')],
      { tools: [failing(spy)] },
    );
    await using runtime = createRuntime({ ledger: openLedger(kind) });
    const first = runtime.run(agent, 'Go.');
    await first.result;
    await runtime.run(agent, 'Again.', { sessionId: first.sessionId }).result;
    expect(spy.entries).toHaveLength(3);
  });

  it('TR-06 refusals count as failures', async () => {
    const spy = createToolSpy();
    const { records } = await playTurn(kind, [fetch('a'), fetch('a'), fetch('a'), reply().text('Done.')], {
      agent: { tools: [spy.tool('fetch')], permission: () => 'deny' },
    });
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual([
      'denied',
      'denied',
      'loop-gate',
    ]);
  });
});
