import { text as readText } from 'node:stream/consumers';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Agent } from '../agent/define-agent.ts';
import type { Run } from '../agent/run.ts';
import type { RunSettings } from '../agent/start-run.ts';
import type { Graph } from '../graph/define-graph.ts';
import type { Swarm } from '../graph/define-swarm.ts';
import { isSessionId } from '../ids.ts';
import type { Inspector } from '../lifecycle/inspector.ts';
import type { Runtime } from '../runtime.ts';
import type { BudgetOptions } from '../turn/run-budget.ts';
import { budgetOption } from './budget-option.ts';
import { type BusOptions, tellBus } from './bus-option.ts';
import type { Cli } from './cli.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { addLedgerOptions, type LedgerOptions, ledgerHint, withRuntime } from './ledger-option.ts';
import { loadTarget, type Refused, type Runnable } from './load-target.ts';
import { natsOption } from './nats-option.ts';
import { poolHint, type RunPlace } from './next-commands.ts';
import { openPage } from './open-page.ts';
import { tellUnmadePool } from './unmade-pool.ts';
import { type ShowOptions, watchRun } from './watch-run.ts';
import { wholeNumber } from './whole-number.ts';

/** Options that `run` and `resume` share. */
export interface RunningOptions extends LedgerOptions, ShowOptions, BusOptions {
  readonly export?: string;
  readonly onApproval: 'wait' | 'pause';
  readonly budget?: BudgetOptions;
  readonly pool?: string;
}

/** Options of a command that gives an agent an input. */
export interface InputOptions extends RunningOptions {
  readonly input?: string;
  readonly session?: string;
}

interface RunOptions extends InputOptions {
  readonly inspect?: boolean;
  readonly inspectPort?: number;
}

const EXAMPLES = `
Examples:
  $ swarmwright run agent.ts --input "Review src/main.ts"
  $ git diff | swarmwright run reviewer.ts
  $ swarmwright run agent.ts --input hello --json | jq .type
  $ swarmwright run agent.ts --input "And the tests?" --session s-43myth8nbj
  $ swarmwright run agent.ts --input hello --inspect
  $ swarmwright run agents.ts --export writer --input go --on-approval pause --budget steps=10,costUsd=0.5
  $ swarmwright run agents.ts --export writer --input go --ledger nats://127.0.0.1:4222 --pool default

FILE is a module that exports an agent: by default, or as the only one. TypeScript is run as it is.
In a terminal the run is shown as a tree and approvals are asked for there. Elsewhere every event is a line.
With --pool it is given to workers (see "swarmwright help worker"), and shown all the same.

Ctrl-C ends the run after the step under way; twice cancels it; a third time quits without waiting.
Exit code: 0 completed, 1 failed, 2 usage, 3 paused, 130 cancelled.`;

/** Adds `run FILE`. */
export function addRunCommand(program: Command, cli: Cli): void {
  const command = program
    .command('run')
    .summary('give an agent an input and show what it does')
    .description('Gives an agent an input and shows what it does, to the end.')
    .argument('<file>', 'module that exports the agent')
    .option('--inspect', 'show it in a page of this machine too')
    .option('--inspect-port <number>', 'port of the page; default: one that is free', wholeNumber(1, 65_535));
  addInputOptions(command)
    .addHelpText('after', EXAMPLES)
    .action(async (file: string, options: RunOptions) => {
      cli.exitCode = await runFile(cli, file, { ...options, ...(await inspectorOf(cli, options)) });
    });
}

async function inspectorOf(
  cli: Cli,
  { inspect, inspectPort, content }: RunOptions,
): Promise<{ readonly inspector?: Inspector }> {
  if (inspect !== true && inspectPort === undefined) return {};
  return { inspector: await openPage(cli, { content, port: inspectPort }) };
}

/** Adds the options of a command that gives an agent an input. */
export function addInputOptions(command: Command): Command {
  command
    .option('-i, --input <text>', 'the input; default: standard input')
    .option('--session <id>', 'session to go on with; default: a new one', readSessionId);
  return addRunningOptions(command);
}

function readSessionId(text: string): string {
  if (isSessionId(text)) return text;
  throw new InvalidArgumentError('A session id matches [A-Za-z0-9_-]{1,64}.');
}

