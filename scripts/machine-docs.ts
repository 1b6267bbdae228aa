import { mkdirSync, writeFileSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import type { AnyStateMachine } from 'xstate';
import { allMachines } from '../machines/index.ts';
import { anyMachines, type ChartState, chartOf, type MachineChart } from '../src/inspect/machine-chart.ts';
import { machineJson } from '../src/inspect/machine-json.ts';
import { machineMermaid } from '../src/inspect/machine-mermaid.ts';
import { machineSvg } from './machine-svg.ts';

// Draws the machines into docs/machines. A test compares what this makes with the files it wrote.

/** The files of docs/machines, by name. */
export function machineDocs(): ReadonlyMap<string, string> {
  const machines = anyMachines(allMachines);
  const files = new Map([['README.md', indexOf(machines.map(chartOf))]]);
  for (const machine of machines) {
    files.set(`${machine.id}.md`, pageOf(machine));
    files.set(`${machine.id}.json`, machineJson(machine));
    files.set(`${machine.id}.svg`, machineSvg(chartOf(machine)));
  }
  return files;
}

const MADE = '<!-- Made by `npm run machines`; a test fails where it differs from the code. -->';

function indexOf(charts: readonly MachineChart[]): string {
  const rows = charts.map(
    ({ id, description, states }) =>
      `| [${id}](${id}.md) | ${description} | ${states.length} | [svg](${id}.svg), [json](${id}.json) |`,
  );
  return `${MADE}

# Machines

| machine | what it is | states | |
|---|---|---|---|
${rows.join('\n')}

Events are facts that the runtime tells a machine; it does the work. Colours: blue work of the runtime is under way,
yellow somebody or a timer is waited for, orange a tool may have acted on the world, grey final.
`;
}

function pageOf(machine: AnyStateMachine): string {
  const chart = chartOf(machine);
  return `${MADE}

# ${chart.id}

${chart.description}

\`\`\`mermaid
${machineMermaid(machine)}\`\`\`

| state | what it means | tags | timers | accepts and stays |
|---|---|---|---|---|
${chart.states.map(rowOf).join('\n')}

The same as [SVG](${chart.id}.svg), and as [JSON](${chart.id}.json) that Stately Studio imports.
`;
}

function rowOf({ name, description, tags, timers, stays }: ChartState): string {
  return `| \`${name}\` | ${description} | ${tags.join(', ')} | ${timers.join(', ')} | ${stays.join(', ')} |`;
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const folder = new URL('../docs/machines/', import.meta.url);
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of machineDocs()) writeFileSync(new URL(name, folder), text);
}
