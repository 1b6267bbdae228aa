import { type Command, Option } from 'commander';
import type { DeadLetter, DeadLetters } from '../nats/dead-letters.ts';
import type { QueueEntry } from '../nats/queue-entry.ts';
import { count } from './amounts.ts';
import type { Cli } from './cli.ts';
import { EXIT } from './exit-code.ts';
import { jsonText } from './json-text.ts';
import { type Line, shownLines, span, textLine } from './line.ts';
import {
  insecureOption,
  type NatsCommandOptions,
  namespaceOption,
  natsOption,
  withNats,
} from './nats-option.ts';
import { wholeNumber } from './whole-number.ts';

interface DeadLetterOptions extends NatsCommandOptions {
  readonly requeue?: boolean;
  readonly drop?: boolean;
  readonly json?: boolean;
}

const EXAMPLES = `
Examples:
  $ swarmwright nats dead-letters
  $ swarmwright nats dead-letters 17
  $ swarmwright nats dead-letters 17 --requeue
  $ swarmwright nats dead-letters 17 --drop
  $ swarmwright nats dead-letters --json | jq -r 'select(.reason == "unknown-agent") | .sequence'

Lists turns that workers gave up, oldest first: their number, when, where from and why, pool, session, run, and how
often they were handed out. With a number, shows that one whole. --requeue puts it back into its queue, as a run of its
own: whoever gave the first one was told that it failed. Ends with 1 where there is no such letter, and where another turn
of its session is in the queue.`;

/** Adds `dead-letters [NUMBER]` to `nats`. */
export function addDeadLetterCommand(nats: Command, cli: Cli, server: string): void {
  nats
    .command('dead-letters')
    .summary('list turns that workers gave up, and decide what becomes of one')
    .description('Lists turns that workers gave up, shows one, queues it again or drops it.')
    .argument('[number]', 'number of a dead letter', wholeNumber(1))
    .addOption(new Option('--requeue', 'put it back into its queue').conflicts('drop'))
    .option('--drop', 'take it away')
    .option('--json', 'one JSON object a line')
    .addOption(natsOption().default(server))
    .addOption(insecureOption())
    .addOption(namespaceOption())
    .addHelpText('after', EXAMPLES)
    .action((number: number | undefined, options: DeadLetterOptions, command: Command) => {
      const decides = options.requeue === true || options.drop === true;
      if (number === undefined && decides) command.error('error: which one? Give its number.');
      return withDeadLetters(options, (letters) =>
        number === undefined ? list(cli, letters, options) : look(cli, letters, { ...options, number }),
      );
    });
}

async function withDeadLetters(
  options: NatsCommandOptions,
  use: (letters: DeadLetters) => Promise<void>,
): Promise<void> {
  const { openDeadLetters } = await import('../nats/dead-letters.ts');
  await withNats(options, 'operator', (client) => use(openDeadLetters(client, { ns: options.ns })));
}

async function list(cli: Cli, letters: DeadLetters, { json }: DeadLetterOptions): Promise<void> {
  let listed = 0;
  for await (const letter of letters.list()) {
    listed += 1;
    if (json === true) await cli.out.write(`${jsonText(letter)}\n`);
    else await cli.out.lines([letterLine(letter)]);
  }
  if (listed === 0 && json !== true) await cli.out.say('no dead letter');
}

function letterLine({ sequence, time, source, reason, message, deliveries, queued }: DeadLetter): Line {
  const place = queued === undefined ? '' : `  ${queued.pool} ${entryWords(queued.entry)}`;
  const times = deliveries === undefined ? '' : `  handed out ${count(deliveries, 'time')}`;
  return [
    span(`${sequence}`.padEnd(6), 'bold'),
    span(time.replace('T', ' ').slice(0, 19), 'dim'),
    span(`  ${source} ${reason}`, 'bad'),
    span(place),
    span(`${times}  ${message}`, 'dim'),
  ];
}

function entryWords(entry: QueueEntry): string {
  return 'kind' in entry
    ? `${entry.session} to take up: ${entry.cause}`
    : `${entry.session} ${entry.run} ${entry.target}`;
}

async function look(
  cli: Cli,
  letters: DeadLetters,
  { number, requeue, drop, json }: DeadLetterOptions & { readonly number: number },
): Promise<void> {
  const letter = await letters.read(number);
  if (letter === undefined) {
    cli.exitCode = EXIT.failed;
    return cli.err.say(`there is no dead letter ${number}`);
  }
  if (requeue === true) return putBack(cli, letters, letter);
  if (drop === true) {
    await letters.drop(letter);
    return cli.out.say(`dropped ${number}`);
  }
  if (json === true) await cli.out.write(`${jsonText(letter)}\n`);
  else await cli.out.lines([...wholeLetter(letter)]);
}

async function putBack(cli: Cli, letters: DeadLetters, letter: DeadLetter): Promise<void> {
  const result = await letters.requeue(letter);
  if (result.type === 'requeued') {
    return cli.out.say(result.run === undefined ? 'queued again' : `queued again as ${result.run}`);
  }
  cli.exitCode = EXIT.failed;
  await cli.err.say('another turn of its session is in the queue; the letter stays');
}

function wholeLetter({ sequence, time, source, reason, message, deliveries, body, queued }: DeadLetter) {
  const entry = queued?.entry;
  const turn = entry === undefined || 'kind' in entry ? undefined : entry;
  const said: readonly (readonly [string, string | undefined])[] = [
    ['time', time],
    ['source', source],
    ['reason', reason],
    ['message', message],
    ['handed out', deliveries === undefined ? undefined : count(deliveries, 'time')],
    ['pool', queued?.pool],
    ['session', entry?.session],
    ['run', turn?.run],
    ['agent', turn?.target],
  ];
  const head = said.flatMap(([name, value]): readonly Line[] =>
    value === undefined ? [] : [[span(`${name}: `.padEnd(12), 'dim'), span(value)]],
  );
  const input = turn?.input ?? body;
  const text = typeof input === 'string' ? input : JSON.stringify(input, null, 2);
  const lines = shownLines(text).map((line): Line => [{ text: line, style: 'plain' }]);
  return [
    textLine(`dead letter ${sequence}`, 'bold'),
    ...head,
    textLine(turn === undefined ? 'body:' : 'input:', 'dim'),
    ...lines,
  ];
}
