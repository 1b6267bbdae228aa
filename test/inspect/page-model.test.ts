import { createRuntime, type RunEvent } from 'swarmwright';
import { reply } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { modelOf } from '../../src/page/model.ts';
import type { Model } from '../../src/page/node-tree.ts';
import { sequenceOf } from '../../src/page/sequence.ts';
import { firstSought, moveInTree, treeRows } from '../../src/page/tree-rows.ts';
import { eventsOf } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';

/** Events of a lead that asks a helper, calls what is not there, and answers. */
async function playedEvents(): Promise<readonly RunEvent[]> {
  const helper = scriptedAgent([reply().text('Here.').usage(100, 10)], { name: 'helper' }).agent;
  const { agent } = scriptedAgent(
    [
      reply().call('ask_helper', { task: 'Help.' }).call('nothing', {}).usage(10, 1),
      reply().text('Done.').usage(20, 2),
    ],
    { name: 'lead', agents: [helper] },
  );
  await using runtime = createRuntime();
  const run = runtime.run(agent, 'Go.');
  await run.result;
  return await eventsOf(run, { tree: true, from: 0 });
}

const ALL = { toggled: new Map<string, boolean>(), search: '', tones: new Set<never>() };

function wordsOf(model: Model, choice: Parameters<typeof treeRows>[1] = ALL): readonly string[] {
  return treeRows(model, choice).map(({ node, depth }) => `${'  '.repeat(depth)}${node.name} ${node.state}`);
}

describe('what the page makes of events', () => {
  it('hangs a child from the call that asked it, and sums what it cost', async () => {
    const model = modelOf(await playedEvents());
    expect(wordsOf(model)).toEqual([
      'lead completed',
      '  turn 1 completed',
      '    step 1 completed',
      '      ask_helper success',
      '        helper completed',
      '      nothing refused',
      '    step 2 completed',
    ]);
    const lead = model.nodes.get(model.roots[0] ?? '');
    expect(lead?.agents).toBe(2);
    expect(lead?.spent).toMatchObject({ inputTokens: 130, outputTokens: 13 });
  });

  it('IN-14 leaves children where they are when a fork repeats what was said of them', async () => {
    const events = await playedEvents();
    const [lead, last] = [events[0]?.session ?? '', events.at(-1)?.cursor ?? 0];
    const repeated = events
      .filter(({ session }) => session === lead)
      .map((event, at) =>
        JSON.parse(JSON.stringify({ ...event, cursor: last + at + 1 }).replaceAll(lead, 'f')),
      );
    const model = modelOf([...events, ...repeated]);
    expect(model.roots).toEqual([lead, 'f']);
    expect(model.roots.map((id) => model.nodes.get(id)?.agents)).toEqual([2, 1]);
    expect(wordsOf(model).filter((words) => words.includes('helper completed'))).toHaveLength(0);
    const toggled = new Map([[lead, true]]);
    expect(wordsOf(model, { ...ALL, toggled })).toContain('        helper completed');
  });

  it('IN-07 is that of any earlier moment, made of fewer events', async () => {
    const events = await playedEvents();
    const asked = events.findIndex(({ type }) => type === 'child.started');
    const model = modelOf(events.slice(0, asked + 1));
    expect(wordsOf(model)).toContain('      ask_helper running');
    for (let end = 0; end <= events.length; end += 1) {
      expect(modelOf(events.slice(0, end)).events).toBe(end);
    }
  });

  it('begins anywhere without losing what comes', async () => {
    const events = await playedEvents();
    for (let start = 1; start < events.length; start += 1) {
      const model = modelOf(events.slice(start));
      const turn = events[0]?.session ?? '';
      expect(model.nodes.get(`${turn}.1`)?.state).toBe('completed');
    }
  });

  it('finds what is sought with all that is above it', async () => {
    const model = modelOf(await playedEvents());
    expect(wordsOf(model, { ...ALL, search: 'helper' })).toContain('        helper completed');
    expect(wordsOf(model, { ...ALL, tones: new Set(['bad'] as const) })).toEqual([
      'lead completed',
      '  turn 1 completed',
      '    step 1 completed',
      '      nothing refused',
    ]);
  });

  it('leads from a search to what matches, past what is only above it', async () => {
    const choice = { ...ALL, search: 'refused' };
    const rows = treeRows(modelOf(await playedEvents()), choice);
    expect(firstSought(rows, choice)?.node.name).toBe('nothing');
    expect(firstSought(rows, { ...choice, search: 'no such' })).toBeUndefined();
  });

  it('is walked by keys as a tree is', async () => {
    const rows = treeRows(modelOf(await playedEvents()), ALL);
    expect(moveInTree(rows, 0, 'ArrowDown')).toEqual({ to: 1 });
    expect(moveInTree(rows, 3, 'ArrowLeft')).toEqual({ toggle: rows[3]?.node.id });
    expect(moveInTree(rows, 5, 'ArrowLeft')).toEqual({ to: 2 });
    expect(moveInTree(rows, 0, 'End')).toEqual({ to: 6 });
    expect(moveInTree(rows, 6, 'ArrowDown')).toEqual({ to: 6 });
    expect(moveInTree(rows, 0, 'x')).toBeUndefined();
  });

  it('tells who spoke to whom', async () => {
    const { lifelines, arrows, leftOut } = sequenceOf(await playedEvents(), undefined);
    expect(lifelines.map(({ name }) => name)).toEqual(['you', 'lead', 'helper']);
    expect(arrows.map(({ label }) => label)).toEqual([
      'input',
      'ask helper',
      'spawn',
      'completed',
      'completed',
    ]);
    expect(leftOut).toBe(0);
  });

  it('shows of 1,000 agents those around the one that is looked at', () => {
    const base = { root: 's', agent: 'lead', ts: '2026-01-01T00:00:00.000Z', seq: 1 };
    const events = Array.from({ length: 1_000 }, (_, index) => ({
      ...base,
      id: `s:${index}`,
      session: 's',
      type: 'child.intended',
      kind: 'child',
      data: { child: `c${index}`, agent: `helper ${index}`, specHash: '' },
    })) as unknown as readonly RunEvent[];
    const { lifelines, leftOut } = sequenceOf(events, 'c900');
    expect(lifelines).toHaveLength(24);
    expect(lifelines.map(({ id }) => id)).toContain('c900');
    expect(leftOut).toBe(978);
  });
});
