import type { RunEvent } from 'swarmwright';
import { reply } from 'swarmwright/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { glyphsFor } from '../../src/cli/glyphs.ts';
import { growTree } from '../../src/cli/grow-tree.ts';
import { lineWidth, plainText } from '../../src/cli/line.ts';
import { emptyTree, type RunTree } from '../../src/cli/run-tree.ts';
import { treeLines, treeLinesWithin } from '../../src/cli/tree-lines.ts';
import { eventLike, sampleEvents } from './sample-events.ts';

let events: readonly RunEvent[] = [];
let tree: RunTree = emptyTree('');

beforeAll(async () => {
  events = await sampleEvents([
    reply().call('note', { text: '漢字 and words' }).call('remove', { path: 'no' }).usage(40, 7),
    reply().call('broken', {}).usage(60, 3),
    reply().call('note', { text: 'last' }),
    reply().text('Done.'),
  ]);
  tree = events.reduce(growTree, emptyTree(events[0]?.session ?? ''));
});

const view = { glyphs: glyphsFor({}), now: 0, isLive: true };

function shown(columns: number, rows?: number): readonly string[] {
  const lines =
    rows === undefined ? treeLines(tree, columns, view) : treeLinesWithin(tree, { columns, rows }, view);
  return lines.map((line) => plainText(line).replaceAll(/\d+ ms/g, 'SOME ms'));
}

describe('the lines of a tree', () => {
  it('show what happened, each call with its input and result', () => {
    expect(shown(100)).toEqual([
      '✓ worker  completed  SOME ms  100+ in, 10 out  $0.12',
      '├ ✓ step 1  40 in, 7 out  $0.0540',
      '│ ├ ✓ note  SOME ms  {"text":"漢字 and words"}  → 漢字 and words',
      '│ └ - remove  denied  {"path":"no"}  → not that',
      '├ ✓ step 2  60 in, 3 out  $0.0660',
      '│ └ ✗ broken  error  SOME ms  {}  → TypeError: no luck',
      '├ ✓ step 3',
      '│ └ ✓ note  SOME ms  {"text":"last"}  → last',
      '└ ✓ step 4',
    ]);
  });

  it.each([20, 21, 30, 40, 80])('are never wider than %i columns', (columns) => {
    for (const line of treeLines(tree, columns, view)) expect(lineWidth(line)).toBeLessThanOrEqual(columns);
  });

  it.each([1, 2, 3, 5, 7, 9])('are at most %i where there is no more room', (rows) => {
    expect(treeLinesWithin(tree, { columns: 80, rows }, view).length).toBeLessThanOrEqual(rows);
  });

  it('tell what is done in fewer lines before they leave anything out', () => {
    expect(shown(40, 5)).toEqual([
      expect.stringMatching(/^✓ worker/),
      expect.stringMatching(/^├ ✓ step 1/),
      expect.stringMatching(/^├ ✓ step 2/),
      '├ ✓ step 3',
      '└ ✓ step 4',
    ]);
    expect(shown(40, 3)).toEqual([expect.stringMatching(/^✓ worker/), '├ ✓ 3 steps  4 calls', '└ ✓ step 4']);
    expect(shown(40, 2)).toEqual([expect.stringMatching(/^✓ worker/), '… 2 lines']);
  });

  it('hang children below the call that opened them', () => {
    const call = events.find(({ type }) => type === 'tool.called');
    if (call === undefined) throw new Error('the run called nothing');
    const grown = growTree(
      tree,
      eventLike(call, 'child.started', { data: { child: 's-c', agent: 'helper' } }),
    );
    const lines = treeLines(grown, 80, view).map(plainText);
    expect(lines[3]).toBe('│ │ └ · helper');
  });

  it('keep half of a narrow window for words, however deep the tree', () => {
    const call = events.find(({ type }) => type === 'tool.called');
    if (call === undefined) throw new Error('the run called nothing');
    let grown = tree;
    let above = call;
    for (const child of ['s-1', 's-2', 's-3', 's-4', 's-5', 's-6', 's-7', 's-8']) {
      grown = growTree(grown, eventLike(above, 'child.started', { data: { child, agent: 'descendant' } }));
      const { turn: _, step: __, call: ___, ...outside } = above;
      above = { ...outside, session: child };
    }
    expect(
      treeLines(grown, 20, view)
        .map(plainText)
        .filter((line) => line.includes('descen')),
    ).toHaveLength(8);
  });
});
