import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type AnyStateMachine, createMachine } from 'xstate';
import { allMachines } from '../../machines/index.ts';
import { machineDocs } from '../../scripts/machine-docs.ts';
import { machineSvg } from '../../scripts/machine-svg.ts';
import { anyMachines, chartOf } from '../../src/inspect/machine-chart.ts';
import { machineJson } from '../../src/inspect/machine-json.ts';
import { machineMermaid } from '../../src/inspect/machine-mermaid.ts';

const FOLDER = 'docs/machines';
const machines = anyMachines(allMachines).map((machine) => [machine.id, machine] as const);

/** Every transition as the machine itself has it. */
function transitionsOf(machine: AnyStateMachine): readonly string[] {
  const nodes = [machine.root, ...Object.values(machine.states)];
  return nodes.flatMap((node) =>
    [...node.transitions.values()].flat().map(({ eventType, guard, target, actions }) => {
      const to = target?.map(({ key }) => key).join(' ') ?? '';
      return `${node.key}: ${eventType} [${String(guard)}] -> ${to} / ${JSON.stringify(actions)}`;
    }),
  );
}

describe('docs/machines', () => {
  it('IN-11 holds what the machines are: run `npm run machines` where it does not', () => {
    const docs = machineDocs();
    expect(readdirSync(FOLDER).sort()).toEqual([...docs.keys()].sort());
    for (const [name, text] of docs) expect(readFileSync(`${FOLDER}/${name}`, 'utf8'), name).toBe(text);
  });

  it('IN-11 covers every machine', () => {
    expect([...machineDocs().keys()]).toEqual(
      expect.arrayContaining(machines.flatMap(([id]) => [`${id}.md`, `${id}.svg`, `${id}.json`])),
    );
  });
});

describe.each(machines)('the drawing of %s', (_, machine) => {
  it('has every state, and every transition between two of them', () => {
    const text = machineMermaid(machine);
    for (const name of Object.keys(machine.states)) expect(text).toMatch(new RegExp(`\\b${name}\\b`));
    for (const [from, node] of Object.entries(machine.states)) {
      for (const { eventType, target } of [...node.transitions.values()].flat()) {
        const to = target?.[0]?.key;
        if (to === undefined || to === from) continue;
        expect(text).toMatch(new RegExp(`^  ${from} --> ${to}: .*\\b${eventType}\\b`, 'm'));
      }
    }
  });

  it('is JSON of which XState makes the same machine again', () => {
    const json: unknown = JSON.parse(machineJson(machine));
    const again = createMachine(json as Parameters<typeof createMachine>[0]);
    expect(transitionsOf(again)).toEqual(transitionsOf(machine));
    expect(chartOf(again)).toEqual(chartOf(machine));
  });

  it('is an SVG with every state', () => {
    const svg = machineSvg(chartOf(machine));
    const drawn = [...svg.matchAll(/data-state="([^"]+)"/g)].map(([, name]) => name);
    expect(drawn.sort()).toEqual(Object.keys(machine.states).sort());
  });
});

it('escapes what it draws', () => {
  const state = { description: '<i>', tags: [], timers: [], stays: [], isFinal: false };
  const svg = machineSvg({
    id: '<a>',
    description: '"&',
    initial: 'b',
    states: [
      { ...state, name: 'b' },
      { ...state, name: '<c>' },
    ],
    edges: [{ from: 'b', to: '<c>', labels: ['<script>'] }],
    anywhere: [{ from: '*', to: 'b', labels: ['<b>'] }],
  });
  expect(svg).not.toMatch(/<script|<a>|<b>|<c>|<i>|"&"/);
});
