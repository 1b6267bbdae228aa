import fc from 'fast-check';
import type { RunEvent } from 'swarmwright';
import { reply } from 'swarmwright/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { growTree } from '../../src/cli/grow-tree.ts';
import { emptyTree, type RunTree, totalsOfTree } from '../../src/cli/run-tree.ts';
import { eventLike, sampleEvents } from './sample-events.ts';

let events: readonly RunEvent[] = [];
let root = '';

beforeAll(async () => {
  events = await sampleEvents([
    reply()
      .call('note', { text: 'kept' })
      .call('remove', { path: 'a' })
      .call('remove', { path: 'no' })
      .usage(40, 7),
    reply().call('broken', {}).call('nothing', {}).usage(60, 3),
    reply().text('Done.'),
  ]);
  root = events[0]?.session ?? '';
});

function grow(some: readonly RunEvent[]): RunTree {
  return some.reduce(growTree, emptyTree(root));
}

function turnIn(tree: RunTree) {
  return tree.sessions.get(root)?.turn;
}

/** The tree before the nth event of a type. */
function treeBefore(type: RunEvent['type'], nth = 1): RunTree {
  const places = events.flatMap((event, index) => (event.type === type ? [index] : []));
  return grow(events.slice(0, places[nth - 1]));
}

describe('the tree of a run', () => {
  it('has steps and calls with what became of them', () => {
    const turn = turnIn(grow(events));
    expect(turn?.state).toBe('completed');
    expect(turn?.steps.map(({ index, state }) => ({ index, state }))).toEqual([
      { index: 1, state: 'completed' },
      { index: 2, state: 'completed' },
      { index: 3, state: 'completed' },
    ]);
    const calls = turn?.steps.flatMap((step) => step.calls);
    expect(calls).toMatchObject([
      {
        toolName: 'note',
        state: 'success',
        input: '{"text":"kept"}',
        result: { text: 'kept', isError: false },
      },
      { toolName: 'remove', state: 'success', input: '{"path":"a"}' },
      { toolName: 'remove', state: 'denied', reason: 'not that' },
      { toolName: 'broken', state: 'error' },
      { toolName: 'nothing', state: 'refused' },
    ]);
  });

  it('shows a call that waits, and one that runs with its progress', () => {
    const waiting = turnIn(treeBefore('approval.decided'))?.steps[0]?.calls;
    expect(waiting?.filter(({ state }) => state === 'waiting').length).toBeGreaterThan(0);
    const at = events.findIndex(({ type }) => type === 'tool.progressed');
    const running = turnIn(grow(events.slice(0, at + 1)))?.steps[0]?.calls[0];
    expect(running).toMatchObject({ toolName: 'note', state: 'running', progress: 'about kept' });
  });

  it('sums what providers reported and says where one reported nothing', () => {
    expect(totalsOfTree(treeBefore('step.started', 3))).toMatchObject({
      steps: 2,
      calls: 5,
      inputTokens: 100,
      outputTokens: 10,
      isComplete: true,
    });
    // The last answer has no usage.
    expect(totalsOfTree(grow(events)).isComplete).toBe(false);
  });

  it('is a tree wherever reading begins and ends', () => {
    fc.assert(
      fc.property(fc.nat(events.length), fc.nat(events.length), (from, to) => {
        const tree = grow(events.slice(from, to));
        for (const session of tree.sessions.values()) {
          const calls = session.turn?.steps.flatMap((step) => step.calls) ?? [];
          expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
          expect(calls.every(({ toolName }) => toolName !== '')).toBe(true);
        }
      }),
    );
  });

  it('goes on in the middle of a turn with the right numbers', () => {
    const at = events.findIndex(({ type }) => type === 'approval.decided');
    const turn = turnIn(grow(events.slice(at)));
    expect(turn).toMatchObject({ ordinal: 1, state: 'completed' });
    expect(turn?.steps.map(({ index }) => index)).toEqual([1, 2, 3]);
  });

  it('holds a child below the call that opened it', () => {
    const call = events.find(({ type }) => type === 'tool.called');
    if (call === undefined) throw new Error('the run called nothing');
    const { turn: _, step: __, call: ___, ...outside } = call;
    const child = { session: 's-child', parent: root, agent: 'helper' } as const;
    const tree = [
      eventLike(call, 'child.intended', {
        data: { child: 's-child', agent: 'helper', specHash: 'a'.repeat(64) },
      }),
      eventLike({ ...outside, ...child }, 'session.opened', {
        data: { kind: 'agent', ceilingHash: '', ceilingTools: 0, agentPath: ['worker', 'helper'], depth: 1 },
      }),
      eventLike({ ...outside, ...child, turn: 's-child.1' }, 'turn.resumed', { data: { run: 'r' } }),
    ].reduce(growTree, grow(events));
    expect(tree.sessions.get(root)?.children).toEqual(['s-child']);
    expect(tree.sessions.get('s-child')).toMatchObject({ call: call.call, agent: 'helper', parent: root });
    const lost = growTree(
      tree,
      eventLike(call, 'child.lost', { data: { child: 's-child', agent: 'helper', reason: 'crashed' } }),
    );
    expect(lost.sessions.get('s-child')?.lost).toBe('crashed');
  });

  it('keeps what an earlier turn took and shows the new one', () => {
    const opened = events.find(({ type }) => type === 'turn.opened');
    if (opened?.type !== 'turn.opened') throw new Error('no turn was opened');
    const again = { ...opened, turn: `${root}.2`, data: { ...opened.data, ordinal: 2 } };
    const tree = growTree(grow(events), again);
    expect(turnIn(tree)).toMatchObject({ ordinal: 2, state: 'running', steps: [] });
    expect(totalsOfTree(tree)).toMatchObject({ steps: 3, calls: 5, inputTokens: 100 });
  });

  it('shows steering from acceptance until a request carries it', () => {
    const step = events.find(({ type }) => type === 'step.started');
    if (step === undefined) throw new Error('no step was started');
    const accepted = growTree(
      grow([step]),
      eventLike(step, 'steering.accepted', { data: { id: 'x', text: 'left' } }),
    );
    expect(turnIn(accepted)?.steering).toEqual([{ id: 'x', text: 'left' }]);
    const injected = growTree(accepted, eventLike(step, 'steering.injected', { data: { ids: ['x'] } }));
    expect(turnIn(injected)?.steering).toEqual([]);
  });
});
