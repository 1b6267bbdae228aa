import { Argument, type Command, InvalidArgumentError } from 'commander';
import { SwarmError } from '../errors.ts';
import type { JsonObject } from '../ledger/content.ts';
import type { NatsClientState } from '../nats/client.ts';
import type { JoinedPool } from '../nats/pool-consumer.ts';
import type { ProvisionReport, SettingDifference } from '../nats/provision.ts';
import type { Cli } from './cli.ts';
import { addDeadLetterCommand } from './dead-letter-command.ts';
import { EXIT } from './exit-code.ts';
import { readJsonObject } from './json-object.ts';
import { jsonText } from './json-text.ts';
import { type Line, type Style, span, textLine } from './line.ts';
import {
  insecureOption,
  type NatsCommandOptions,
  namespaceOption,
  natsOption,
  withNats,
} from './nats-option.ts';
import { wholeNumber } from './whole-number.ts';

interface InitOptions extends NatsCommandOptions {
  readonly dryRun?: boolean;
  readonly ledger?: boolean;
  readonly pool?: string;
  readonly lease?: number;
  readonly replicas?: number;
  readonly eventDays?: number;
  readonly json?: boolean;
}

interface StatusOptions extends NatsCommandOptions {
  readonly seconds: number;
  readonly json?: boolean;
}

const LOCAL = 'nats://127.0.0.1:4222';

const INIT_EXAMPLES = `
Examples:
  $ swarmwright nats init --dry-run
  $ swarmwright nats init --nats nats://provisioner:provisioner@127.0.0.1:4222
  $ swarmwright nats init --replicas 3
  $ swarmwright nats init --ledger --pool reviews

Makes the stream of events and the bucket of artifacts, once for a server; with --ledger also the streams in which
runtimes keep their ledger, and with --pool the queue of those workers, which need no right to make one then. What is
there already is compared with what it should be, setting by setting, and never changed. Ends with 1 where events cannot
go.`;

const STATUS_EXAMPLES = `
Examples:
  $ swarmwright nats status
  $ swarmwright nats status --seconds 30 --json

Publishers of events tell how they are every few seconds; this listens for that long.`;

const SEND_EXAMPLES = `
Examples:
  $ swarmwright nats send query s-43myth8nbj
  $ swarmwright nats send steer s-43myth8nbj '{"text": "Leave the tests alone"}'
  $ swarmwright nats send approve s-43myth8nbj '{"request": "s-43myth8nbj.1.1.0.ask", "argsHash": "5d41..."}'

Sends a command to whoever serves the session on the bus, and prints the answer. What approve and deny need, request and
argsHash, is in the events that "swarmwright events tail --kind approval --json" shows, and in the answer to query.
Workers decide where they were started with --approvals decide. Ends with 1 where the command is refused.`;

/** Adds `nats init`, `nats status`, `nats send` and `nats dead-letters`. */
export function addNatsCommands(program: Command, cli: Cli): void {
  const nats = program
    .command('nats')
    .description('prepare a NATS server, look at who publishes, and see to turns that were given up');
  nats
    .command('init')
    .description('Makes the streams and buckets that events need, or checks them.')
    .addOption(natsOption().default(LOCAL))
    .addOption(insecureOption())
    .option('--dry-run', 'only look')
    .option('--ledger', 'the streams of a ledger too')
    .option('--pool <name>', 'the queue of a pool of workers too')
    .option(
      '--lease <seconds>',
      'silence after which turns of a worker go to others; default: 30',
      wholeNumber(1, 3_600),
    )
    .addOption(namespaceOption())
    .option('--replicas <number>', 'copies in a cluster; default: 1', wholeNumber(1))
    .option('--event-days <number>', 'days events are kept; default: 7', wholeNumber(1))
    .option('--json', 'one JSON object')
    .addHelpText('after', INIT_EXAMPLES)
    .action((options: InitOptions) => init(cli, options));
  nats
    .command('status')
    .description('Tells how the publishers of events are doing.')
    .addOption(natsOption().default(LOCAL))
    .addOption(insecureOption())
    .addOption(namespaceOption())
    .option('--seconds <number>', 'time to listen', wholeNumber(1), 6)
    .option('--json', 'one JSON object a line')
    .addHelpText('after', STATUS_EXAMPLES)
    .action((options: StatusOptions) => status(cli, options));
  nats
    .command('send')
    .description('Sends a command to a session, wherever it is at work.')
    .addArgument(new Argument('<verb>', 'what it is to do').choices(VERBS))
    .argument('<session>', 'session')
    .argument('[body]', 'what the command says, as JSON', readBody)
    .addOption(natsOption().default(LOCAL))
    .addOption(insecureOption())
    .addOption(namespaceOption())
    .addHelpText('after', SEND_EXAMPLES)
    .action((verb: Verb, session: string, body: JsonObject | undefined, options: NatsCommandOptions) =>
      send(cli, { verb, session, body: body ?? {} }, options),
    );
  addDeadLetterCommand(nats, cli, LOCAL);
}

/** Those of the bus; named here so that help needs none of it. */
const VERBS = ['steer', 'cancel', 'approve', 'deny', 'pause', 'resume', 'query'] as const;
type Verb = (typeof VERBS)[number];

function readBody(text: string): JsonObject {
  const read = readJsonObject(text);
  if (read.type === 'object') return read.value;
  throw new InvalidArgumentError(read.complaint);
}

