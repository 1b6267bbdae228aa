import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import type { Tool } from '../../src/tools/tool.ts';
import type { ToolSourceDefinition } from '../../src/tools/tool-source.ts';
import { changingSource } from '../support/changing-source.ts';
import { lastResults } from '../support/requests.ts';
import { ofType } from '../support/run-events.ts';
import { deferredTool, toolsOf } from '../support/search-turns.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const direct = (name: string) => deferredTool(name, { defer: 'never' });
const done = reply().text('Done.');

/** A definition that tells what is done with it; `ready` is what it waits for when it is asked. */
function watchedSource(
  name: string,
  tools: readonly Tool<unknown>[],
  ready: () => Promise<void> = () => Promise.resolve(),
) {
  const log: string[] = [];
  const definition: ToolSourceDefinition = {
    kind: 'tool-source',
    name: `mcp:${name}`,
    mayOffer: (tool) => tool.startsWith(`${name}__`),
    open() {
      log.push('open');
      const source = changingSource(`mcp:${name}`, []);
      return Object.assign(source, {
        async settle() {
          log.push('settle');
          await ready();
          if (source.tools().length === 0) source.offer(tools);
        },
        async [Symbol.asyncDispose]() {
          log.push('close');
        },
      });
    },
  };
  return { log, definition };
}

describe('a source that has to be opened', () => {
  it('stands among the tools of an agent and offers them from the first step on', async () => {
    const { log, definition } = watchedSource('files', [direct('files__read')]);
    const model = scriptedModel({ script: [reply().call('files__read', {}), done] });
    const agent = defineAgent({
      name: 'worker',
      instructions: 'Work.',
      model,
      tools: [direct('look'), definition],
    });
    const { runtime } = watchedRuntime();
    const { status } = await runtime.run(agent, 'Go.').result;
    expect(status).toBe('completed');
    expect(toolsOf(model)[0]).toEqual(['files__read', 'look']);
    expect(lastResults(model, 1)).toEqual(['files__read done']);
    await runtime.close();
    expect(log.filter((entry) => entry !== 'settle')).toEqual(['open', 'close']);
  });

  it('is opened once for all turns of a runtime, and once for each runtime', async () => {
    const { log, definition } = watchedSource('files', [direct('files__read')]);
    for (const _ of ['one', 'other']) {
      const model = scriptedModel({ script: [done, done] });
      const agent = defineAgent({ name: 'worker', instructions: 'Work.', model, tools: [definition] });
      const { runtime } = watchedRuntime();
      await runtime.run(agent, 'Go.').result;
      await runtime.run(agent, 'Go on.', { clientTools: [] }).result;
      await runtime.close();
    }
    expect(log.filter((entry) => entry !== 'settle')).toEqual(['open', 'close', 'open', 'close']);
  });

  it('CX-10 is not opened by a run whose ceiling leaves out all its tools', async () => {
    const sources = Array.from({ length: 10 }, (_, at) =>
      watchedSource(
        `server${at}`,
        Array.from({ length: 50 }, (__, nth) => direct(`server${at}__tool${nth}`)),
      ),
    );
    const model = scriptedModel({ script: [done, done] });
    const agent = defineAgent({
      name: 'worker',
      instructions: 'Work.',
      model,
      tools: [direct('look'), ...sources.map(({ definition }) => definition)],
    });
    const { runtime } = watchedRuntime();
    await runtime.run(agent, 'Go.', { boundTools: ['look'] }).result;
    expect(sources.flatMap(({ log }) => log)).toEqual([]);
    await runtime.run(agent, 'Go.', { boundTools: ['look', 'server3__tool7'] }).result;
    expect(sources.flatMap(({ log }, at) => (log.length > 0 ? [at] : []))).toEqual([3]);
    expect(toolsOf(model)).toEqual([['look'], ['look', 'server3__tool7']]);
  });

  it('CR-08 is left as it was known where a run does not select it', async () => {
    const { definition } = watchedSource('files', [direct('files__read')]);
    const model = scriptedModel({ script: [done, done, done] });
    const agent = defineAgent({
      name: 'worker',
      instructions: 'Work.',
      model,
      tools: [direct('look'), definition],
    });
    const { runtime, ledger } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    await run.result;
    const { sessionId } = run;
    await runtime.run(agent, 'Go.', { sessionId, boundTools: ['look'] }).result;
    await runtime.run(agent, 'Go.', { sessionId }).result;
    const changes = ofType(await ledger.read(sessionId), 'tools.changed').map(({ data }) => [
      data.added.map(({ name }) => name),
      data.withdrawn,
    ]);
    expect(changes).toEqual([[['files__read'], []]]);
    expect(toolsOf(model)).toEqual([['files__read', 'look'], ['look'], ['files__read', 'look']]);
  });

  it('is waited for no longer than the bound, and comes with a later step', async () => {
    const clock = fakeClock();
    const ready = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const { definition } = watchedSource('slow', [direct('slow__read')], () => {
      asked.resolve();
      return ready.promise;
    });
    const model = scriptedModel({
      script: [
        reply()
          .wait(async () => ready.resolve())
          .call('look', {}),
        done,
      ],
    });
    const agent = defineAgent({
      name: 'worker',
      instructions: 'Work.',
      model,
      tools: [direct('look'), definition],
    });
    const { runtime } = watchedRuntime({ clock, limits: { timeouts: { sourceMs: 500 } } });
    const run = runtime.run(agent, 'Go.');
    await asked.promise;
    // Once when the turn is planned, once before its first step.
    for (const _ of ['planned', 'stepped']) {
      await clock.whenPending();
      await clock.advanceToNext();
    }
    expect((await run.result).status).toBe('completed');
    expect(toolsOf(model)).toEqual([['look'], ['look', 'slow__read']]);
  });

  it.each(['cancel', 'close'] as const)(
    'holds no run back that ends by %s while it is waited for',
    async (how) => {
      const asked = Promise.withResolvers<void>();
      const { definition } = watchedSource('slow', [], () => {
        asked.resolve();
        return new Promise(() => undefined);
      });
      const model = scriptedModel({ script: [] });
      const agent = defineAgent({ name: 'worker', instructions: 'Work.', model, tools: [definition] });
      const { runtime } = watchedRuntime();
      const run = runtime.run(agent, 'Go.');
      await asked.promise;
      if (how === 'cancel') run.cancel('enough');
      else await runtime.close();
      const result = await run.result;
      expect(result.status).toBe(how === 'cancel' ? 'cancelled' : 'failed');
    },
  );
});
