import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { reply } from '../../src/testing/reply.ts';
import { bindTools } from '../../src/tools/bind-tools.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { playTurn } from '../support/played-turn.ts';
import { eventsOf, ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { deferredTool, deferredTools, searchesOf, searching } from '../support/search-turns.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const done = reply().text('Done.');

/** Characters of the definitions of these tools, as a request carries them. */
function charsOf(tools: readonly Tool<unknown>[], ...names: readonly string[]): number {
  return bindTools(tools as readonly Tool[])
    .tools.filter(({ name }) => names.includes(name))
    .reduce((sum, { schemaChars }) => sum + schemaChars, 0);
}

/** Searches, repeats itself, rephrases, calls too early, calls what it found and what was cut, and is done. */
const tools = deferredTools('paint_fence', 'paint_door', 'paint_wall', 'wash_car', 'sell_house');
const story = [
  // 1: the calls are too early; the search finds two and cuts the third.
  searching({ query: 'paint', limit: 2 }).call('wash_car', {}),
  // 2: the same again, in other letters.
  searching({ query: ' PAINT  ', limit: 1 }),
  // 3: other words, after nothing of what was found was called.
  searching('wash'),
  // 4: nothing of it.
  searching('zeppelin'),
  reply().call('paint_door', {}).call('wash_car', {}),
  reply().call('sell_house', {}),
  done,
];

describe.each(LEDGER_KINDS)('what a turn tells of its discovery (%s)', (kind) => {
  it('TS-14 is exact on a scripted run', async () => {
    const { records } = await playTurn(kind, story, { agent: { tools } });
    const [measured] = ofType(records, 'tools.measured').map(({ data }) => data);
    const { timeToFirstSuccessfulToolCallMs, ...rest } = measured ?? {};
    expect(rest).toEqual({
      deferredCount: 5,
      exposedDeferred: ['paint_door', 'paint_fence', 'paint_wall', 'wash_car'],
      exposedDeferredSchemaChars: charsOf(tools, 'paint_door', 'paint_fence', 'paint_wall', 'wash_car'),
      calledDeferred: ['paint_door', 'wash_car'],
      exposedUnusedCount: 2,
      exposedUnusedSchemaChars: charsOf(tools, 'paint_fence', 'paint_wall'),
      searchCount: 4,
      repeatedSearchCount: 1,
      // "wash" after "paint", and "zeppelin" after "wash": nothing in between was called.
      revisedSearchCount: 2,
      emptySearchCount: 1,
      wanted: [{ name: 'wash_car', rank: 1 }, { name: 'paint_door', rank: 1 }, { name: 'sell_house' }],
      recallAtK: 2 / 3,
      k: 5,
      missOutsideCap: 0,
      hiddenCallRejections: 2,
      stepsToFirstSuccessfulToolCall: 5,
      toolsBlockChanges: 3,
    });
    expect(timeToFirstSuccessfulToolCallMs).toBeGreaterThanOrEqual(0);
  });

  it('TS-14 counts what was ranked and cut, and then called all the same', async () => {
    const script = [
      searching({ query: 'paint', limit: 1 }),
      reply().call('paint_wall', {}),
      searching('paint_wall'),
      reply().call('paint_wall', {}),
      done,
    ];
    const { records } = await playTurn(kind, script, { agent: { tools, discovery: { maxResults: 2 } } });
    expect(ofType(records, 'tools.measured')[0]?.data).toMatchObject({
      exposedDeferred: ['paint_door', 'paint_wall'],
      wanted: [{ name: 'paint_wall', rank: 1 }],
      missOutsideCap: 1,
      hiddenCallRejections: 1,
      recallAtK: 1,
      k: 2,
    });
  });

  it('TS-14 tells the time to the first success by the clock', async () => {
    const clock = fakeClock();
    const slow = deferredTool('paint', { execute: () => clock.advance(1_500).then(() => 'painted') });
    const { agent } = scriptedAgent([searching('paint'), reply().call('paint', {}), done], { tools: [slow] });
    const ledger = await openLedger(kind, clock);
    const { runtime } = watchedRuntime({ ledger, clock });
    const run = runtime.run(agent, 'Go.');
    await run.result;
    const [measured] = ofType(await ledger.read(run.sessionId), 'tools.measured');
    expect(measured?.data.timeToFirstSuccessfulToolCallMs).toBe(1_500);
  });
});

describe('telemetry', () => {
  it('TS-14 has a fact for each search, at its call', async () => {
    const { records } = await playTurn('memory', story, { agent: { tools } });
    expect(searchesOf(records)[0]).toEqual({
      query: 'paint',
      limit: 2,
      ranked: ['paint_door', 'paint_fence', 'paint_wall'],
      activated: ['paint_door', 'paint_fence'],
      alreadyActive: [],
      omittedByLimit: 1,
      omittedByBytes: 0,
      schemaChars: charsOf(tools, 'paint_door', 'paint_fence'),
      durationMs: expect.any(Number),
    });
    const [searched] = ofType(records, 'tools.searched');
    expect(searched?.call).toBe(ofType(records, 'tool.called')[0]?.call);
    expect(searched?.step).toBe(ofType(records, 'step.opened')[0]?.step);
  });

  it('TS-14 is told as events, whose queries stay inside unless content may leave', async () => {
    const { agent } = scriptedAgent(story, { tools });
    const { runtime } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    await run.result;
    const events = await eventsOf(run);
    const kinds = events.filter(({ kind }) => kind === 'discovery').map(({ name }) => name);
    expect(kinds.filter((name) => name === 'searched')).toHaveLength(4);
    expect(kinds.slice(-2)).toEqual(['cleared', 'measured']);
    expect(JSON.stringify(events.filter(({ kind }) => kind === 'discovery'))).not.toContain('zeppelin');
    const open = await eventsOf(run, { from: 0, content: true });
    const searched = open.filter((event) => event.type === 'discovery.searched');
    expect(searched.map(({ data }) => data.query)).toContain('zeppelin');
  });

  it('TS-14 is empty for a turn that used none of its deferred tools, and absent without any', async () => {
    const idle = await playTurn('memory', [done], { agent: { tools } });
    expect(ofType(idle.records, 'tools.measured')[0]?.data).toEqual({
      deferredCount: 5,
      exposedDeferred: [],
      exposedDeferredSchemaChars: 0,
      calledDeferred: [],
      exposedUnusedCount: 0,
      exposedUnusedSchemaChars: 0,
      searchCount: 0,
      repeatedSearchCount: 0,
      revisedSearchCount: 0,
      emptySearchCount: 0,
      wanted: [],
      k: 5,
      missOutsideCap: 0,
      hiddenCallRejections: 0,
      toolsBlockChanges: 0,
    });
    const off = await playTurn('memory', [done], { agent: { tools, discovery: { preset: 'off' } } });
    expect(ofType(off.records, 'tools.measured')).toEqual([]);
  });
});

/** Two turns of one session: what each step says of its tools. */
async function twoTurns(deferred: readonly Tool<unknown>[]) {
  const { agent, model } = scriptedAgent([searching('paint'), done, done, done], { tools: deferred });
  const { runtime, ledger } = watchedRuntime();
  for (let turn = 0; turn < 3; turn += 1) {
    await runtime.run(agent, 'Go.', { sessionId: 's-measured' }).result;
  }
  const records = await ledger.read('s-measured');
  return {
    model,
    steps: ofType(records, 'step.opened').map(({ data }) => data),
    ends: ofType(records, 'turn.closed').map(({ data }) => data.tools),
  };
}

describe('the tools of a request', () => {
  it('TD-02 are labelled where activation changes them, and where the next turn drops what was found', async () => {
    const { steps } = await twoTurns(deferredTools('paint_fence'));
    expect(steps.map(({ toolsChange }) => toolsChange)).toEqual([
      undefined,
      'tool_schema_changed',
      'activation_cleared',
      undefined,
    ]);
    const [before, active, cleared, again] = steps.map(({ toolsHash, schemaChars }) => [
      toolsHash,
      schemaChars,
    ]);
    expect(active).not.toEqual(before);
    expect(cleared).toEqual(before);
    expect(again).toEqual(before);
  });

  it('TD-02 are measured without those that are not visible', async () => {
    const measure = async (parameter: string) => {
      const hidden = deferredTool('wash_car', { inputSchema: z.object({ [parameter]: z.string() }) });
      const { steps } = await twoTurns([deferredTool('paint_fence'), hidden]);
      return steps.map(({ toolsHash, schemaChars }) => [toolsHash, schemaChars]);
    };
    expect(await measure('a')).toEqual(await measure('b'.repeat(200)));
  });

  it('TD-02 are measured as they are sent', async () => {
    const { steps, model } = await twoTurns(deferredTools('paint_fence'));
    const sent = model.requests.map(({ request }) =>
      request.tools.reduce((sum, tool) => sum + JSON.stringify(tool).length, 0),
    );
    expect(steps.map(({ schemaChars }) => schemaChars)).toEqual(sent);
  });

  it('TD-03 are those of the last request in the record of the turn, of the first in its first step', async () => {
    const { steps, ends } = await twoTurns(deferredTools('paint_fence'));
    const [first, last] = steps;
    expect(first).toMatchObject({ visible: ['tool_search'], active: [] });
    expect(ends[0]).toEqual({
      visible: 2,
      schemaChars: last?.schemaChars,
      toolsHash: last?.toolsHash,
    });
    expect(ends[1]?.toolsHash).toBe(first?.toolsHash);
  });
});
