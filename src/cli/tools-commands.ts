import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { SwarmError } from '../errors.ts';
import type { DiscoveryMeasure } from '../tools/measure-discovery.ts';
import { formatMs } from './amounts.ts';
import type { Cli } from './cli.ts';
import { EXIT } from './exit-code.ts';
import {
  brokenLimits,
  FIGURES,
  type Figure,
  type FigureLimits,
  type FigureName,
  shortNumber,
} from './figures.ts';
import { jsonText } from './json-text.ts';
import { addLedgerOptions, type LedgerOptions, withRuntime } from './ledger-option.ts';
import { shownPlace } from './ledger-place.ts';
import { type Line, span, textLine } from './line.ts';
import { figuresOfSets, type QueryLine, type QuerySet, readQueries, readTools } from './set-figures.ts';
import { figuresOfTurns, measuresOf } from './turn-figures.ts';
import { wholeNumber } from './whole-number.ts';

interface EvalOptions extends LedgerOptions {
  readonly set?: string;
  readonly catalogue?: string;
  readonly session?: string;
  readonly k: number;
  readonly maxSchemaChars: number;
  readonly limit?: FigureLimits;
  readonly json?: boolean;
}

const NAMES = Object.keys(FIGURES) as readonly FigureName[];

const EXAMPLES = `
Examples:
  $ swarmwright tools eval
  $ swarmwright tools eval --limit recall=0.9,unused=0.6,repeated=0.1
  $ swarmwright tools eval --set queries.jsonl --catalogue tools.jsonl --limit recall=0.8

Without --set, the turns of a ledger that had deferred tools are measured by what they wrote down. With --set, the
tool search itself is: a line of a set is {"query", "relevant": [names], "mode"?: "all" or "any"}, a line of a
catalogue is {"name", "description", "inputSchema", "group"?}. A line of a set may name its catalogue, which is then
catalogues/NAME.jsonl beside it.

Limits: ${NAMES.join(', ')}. Of recall and hitAt1 they are the least, of all others the most.
Ends with 1 where one is not kept.`;

/** Adds `tools eval`. */
export function addToolsCommands(program: Command, cli: Cli): void {
  const tools = program.command('tools').description('tell how well tools are found');
  addLedgerOptions(
    tools
      .command('eval')
      .description('Measures what tool discovery was worth, in a ledger or over labelled queries.')
      .addOption(new Option('--set <file>', 'labelled queries, JSON lines, instead of a ledger'))
      .addOption(new Option('--catalogue <file>', 'the tools of the set, JSON lines'))
      .addOption(new Option('--session <id>', 'of a ledger, only this session').conflicts('set'))
      .addOption(
        new Option('-k <number>', 'results of a search that count').argParser(wholeNumber(1)).default(5),
      )
      .addOption(
        new Option('--max-schema-chars <number>', 'characters of schema a search may find')
          .argParser(wholeNumber(1))
          .default(16_000),
      )
      .addOption(
        new Option('--limit <name=number>', 'bounds, for example recall=0.9,unused=0.6').argParser(
          readLimits,
        ),
      )
      .option('--json', 'one JSON object'),
  )
    .addHelpText('after', EXAMPLES)
    .action((options: EvalOptions) => evaluate(cli, options));
}

/** @throws InvalidArgumentError which names what is wrong */
function readLimits(text: string, before: FigureLimits | undefined): FigureLimits {
  const entries = text.split(',').map((part) => {
    const [name = '', value = '', ...rest] = part.split('=');
    const limit = Number(value);
    if (!Object.hasOwn(FIGURES, name))
      throw new InvalidArgumentError(`${name} is no figure: ${NAMES.join(', ')}.`);
    if (value.trim() === '' || rest.length > 0 || !(limit >= 0)) {
      throw new InvalidArgumentError(`${name} needs a number of at least 0, as in ${name}=0.5.`);
    }
    return [name, limit] as const;
  });
  return { ...before, ...Object.fromEntries(entries) };
}

/** What was measured, and over what. */
interface Evaluation {
  readonly over: string;
  readonly figures: readonly Figure[];
  readonly json: object;
}

type Evaluated =
  | ({ readonly type: 'evaluated' } & Evaluation)
  | { readonly type: 'refused'; readonly message: string };

