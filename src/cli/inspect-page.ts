import { once } from 'node:events';
import type { Cli } from './cli.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import type { InspectOptions } from './inspect-command.ts';
import { type LedgerOptions, withRuntime } from './ledger-option.ts';
import { createToken, openPage, type PageChoice } from './open-page.ts';
import { runFile } from './run-command.ts';

/** What is to be shown. */
export interface PageView {
  readonly file: string;
  readonly isLedger: boolean;
  readonly options: InspectOptions;
}

/** Shows a run, or what a ledger holds, in a page of this machine. */
export async function inspectWithPage(cli: Cli, { file, isLedger, options }: PageView): Promise<ExitCode> {
  const token = createToken();
  if (isLedger) return showLedger(cli, file, { ...options, token });
  const inspector = await openPage(cli, { ...options, token });
  const exitCode = await runFile(cli, file, { ...options, inspector });
  if (options.stay !== true) return exitCode;
  // The page comes back to the same place by itself, and goes on where it was.
  const { port } = new URL(await inspector.url);
  await showLedger(cli, options.ledger, { ...options, token, port: Number(port) });
  return exitCode;
}

async function showLedger(
  cli: Cli,
  ledger: string,
  choice: PageChoice & Omit<LedgerOptions, 'ledger'>,
): Promise<ExitCode> {
  const inspector = await openPage(cli, choice);
  const { ns = 'default', allowInsecure = false } = choice;
  return withRuntime({ ledger, ns, allowInsecure, inspect: inspector }, async () => {
    try {
      await inspector.url;
    } catch {
      // Told already.
      return EXIT.failed;
    }
    await cli.err.say('Ctrl-C ends.');
    // A page keeps no process alive; whoever called for it wants to look at it.
    const alive = setInterval(() => undefined, 60_000);
    await once(process, 'SIGINT');
    clearInterval(alive);
    return EXIT.completed;
  });
}