/** Adds what `run` and `resume` have in common. */
export function addRunningOptions(command: Command): Command {
  return addLedgerOptions(command.option('--export <name>', 'export to run, where the file has several'))
    .option('--pool <name>', 'workers that are to do it, where the ledger is on a server')
    .addOption(
      new Option('--on-approval <mode>', 'what a call does that needs a person')
        .choices(['wait', 'pause'])
        .default('wait'),
    )
    .addOption(budgetOption())
    .addOption(natsOption('NATS server that events are published to; may hold user:password@'))
    .addOption(
      new Option('--json', 'one JSON event a line, the result as the last').conflicts(['plain', 'quiet']),
    )
    .addOption(new Option('--plain', 'plain lines in a terminal too').conflicts('quiet'))
    .option('-q, --quiet', 'only the answer')
    .option('--content', 'prompts, arguments and results in --json, plain lines and the page too');
}

/** Runs what a file exports, shown by an inspector if one is given. */
export async function runFile(
  cli: Cli,
  file: string,
  options: InputOptions & { readonly inspector?: Inspector },
): Promise<ExitCode> {
  const loaded = await loadTarget(file, { cwd: cli.cwd, exportName: options.export });
  if (loaded.type === 'refused') return tellRefusal(cli, loaded);
  const input = await readInput(cli, options.input);
  if (input.type === 'missing') return tellUsage(cli, input.message);
  const opened = {
    ...options,
    isNew: true,
    runsHere: true,
    agents: loaded.agents,
    inspect: options.inspector,
  };
  return withRuntime(opened, async ({ runtime, client }) => {
    await tellUnmadePool(cli, client, options);
    const run = start(runtime, loaded.target, input.text, {
      ...settingsOf(options),
      ...(options.session === undefined ? {} : { sessionId: options.session }),
    });
    if (options.pool !== undefined && options.quiet !== true)
      await cli.err.say(queuedWords(options.pool, run));
    const place = placeOf(file, run.sessionId, options);
    const exitCode = await watchRun({ cli, runtime, run, show: options, place });
    await tellBus(cli, runtime);
    return exitCode;
  });
}

/** Nothing more is heard of a run before a worker has it. */
function queuedWords(pool: string, { sessionId }: Run<unknown>): string {
  return `given to the workers of ${pool} as session ${sessionId}; it begins when one of them is free`;
}

/** Settings of a run that come from the command line. */
export function settingsOf({ onApproval, budget }: RunningOptions) {
  return { onApproval, ...(budget === undefined ? {} : { budget }) };
}

/** Where a run is found again. */
export function placeOf(
  file: string,
  sessionId: string,
  options: Pick<RunningOptions, keyof LedgerOptions | 'pool'>,
): RunPlace {
  return { sessionId, file, ledgerOption: ledgerHint(options), poolOption: poolHint(options.pool) };
}

/** Whether the tools of a module need a context cannot be seen from outside: a command line has none to give. */
function start(
  runtime: Pick<Runtime, 'run'>,
  target: Runnable,
  input: string,
  settings: RunSettings,
): Run<unknown> {
  if (target.kind === 'graph') {
    return runtime.run(target as Graph<unknown, unknown>, graphInput(target, input), settings);
  }
  if (target.kind === 'swarm') return runtime.run(target as Swarm<unknown>, input, settings);
  return runtime.run(target as Agent<unknown>, input, settings);
}

/** A graph with a schema takes JSON; what is none may still be a text that the schema takes. */
function graphInput({ input }: Extract<Runnable, { readonly kind: 'graph' }>, text: string): unknown {
  if (input === undefined) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Tells why a file cannot be run. */
export async function tellRefusal(cli: Cli, refused: Refused): Promise<ExitCode> {
  await tellUsage(cli, refused.message);
  return refused.exitCode;
}

/** Tells what is wrong with a command line. */
export async function tellUsage(cli: Cli, message: string): Promise<ExitCode> {
  for (const line of `error: ${message}`.split('\n')) await cli.err.say(line);
  return EXIT.usage;
}

type Input =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'missing'; readonly message: string };

async function readInput(cli: Cli, given: string | undefined): Promise<Input> {
  if (given !== undefined) return { type: 'text', text: given };
  if (cli.stdin.isTTY) {
    return { type: 'missing', message: 'no input: give --input TEXT, or pipe it into standard input' };
  }
  const text = await readText(cli.stdin);
  if (text.trim() === '') return { type: 'missing', message: 'the input is empty' };
  return { type: 'text', text };
}
