import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { defineGraph } from '../../src/graph/define-graph.ts';
import { replayLedger } from '../../src/inspect/replay-ledger.ts';
import { stately } from '../../src/inspect/stately.ts';
import type { TransitionRecord } from '../../src/lifecycle/transition-record.ts';
import { createRuntime } from '../../src/runtime.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { playRandomRun } from '../recovery/fixtures/play-random-run.ts';
import { anyRun } from '../recovery/fixtures/random-run.ts';
import { liveEnds, said } from '../recovery/fixtures/replayed.ts';
import { openLedger } from '../support/ledgers.ts';
import { isStopped, startRelay } from '../support/stately-relay.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

describe('a recorded ledger', () => {
  it('is shown in the inspector as the run was', async () => {
    const relay = await startRelay();
    const ledger = await openLedger('sqlite');
    const model = scriptedModel({ script: [reply().text('done')] });
    await using runtime = createRuntime({ ledger });
    const run = runtime.run(defineAgent({ name: 'clerk', instructions: 'Work.', model }), 'go');
    await run.result;
    const inspect = stately({ url: relay.url });
    const records = await ledger.read(run.sessionId);
    expect(await replayLedger(ledger, inspect)).toBe(records.length);
    const messages = await relay.until((all) => isStopped(all, run.sessionId));
    const actors = messages.filter(({ type }) => type === '@xstate.actor');
    expect(actors.map(({ name }) => name?.split(' ')[0])).toEqual(['agent', 'turn', 'step']);
    expect(messages[0]?.createdAt).toBe(String(records[0]?.at));
    await inspect.close();
  });

  it('is shown for one run alone', async () => {
    const ledger = await openLedger('memory');
    const model = scriptedModel({ script: () => reply().text('done') });
    const agent = defineAgent({ name: 'clerk', instructions: 'Work.', model });
    await using runtime = createRuntime({ ledger });
    const first = runtime.run(agent, 'go');
    await first.result;
    await runtime.run(agent, 'go').result;
    const sessions = new Set<string>();
    await replayLedger(
      ledger,
      { observe: ({ session }) => sessions.add(session) },
      { root: first.sessionId },
    );
    expect([...sessions]).toEqual([first.sessionId]);
  });

  it('leads machines to the states in which they ended live, with no event out of place', async () => {
    await fc.assert(
      fc.asyncProperty(anyRun, async (plan) => {
        const { world, transitions, isAbandoned } = await playRandomRun(plan);
        const played: TransitionRecord[] = [];
        await replayLedger(world.ledger, { observe: (record) => played.push(record) });
        const misfits = played.filter(({ illegal, fault }) => illegal === true || fault === true);
        expect(misfits.map(said)).toEqual([]);
        const live = [...liveEnds(transitions)].filter(([, to]) => !(isAbandoned && to === 'indeterminate'));
        expect(Object.fromEntries(liveEnds(played))).toMatchObject(Object.fromEntries(live));
      }),
      { numRuns: 100 },
    );
  });

  it.each([
    ['completes', (input: unknown) => `${input}!`],
    [
      'fails',
      () => {
        throw new Error('no');
      },
    ],
  ])('shows a graph that %s, and the agents in it', async (_, execute) => {
    const { runtime, ledger, transitions } = watchedRuntime();
    const model = scriptedModel({ script: () => reply().text('done') });
    const agent = defineAgent({ name: 'clerk', instructions: 'Work.', model });
    const graph = defineGraph({ name: 'two' })
      .node('first', agent, { from: 'input' })
      .node('second', execute, { from: 'first' })
      .build({ output: 'second' });
    await runtime.run(graph, 'go').result;
    const played: TransitionRecord[] = [];
    await replayLedger(ledger, { observe: (record) => played.push(record) });
    expect(played.filter(({ illegal, fault }) => illegal === true || fault === true).map(said)).toEqual([]);
    expect(new Set(played.map(({ kind }) => kind))).toEqual(new Set(transitions.map(({ kind }) => kind)));
    expect(Object.fromEntries(liveEnds(played))).toEqual(Object.fromEntries(liveEnds(transitions)));
  });
});
