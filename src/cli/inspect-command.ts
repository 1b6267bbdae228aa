import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { Cli } from './cli.ts';
import type { ExitCode } from './exit-code.ts';
import { inspectBus } from './inspect-bus.ts';
import { inspectWithPage } from './inspect-page.ts';
import { inspectWithStately } from './inspect-stately.ts';
import { isServer } from './ledger-place.ts';
import { addInputOptions, type InputOptions, tellUsage } from './run-command.ts';
import { wholeNumber } from './whole-number.ts';

/** Options of `inspect`. */
export interface InspectOptions extends InputOptions {
  readonly stately?: boolean;
  readonly port?: number;
  readonly open: boolean;
  readonly stay?: boolean;
}

const EXAMPLES = `
Examples:
  $ swarmwright inspect swarmwright.db
  $ swarmwright inspect agent.ts --input "Review src/main.ts" --content
  $ swarmwright inspect nats://127.0.0.1:4222
  $ swarmwright inspect --nats nats://127.0.0.1:4222
  $ swarmwright inspect --stately agent.ts --input "Review src/main.ts"
  $ swarmwright inspect --stately swarmwright.db --session s-43myth8nbj

FILE is a module that exports an agent, which is run, or a ledger, whose runs are shown again: a SQLite file, or the
server that it is kept on. Nothing of a ledger is executed. The page is served on this machine alone and needs no
internet; who has its address, with the token in it, may also answer approvals, steer and cancel. What was said is in it
with --content. Without a FILE it shows what is published on a NATS server, and only looks.

With --stately the relay is that of @statelyai/inspect: it shows its page, for which a browser needs the internet, at
http://localhost:8080, keeps the last 200 messages for a page that opens late, and listens on every interface of this
machine. Ids, counters and kinds are all that goes there.`;

/** Adds `inspect FILE`. */
export function addInspectCommand(program: Command, cli: Cli): void {
  const command = program
    .command('inspect')
    .summary('show the machines of a run or a ledger')
    .description('Shows the machines of a run, or of a recorded ledger.')
    .argument('[file]', 'module that exports an agent, or a ledger (a file, nats://...); none with --nats')
    .addOption(new Option('--stately', 'in the Stately inspector, instead of a page of its own'))
    .addOption(new Option('--port <number>', 'port to serve at').argParser(wholeNumber(1, 65_535)))
    .option('--no-open', 'leave the browser alone')
    .option('--stay', 'serve on when the run is over, until Ctrl-C');
  addInputOptions(command)
    .addHelpText('after', EXAMPLES)
    .action(async (file: string | undefined, options: InspectOptions) => {
      cli.exitCode = await inspect(cli, file, options);
    });
}

/** A file is shown by itself; without one it is what a bus has. */
async function inspect(cli: Cli, file: string | undefined, options: InspectOptions): Promise<ExitCode> {
  if (file === undefined) {
    if (options.nats === undefined) return tellUsage(cli, 'name a file, or a server with --nats');
    return inspectBus(cli, { ...options, nats: options.nats });
  }
  const isLedger = isServer(file) || (await isLedgerFile(resolve(cli.cwd, file)));
  const view = { file, isLedger, options };
  return options.stately === true ? inspectWithStately(cli, view) : inspectWithPage(cli, view);
}

/** Every SQLite file begins with these words. */
const SQLITE_MAGIC = 'SQLite format 3\0';

async function isLedgerFile(path: string): Promise<boolean> {
  try {
    await using file = await open(path);
    const { buffer } = await file.read(Buffer.alloc(SQLITE_MAGIC.length), 0, SQLITE_MAGIC.length, 0);
    return buffer.toString('latin1') === SQLITE_MAGIC;
  } catch {
    // Whoever is to use it says what is wrong with it.
    return false;
  }
}
