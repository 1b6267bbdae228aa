import { type Command, Option } from 'commander';
import type { DeadTurn } from '../nats/worker.ts';
import type { Cli } from './cli.ts';
import { loadModule } from './load-target.ts';
import {
  insecureOption,
  type NatsCommandOptions,
  namespaceOption,
  natsOption,
  withNats,
} from './nats-option.ts';
import { tellRefusal } from './run-command.ts';
import { wholeNumber } from './whole-number.ts';

interface WorkerCommandOptions extends NatsCommandOptions {
  readonly pool: string;
  readonly concurrency: number;
  readonly lease: number;
  readonly drain: number;
  readonly approvals: 'off' | 'decide' | 'edit';
}

const LOCAL = 'nats://127.0.0.1:4222';

const EXAMPLES = `
Examples:
  $ swarmwright worker agents.ts
  $ swarmwright worker agents.ts --pool reviews --concurrency 8

FILE is a module that exports agents, swarms or graphs; a turn names one of them. The ledger is the one on the server:
\`swarmwright nats init --ledger\` makes its streams. Events of all workers are published there, and "swarmwright nats
send" reaches every turn of theirs: who may send what is up to the permissions of the server. SIGTERM, or Ctrl-C, takes
no more turns and lets those under way end, for as long as --drain says; a second one leaves at once. What did not end
is taken up by other workers. Its last line counts turns: worked on, repeated (they had ended already), returned to the
queue, and dead, which were given up.`;

/** Adds `worker FILE`. */
export function addWorkerCommand(program: Command, cli: Cli): void {
  program
    .command('worker')
    .summary('work on turns that wait on NATS')
    .description('Works on turns that wait on NATS, with the agents of a module.')
    .argument('<file>', 'module that exports the agents')
    .addOption(natsOption().default(LOCAL))
    .addOption(insecureOption())
    .addOption(namespaceOption())
    .option('--pool <name>', 'queue to take turns from', 'default')
    .option('--concurrency <number>', 'turns at once', wholeNumber(1, 1_000), 4)
    .option('--lease <seconds>', 'silence after which its turns go to others', wholeNumber(1, 3_600), 30)
    .option(
      '--drain <seconds>',
      'time that turns under way have once it is told to stop',
      wholeNumber(0, 86_400),
      30,
    )
    .addOption(
      new Option('--approvals <mode>', 'whether "nats send" may decide them; edit: with other arguments too')
        .choices(['off', 'decide', 'edit'])
        .default('off'),
    )
    .addHelpText('after', EXAMPLES)
    .action((file: string, options: WorkerCommandOptions) => work(cli, file, options));
}

async function work(cli: Cli, file: string, options: WorkerCommandOptions): Promise<void> {
  const loaded = await loadModule(file, { cwd: cli.cwd });
  if (loaded.type === 'refused') {
    cli.exitCode = await tellRefusal(cli, loaded);
    return;
  }
  const { agents } = loaded;
  const { ns, pool, concurrency } = options;
  const leaseMs = options.lease * 1_000;
  const { jetstreamLedger } = await import('../nats/jet-stream-ledger.ts');
  const { natsPool } = await import('../nats/nats-pool.ts');
  const { natsSink } = await import('../nats/nats-sink.ts');
  const { serveCommands } = await import('../nats/serve-commands.ts');
  const { startWorker } = await import('../nats/worker.ts');
  const { createRuntime } = await import('../runtime.ts');
  await withNats(options, 'worker', async (connection) => {
    const ledger = await jetstreamLedger({ connection, ns, leaseMs });
    // Every worker publishes the events of all, so that those of one that died come out too; the server keeps one each.
    const sinks = [natsSink({ connection, ns })];
    await using runtime = createRuntime({ ledger, agents, sinks, pool: natsPool({ connection, ns, pool }) });
    // Of all workers one answers each: they share the ledger.
    const answering = { connection, ns, runtime, ledger, approvals: options.approvals, group: 'workers' };
    await using _commands = serveCommands(answering);
    const stop = stopSignal();
    const onDead = ({ reason, message, subject }: DeadTurn) =>
      void cli.err.say(`gave up ${subject}: ${reason}, ${message}`);
    const onFault = ({ message }: Error) => void cli.err.say(`cannot work: ${message}`);
    const place = { connection, ns, pool, concurrency, leaseMs };
    const worker = await startWorker({ ...place, runtime, onDead, onFault });
    const names = Object.keys(agents).join(', ');
    await cli.out.write(`works on turns of ${names} in the pool ${pool}, ${concurrency} at once\n`);
    if (worker.leaseMs !== leaseMs) await cli.err.say(leaseWords(worker.leaseMs, leaseMs));
    await stop.asked;
    await cli.err.say('takes no more turns; those under way end');
    const drained = worker.close({ drainMs: options.drain * 1_000 });
    // Leaving at once closes the runtime, which leaves the turns open for others.
    await Promise.race([drained, stop.askedAgain.then(() => runtime.close())]);
    await drained;
    const { worked, repeated, returned, dead } = worker.counts();
    await cli.out.write(`worked ${worked}, repeated ${repeated}, returned ${returned}, dead ${dead}\n`);
    stop.dispose();
  });
}

/** The queue is the same for all workers of a pool. */
function leaseWords(ofPool: number, own: number): string {
  const takeover = Math.max(ofPool, own) / 1_000;
  return `the pool was made with a lease of ${ofPool / 1_000} s, this worker has ${own / 1_000} s: takeovers take ${takeover} s`;
}

/** SIGINT and SIGTERM: the first asks to stop, the second not to wait. */
function stopSignal() {
  const once = Promise.withResolvers<void>();
  const twice = Promise.withResolvers<void>();
  let count = 0;
  const hear = () => {
    count += 1;
    if (count === 1) once.resolve();
    else twice.resolve();
  };
  process.on('SIGINT', hear);
  process.on('SIGTERM', hear);
  return {
    asked: once.promise,
    askedAgain: twice.promise,
    dispose() {
      process.off('SIGINT', hear);
      process.off('SIGTERM', hear);
    },
  };
}
