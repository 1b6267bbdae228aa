import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { failure, reply } from '../../src/testing/reply.ts';
import { expectSilence } from '../support/hear-noise.ts';
import { eventSeen } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

describe("a caller's signal", () => {
  expectSilence();

  it('has no listener left after 2,500 turns of every ending, and nobody was warned', async () => {
    const { signal } = new AbortController();
    const { agent } = scriptedAgent(
      (_request, index) => {
        if (index % 4 === 0) return reply().call('work', { id: 'a' });
        return index % 4 === 1 ? failure({ kind: 'auth' }) : reply().text('Done.');
      },
      { tools: [createToolSpy().tool('work')] },
    );
    const { runtime } = watchedRuntime();
    const TURNS = 2_500;
    const AT_ONCE = 100;
    const statuses = new Set<string>();
    for (let turns = 0; turns < TURNS; turns += AT_ONCE) {
      const runs = Array.from({ length: AT_ONCE }, () => runtime.run(agent, 'Go.', { signal }));
      runs.at(-1)?.cancel();
      for (const { status } of await Promise.all(runs.map(({ result }) => result))) statuses.add(status);
    }
    expect(listenersOf(signal)).toBe(0);
    expect(statuses).toEqual(new Set(['completed', 'failed', 'cancelled']));
  }, 60_000);

  it('cancels the run when it aborts', async () => {
    const controller = new AbortController();
    const { agent } = scriptedAgent([reply().call('work', { id: 'a' })], {
      tools: [
        createToolSpy().tool(
          'work',
          (_, { signal }) =>
            new Promise((_resolve, reject) => {
              signal.addEventListener('abort', () => reject(signal.reason), { once: true });
            }),
        ),
      ],
    });
    const { runtime, misfits } = watchedRuntime();
    const run = runtime.run(agent, 'Go.', { signal: controller.signal });
    await eventSeen(run, 'tool.dispatched');
    controller.abort(new Error('a reason of the caller, which may be anything'));
    expect(await run.result).toMatchObject({ status: 'cancelled', steps: 1 });
    expect(listenersOf(controller.signal)).toBe(0);
    expect(misfits).toEqual([]);
  });

  it('that has aborted before leaves no trace of the run', async () => {
    const clock = fakeClock();
    const { model, agent } = scriptedAgent([]);
    const { runtime, ledger } = watchedRuntime({ clock });
    const signal = AbortSignal.abort();
    const run = runtime.run(agent, 'Go.', { signal, budget: { wallMs: 1_000 } });
    expect(await run.result).toMatchObject({ status: 'cancelled', steps: 0, text: '' });
    expect(model.requests).toHaveLength(0);
    expect(await ledger.sessions()).toEqual([]);
    expect(listenersOf(signal)).toBe(0);
    expect(clock.pending).toBe(0);
  });
});
