import { createRuntime, defineAgent, type RunEvent } from 'swarmwright';
import { createGate, reply, scriptedModel } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { glyphsFor } from '../../src/cli/glyphs.ts';
import { growTree } from '../../src/cli/grow-tree.ts';
import { plainText } from '../../src/cli/line.ts';
import { emptyTree } from '../../src/cli/run-tree.ts';
import { treeLines } from '../../src/cli/tree-lines.ts';

const view = { glyphs: glyphsFor({}), now: 0, isLive: true };

function shown(events: readonly RunEvent[]): readonly string[] {
  const tree = events.reduce(growTree, emptyTree(events[0]?.session ?? ''));
  return treeLines(tree, 120, view).map((line) =>
    plainText(line)
      .replaceAll(/ {2}(\d+ ms|[\d.]+ ?s|-?\d+:\d+)/g, '')
      .replaceAll(/[⠀-⣿]/g, '*'),
  );
}

describe('the tree of a run with children', () => {
  it('shows each child while it runs, below the call that asked for it', async () => {
    const gate = createGate();
    const scout = defineAgent({
      name: 'scout',
      instructions: 'Look.',
      model: scriptedModel({ script: [reply().wait(gate).text('Two.')] }),
    });
    const quick = defineAgent({
      name: 'quick',
      instructions: 'Look.',
      model: scriptedModel({ script: [reply().text('Here.')] }),
    });
    const lead = defineAgent({
      name: 'lead',
      instructions: 'Ask.',
      model: scriptedModel({
        script: [
          reply().call('ask_scout', { task: 'look' }).call('ask_quick', { task: 'look' }),
          reply().text('Done.'),
        ],
      }),
      agents: [scout, quick],
    });
    await using runtime = createRuntime();
    const run = runtime.run(lead, 'Go.');
    const events: RunEvent[] = [];
    let live: readonly string[] = [];
    for await (const event of run.events({ tree: true })) {
      events.push(event);
      // The quick one has answered, the other one is held.
      if (event.type !== 'child.finished' || live.length > 0) continue;
      await gate.reached;
      live = shown(events);
      gate.open();
    }
    const branches = live.map((line) => line.trimEnd());
    const at = (pattern: RegExp) => branches.findIndex((line) => pattern.test(line));
    expect(at(/ask_scout/)).toBeGreaterThan(0);
    expect(branches[at(/ask_scout/) + 1]).toBe('  │ └ * scout');
    expect(branches[at(/ask_quick/) + 1]).toMatch(/^ {4}[└├] ✓ quick {2}completed/);
    expect(at(/✓ scout/)).toBe(-1);
    expect(shown(events).some((line) => /✓ scout {2}completed/.test(line))).toBe(true);
  });

  it('shows who took over, below the call that handed over', async () => {
    const billing = defineAgent({
      name: 'billing',
      instructions: 'Pay.',
      model: scriptedModel({ script: [reply().text('Paid.')] }),
    });
    const triage = defineAgent({
      name: 'triage',
      instructions: 'Sort.',
      model: scriptedModel({ script: [reply().call('transfer_to_billing', { message: 'pay' })] }),
      handoffs: [billing],
    });
    await using runtime = createRuntime();
    const run = runtime.run(triage, 'Go.');
    const events: RunEvent[] = [];
    for await (const event of run.events({ tree: true })) events.push(event);
    const lines = shown(events);
    const call = lines.findIndex((line) => line.includes('transfer_to_billing'));
    expect(lines[0]).toContain('✓ triage  handed-off');
    expect(lines[call + 1]).toMatch(/✓ billing {2}completed/);
    expect(lines.at(-1)).toContain('handed off to billing');
  });
});