interface Sending {
  readonly verb: Verb;
  readonly session: string;
  readonly body: JsonObject;
}

async function send(cli: Cli, { verb, session, body }: Sending, options: NatsCommandOptions): Promise<void> {
  const { sendCommand } = await import('../nats/send-command.ts');
  const decides = verb === 'approve' || verb === 'deny';
  const reply = await withNats(options, decides ? 'approver' : 'operator', (connection) =>
    // What the body lacks for its verb, the sender is told.
    sendCommand<Verb>({ connection, ns: options.ns, session, verb, body: body as never }),
  );
  await cli.out.write(`${jsonText(reply)}\n`);
  if (!reply.accepted) cli.exitCode = EXIT.failed;
}

async function init(cli: Cli, options: InitOptions): Promise<void> {
  const { dryRun = false, ledger = false, replicas, eventDays, pool, lease, ns } = options;
  const leaseMs = lease === undefined ? undefined : lease * 1_000;
  const { provision } = await import('../nats/provision.ts');
  const { findPool, joinPool } = await import('../nats/pool-consumer.ts');
  const [report, joined] = await withNats(options, 'provisioner', async (client) => [
    await provision(client, {
      dryRun,
      ledger,
      ...(replicas === undefined ? {} : { replicas }),
      ...(eventDays === undefined ? {} : { eventDays }),
    }),
    pool === undefined ? undefined : await (dryRun ? findPool : joinPool)(client, { pool, ns, leaseMs }),
  ]);
  if (options.json === true) await cli.out.write(`${jsonText({ ...report, pool: joined })}\n`);
  else await cli.out.lines([...reportLines(report), ...(joined === undefined ? [] : [poolLine(joined)])]);
  if (report.verdict === 'unfit') cli.exitCode = EXIT.failed;
}

const VERDICTS: Readonly<
  Record<ProvisionReport['verdict'], { readonly words: string; readonly style: Style }>
> = {
  ready: { words: 'ready', style: 'good' },
  degraded: { words: 'events go; the server lacks some of what was asked for', style: 'warn' },
  unfit: { words: 'not ready', style: 'bad' },
};

function reportLines({ server, streams, verdict }: ProvisionReport): readonly Line[] {
  const level = server.apiLevel === 0 ? '' : `, JetStream API level ${server.apiLevel}`;
  const { words, style } = VERDICTS[verdict];
  return [
    textLine(`nats-server ${server.version}${level}`),
    ...streams.flatMap(({ name, purpose, state, differences }) => [
      [
        span(name, 'bold'),
        span(`  ${state}`, state === 'missing' ? 'warn' : 'good'),
        span(`  ${purpose}`, 'dim'),
      ],
      ...differences.map(differenceLine),
    ]),
    [span(words, style)],
  ];
}

function poolLine({ name, state, ackWaitMs }: JoinedPool): Line {
  const words = `  ${state}, turns of a worker that is silent for ${ackWaitMs / 1_000} s go to others`;
  return [span(name, 'bold'), span(words, state === 'missing' ? 'warn' : 'good')];
}

function differenceLine({ setting, wanted, found, isRequired }: SettingDifference): Line {
  const is = found === undefined ? 'is not known to the server' : `is ${JSON.stringify(found)}`;
  return [span(`  ${setting} ${is}, should be ${JSON.stringify(wanted)}`, isRequired ? 'bad' : 'warn')];
}

async function status(cli: Cli, options: StatusOptions): Promise<void> {
  const { createSubjects } = await import('../nats/subjects.ts');
  const { healthSchema } = await import('../nats/health.ts');
  const { readJson } = await import('../nats/jet-stream-api.ts');
  const subjects = createSubjects({ ns: options.ns });
  let heard = 0;
  await withNats(options, 'observer', async (client) => {
    const subscription = client.subscribe(subjects.healths(), ({ subject, data }) => {
      const parsed = healthSchema.safeParse(readJson(data));
      if (!parsed.success) return;
      heard += 1;
      const publisher = subject.slice(subject.lastIndexOf('.') + 1);
      if (options.json === true) void cli.out.write(`${jsonText({ publisher, ...parsed.data })}\n`);
      else void cli.out.lines([healthLine(publisher, parsed.data)]);
    });
    await client.flush();
    // A refusal comes before the answer to the flush.
    assertHears(client.state);
    await new Promise((resolve) => setTimeout(resolve, options.seconds * 1_000));
    subscription.close();
    if (heard === 0) assertHears(client.state);
  });
  if (heard === 0 && options.json !== true) await cli.out.say('no publisher was heard');
}

/** Who may not listen, or is cut off, hears nobody: nothing follows from that. @throws SwarmError */
function assertHears({ type, message }: NatsClientState): void {
  if (message === undefined) return;
  throw new SwarmError(type === 'connected' ? 'nats-rejected' : 'nats-unavailable', `listening: ${message}`);
}

type Health = import('zod').infer<typeof import('../nats/health.ts').healthSchema>;

function healthLine(publisher: string, health: Health): Line {
  const { state, lag, stored, goBacks, dropped, message } = health;
  const why = message === undefined ? '' : `  ${message}`;
  const style: Style = state === 'connected' ? 'good' : 'warn';
  return [
    span(publisher, 'bold'),
    span(`  ${state}`, style),
    span(`  ${lag} behind, ${stored} stored, ${goBacks} sent again, ${dropped} dropped${why}`, 'dim'),
  ];
}
