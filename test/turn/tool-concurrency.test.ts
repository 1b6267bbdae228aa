import { describe, expect, it } from 'vitest';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { violationsOf } from '../invariants/session.ts';
import { eventSeen, ofType } from '../support/run-events.ts';
import { scriptedAgent, servedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const three = () => reply().call('work', { id: 'a' }).call('work', { id: 'b' }).call('work', { id: 'c' });

describe('calls of one step', () => {
  it('all run at once by default, and the next request waits for the slowest', async () => {
    const gate = createGate();
    const spy = createToolSpy();
    const { model, agent } = scriptedAgent([three(), reply().text('Done.')], {
      tools: [
        spy.tool('work', async ({ id }) => {
          if (spy.entries.length === 3) gate.open();
          await gate.pass();
          return `work ${id}`;
        }),
      ],
    });
    const { runtime } = watchedRuntime();
    expect(await runtime.run(agent, 'Go.').result).toMatchObject({ status: 'completed', toolCalls: 3 });
    expect(model.requests[1]?.messages.slice(2).map(({ text }) => text)).toEqual([
      'work a',
      'work b',
      'work c',
    ]);
  });

  it.each([1, 2])(
    'never more than toolConcurrency %d, in the order of the calls',
    async (toolConcurrency) => {
      let running = 0;
      let most = 0;
      const spy = createToolSpy();
      const { agent } = scriptedAgent([three(), reply().text('Done.')], {
        tools: [
          spy.tool('work', async () => {
            running += 1;
            most = Math.max(most, running);
            await Promise.resolve();
            running -= 1;
          }),
        ],
        limits: { toolConcurrency },
      });
      const { runtime } = watchedRuntime();
      await runtime.run(agent, 'Go.').result;
      expect(most).toBe(toolConcurrency);
      expect(spy.entries.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    },
  );

  it('not started when a text was accepted are skipped, as pairs', async () => {
    const gate = createGate();
    const spy = createToolSpy();
    const { server, agent } = await servedAgent([three(), reply().text('Done.')], {
      tools: [
        spy.tool('work', async ({ id }) => {
          await gate.pass();
          return `work ${id}`;
        }),
      ],
      limits: { toolConcurrency: 1 },
    });
    const { runtime, ledger, misfits } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    const steered = run.steer('Stop that, do this.');
    await eventSeen(run, 'steering.accepted');
    gate.open();
    expect(await steered).toMatchObject({ delivered: true });
    expect(await run.result).toMatchObject({ status: 'completed' });
    expect(spy.entries.map(({ id }) => id)).toEqual(['a']);
    const [, , ...rest] = server.requests[1]?.messages ?? [];
    expect(rest.map(({ role }) => role)).toEqual(['tool', 'tool', 'tool', 'user']);
    expect(rest[0]?.text).toBe('work a');
    for (const { text } of rest.slice(1, 3)) expect(text).toContain('skipped');
    expect(rest[3]?.text).toBe('Stop that, do this.');
    const records = await ledger.read(run.sessionId);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['skipped', 'skipped']);
    expect(violationsOf({ records })).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('that run when a text comes are not touched by it', async () => {
    const gate = createGate();
    const spy = createToolSpy();
    const { agent } = scriptedAgent([three(), reply().text('Done.')], {
      tools: [
        spy.tool('work', async ({ id }) => {
          await gate.pass();
          return `work ${id}`;
        }),
      ],
    });
    const { runtime, ledger } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    const steered = run.steer('Faster.');
    await eventSeen(run, 'steering.accepted');
    gate.open();
    await steered;
    await run.result;
    const settled = ofType(await ledger.read(run.sessionId), 'tool.settled');
    expect(settled.map(({ data }) => data.status)).toEqual(['success', 'success', 'success']);
  });

  it('a cancel ends those that wait for a place without entering them', async () => {
    const gate = createGate();
    const spy = createToolSpy();
    const { agent } = scriptedAgent([three()], {
      tools: [
        spy.tool('work', async (_, { signal }) => {
          await gate.pass(signal);
          signal.throwIfAborted();
        }),
      ],
      limits: { toolConcurrency: 1 },
    });
    const { runtime, ledger, misfits } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    run.cancel();
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    expect(spy.entries).toHaveLength(1);
    const records = await ledger.read(run.sessionId);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual([
      'turn-ended',
      'turn-ended',
    ]);
    expect(violationsOf({ records })).toEqual([]);
    expect(misfits).toEqual([]);
  });
});