async function evaluate(cli: Cli, options: EvalOptions): Promise<void> {
  const result = options.set === undefined ? await ofLedger(options) : await ofSet(cli, options.set, options);
  if (result.type === 'refused') {
    cli.exitCode = EXIT.usage;
    await cli.err.say(`error: ${result.message}`);
    return;
  }
  const broken = brokenLimits(result.figures, options.limit ?? {});
  if (broken.length > 0) cli.exitCode = EXIT.failed;
  if (options.json === true) {
    const figures = Object.fromEntries(result.figures.map(({ name, value }) => [name, value ?? null]));
    await cli.out.write(`${jsonText({ ...result.json, figures, broken })}\n`);
    return;
  }
  await cli.out.lines([textLine(result.over, 'bold'), ...result.figures.map(figureLine)]);
  await cli.err.lines(broken.map((text) => textLine(`not kept: ${text}`, 'bad')));
}

async function ofLedger(options: EvalOptions): Promise<Evaluated> {
  const measures = await withRuntime(options, async ({ runtime }) => {
    const ids =
      options.session === undefined
        ? (await runtime.sessions.list()).map(({ sessionId }) => sessionId)
        : [options.session];
    const all: DiscoveryMeasure[] = [];
    // One session at a time: a ledger may be larger than memory.
    for (const id of ids) {
      const records = await runtime.sessions.read(id);
      if (records.length === 0) {
        throw new SwarmError(
          'unknown-session',
          `no session ${id} is in the ledger ${shownPlace(options.ledger)}`,
        );
      }
      all.push(...measuresOf(records));
    }
    return all;
  });
  const { turns, searches, k, figures } = figuresOfTurns(measures, options.k);
  return {
    type: 'evaluated',
    over: `${turns} turns with deferred tools, ${searches} searches, k = ${k}`,
    figures,
    json: { turns, searches, k },
  };
}

async function ofSet(cli: Cli, set: string, options: EvalOptions): Promise<Evaluated> {
  const path = resolve(cli.cwd, set);
  const missing = missingFile(path);
  if (missing !== undefined) return missing;
  const read = readQueries(await readFile(path, 'utf8'));
  if (read.type === 'invalid') return { type: 'refused', message: `${set}: ${read.complaint}` };
  const sets: QuerySet[] = [];
  for (const [name, queries] of Map.groupBy(read.lines, ({ catalogue }) => catalogue)) {
    const file = catalogueFile(path, name, options.catalogue);
    if (file === undefined)
      return { type: 'refused', message: `${set} names no catalogue: give --catalogue` };
    const absent = missingFile(resolve(cli.cwd, file));
    if (absent !== undefined) return absent;
    const tools = readTools(await readFile(resolve(cli.cwd, file), 'utf8'));
    if (tools.type === 'invalid') return { type: 'refused', message: `${file}: ${tools.complaint}` };
    sets.push({ tools: tools.lines, queries: queries as readonly QueryLine[] });
  }
  return evaluateSets(sets, options);
}

function missingFile(path: string): Extract<Evaluated, { type: 'refused' }> | undefined {
  return existsSync(path) ? undefined : { type: 'refused', message: `there is no file ${path}` };
}

function catalogueFile(set: string, name: string | undefined, given: string | undefined): string | undefined {
  if (given !== undefined || name === undefined) return given;
  // A name, not a path: a set is a file from elsewhere.
  return /^[\w.-]+$/.test(name) ? join(dirname(set), 'catalogues', `${name}.jsonl`) : undefined;
}

function evaluateSets(sets: readonly QuerySet[], { k, maxSchemaChars }: EvalOptions): Evaluated {
  const { queries, tools, unusable, figures } = figuresOfSets(sets, { limit: k, maxSchemaChars });
  const left = unusable.length === 0 ? '' : `, ${unusable.length} tools left out as unusable`;
  return {
    type: 'evaluated',
    over: `${queries} queries over ${tools} tools, k = ${k}${left}`,
    figures,
    json: { queries, tools, k, unusable },
  };
}

function figureLine({ name, value }: Figure): Line {
  return [
    span(name.padEnd(12), 'bold'),
    span(shownValue(name, value).padStart(10)),
    span(`  ${FIGURES[name].label}`, 'dim'),
  ];
}

function shownValue(name: FigureName, value: number | undefined): string {
  if (value === undefined) return '-';
  const { unit } = FIGURES[name];
  if (unit === 'share') return `${(100 * value).toFixed(1)} %`;
  if (unit === 'ms') return formatMs(value);
  return unit === 'chars' ? String(Math.round(value)) : shortNumber(Number(value.toFixed(2)));
}
