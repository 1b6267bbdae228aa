import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import type { Cli } from './cli.ts';
import { EXIT } from './exit-code.ts';
import { span } from './line.ts';

type Format = 'mermaid' | 'json' | 'svg';

interface MachinesOptions {
  readonly format?: Format;
}

const EXAMPLES = `
Examples:
  $ swarmwright machines
  $ swarmwright machines turn
  $ swarmwright machines turn --format json > turn.json
  $ swarmwright machines tool-call --format svg > tool-call.svg

Without a name the machines are listed, or with --format all of them printed one after another. JSON is what Stately
Studio imports.`;

/** Adds `machines [NAME]`. */
export function addMachinesCommand(program: Command, cli: Cli): void {
  program
    .command('machines')
    .summary('print the state machines')
    .description('Lists the state machines that agents, turns, steps and calls are, or prints them.')
    .argument('[name]', 'machine to print')
    .addOption(new Option('--format <format>', 'how to print').choices(['mermaid', 'json', 'svg']))
    .addHelpText('after', EXAMPLES)
    .action((name: string | undefined, options: MachinesOptions) => printMachines(cli, name, options));
}

async function printMachines(cli: Cli, name: string | undefined, { format }: MachinesOptions): Promise<void> {
  const { chartOf } = await import('../inspect/machine-chart.ts');
  const machines = await loadMachines();
  const chosen = name === undefined ? [...machines.values()] : [machines.get(name)];
  const [only] = chosen;
  if (only === undefined) {
    cli.exitCode = EXIT.usage;
    await cli.err.say(`error: there is no machine ${name}; there are: ${[...machines.keys()].join(', ')}`);
    return;
  }
  if (format === undefined && name === undefined) {
    const charts = [...machines.values()].map(chartOf);
    const width = Math.max(...charts.map(({ id }) => id.length));
    await cli.out.lines(
      charts.map(({ id, description, states }) => [
        span(id.padEnd(width), 'bold'),
        span(`  ${String(states.length).padStart(2)} states  ${description}`),
      ]),
    );
    return;
  }
  const print = await printerOf(format ?? 'mermaid');
  for (const machine of chosen) if (machine !== undefined) await cli.out.write(print(machine));
}

type Machines = Awaited<ReturnType<typeof loadMachines>>;

async function loadMachines() {
  const { resolveMachines } = await import('../lifecycle/machine-set.ts');
  const { anyMachines } = await import('../inspect/machine-chart.ts');
  return new Map(anyMachines(resolveMachines()).map((machine) => [machine.id, machine]));
}

async function printerOf(
  format: Format,
): Promise<(machine: NonNullable<ReturnType<Machines['get']>>) => string> {
  switch (format) {
    case 'mermaid':
      return (await import('../inspect/machine-mermaid.ts')).machineMermaid;
    case 'json':
      return (await import('../inspect/machine-json.ts')).machineJson;
    case 'svg':
      return ({ id }) => readFileSync(new URL(`${id}.svg`, drawings()), 'utf8');
  }
}

/** Where the drawings lie that were laid out before the package was made. */
function drawings(): URL {
  const above = import.meta.url.endsWith('.ts') ? '../../' : '../../../';
  return new URL(`${above}docs/machines/`, import.meta.url);
}
