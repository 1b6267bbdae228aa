import { type Command, InvalidArgumentError, Option } from 'commander';
import type { SubscribeOptions, SubscriptionItem } from '../nats/subscribe.ts';
import type { Cli } from './cli.ts';
import { eventLine, whoIn } from './event-line.ts';
import { jsonText } from './json-text.ts';
import { type Line, span } from './line.ts';
import {
  insecureOption,
  type NatsCommandOptions,
  namespaceOption,
  natsOption,
  withNats,
} from './nats-option.ts';
import { wholeNumber } from './whole-number.ts';

interface EventsOptions extends NatsCommandOptions {
  readonly root?: string;
  readonly session?: string;
  readonly agent?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly after?: number;
  readonly since?: Date;
  readonly count?: number;
  readonly json?: boolean;
}

const LOCAL = 'nats://127.0.0.1:4222';

const TAIL_EXAMPLES = `
Examples:
  $ swarmwright events tail
  $ swarmwright events tail --kind approval --name requested --json
  $ swarmwright events tail --nats nats://observer:observer@127.0.0.1:4222 --root s-43myth8nbj
  $ swarmwright events tail --nats nats://approver:approver@127.0.0.1:4222 --kind approval --json

Shows what is published from now on, until Ctrl-C. With --json a line is {"sequence", "event"}, or {"gap"} where events
of a session did not come in their place.`;

const REPLAY_EXAMPLES = `
Examples:
  $ swarmwright events replay --root s-43myth8nbj
  $ swarmwright events replay --after 1200 --json
  $ swarmwright events replay --since 2026-01-31T08:00:00Z --kind tool

Shows what is stored by now, from the beginning or from a place on, and ends.`;

/** Adds `events tail` and `events replay`. */
export function addEventsCommands(program: Command, cli: Cli): void {
  const events = program.command('events').description('show events that were published to NATS');
  addFilters(events.command('tail').description('Shows events as they are published.'))
    .addHelpText('after', TAIL_EXAMPLES)
    .action((options: EventsOptions) => tail(cli, options));
  addFilters(events.command('replay').description('Shows events that are stored.'))
    .addOption(
      new Option('--after <sequence>', 'begin behind this place of the stream').argParser(wholeNumber(0)),
    )
    .addOption(new Option('--since <time>', 'begin at this time').argParser(readTime).conflicts('after'))
    .addHelpText('after', REPLAY_EXAMPLES)
    .action((options: EventsOptions) => replay(cli, options));
}

function addFilters(command: Command): Command {
  return command
    .addOption(natsOption().default(LOCAL))
    .addOption(insecureOption())
    .addOption(namespaceOption())
    .option('--root <session>', 'only of the swarm of this session')
    .option('--session <id>', 'only of this session')
    .option('--agent <name>', 'only of agents of this name')
    .option('--kind <kind>', 'only of this kind, for example tool')
    .option('--name <name>', 'only of this name, for example failed')
    .addOption(new Option('-n, --count <number>', 'end after so many').argParser(wholeNumber(0)))
    .option('--json', 'one JSON object a line');
}

/** @throws InvalidArgumentError which names what is wrong */
function readTime(text: string): Date {
  const time = new Date(text);
  if (!Number.isNaN(time.getTime())) return time;
  throw new InvalidArgumentError('A time is written like 2026-01-31T08:00:00Z.');
}

async function tail(cli: Cli, options: EventsOptions): Promise<void> {
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  await withNats(options, 'observer', (client) =>
    show(cli, options, { ...filterOf(options), connection: client, from: 'new', signal: stop.signal }),
  );
}

async function replay(cli: Cli, options: EventsOptions): Promise<void> {
  const { after, since } = options;
  const { createSubjects } = await import('../nats/subjects.ts');
  const { lastSequenceUnder } = await import('../nats/stored-events.ts');
  await withNats(options, 'observer', async (client) => {
    const filter = filterOf(options);
    const signal = new AbortController().signal;
    const last = await lastSequenceUnder(client, createSubjects(filter).events(filter), signal);
    if (last === undefined || (after !== undefined && after >= last)) return;
    const from = since !== undefined ? { time: since } : after !== undefined ? { after } : ('start' as const);
    await show(cli, options, { ...filter, connection: client, from }, last);
  });
}

/** What of the options names events. */
function filterOf({ ns, root, session, agent, kind, name }: EventsOptions) {
  return {
    ns,
    ...(root === undefined ? {} : { root }),
    ...(session === undefined ? {} : { session }),
    ...(agent === undefined ? {} : { agent }),
    ...(kind === undefined ? {} : { kind }),
    ...(name === undefined ? {} : { name }),
  };
}

/** Shows events until there are enough, or the last one that was stored is shown. */
async function show(
  cli: Cli,
  { json, count }: EventsOptions,
  wanted: SubscribeOptions,
  last = Number.POSITIVE_INFINITY,
): Promise<void> {
  const { subscribe } = await import('../nats/subscribe.ts');
  let shown = 0;
  if (count === 0) return;
  for await (const item of subscribe({ ...wanted, until: last })) {
    if (json === true) await cli.out.write(`${jsonText(jsonOf(item))}\n`);
    else await cli.out.lines(linesOf(item));
    shown += item.type === 'event' ? 1 : 0;
    if (shown >= (count ?? Number.POSITIVE_INFINITY)) return;
  }
}

function jsonOf(item: SubscriptionItem): object {
  if (item.type === 'event') return { sequence: item.sequence, event: item.event };
  const { type: _, ...gap } = item;
  return { gap };
}

function linesOf(item: SubscriptionItem): readonly Line[] {
  if (item.type === 'gap') {
    const { session, after, before, refilled } = item;
    return [[span(`gap in ${session}: ${after} to ${before}, ${refilled} found elsewhere`, 'warn')]];
  }
  const { event } = item;
  const told = eventLine(event, { ledgerOption: '' }) ?? [span(`${whoIn(event)}: ${event.type}`, 'dim')];
  return [[span(`${event.ts} `, 'dim'), ...told]];
}
