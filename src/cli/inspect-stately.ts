import { once } from 'node:events';
import type { StatelyInspector } from '../inspect/stately.ts';
import type { Cli } from './cli.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import type { InspectOptions } from './inspect-command.ts';
import { withRuntime } from './ledger-option.ts';
import { runFile } from './run-command.ts';

const DEFAULT_PORT = 8080;

/** What is to be shown. */
export interface StatelyView {
  readonly file: string;
  readonly isLedger: boolean;
  readonly options: InspectOptions;
}

/** Starts the official relay in this process and shows a run or a ledger through it. */
export async function inspectWithStately(cli: Cli, view: StatelyView): Promise<ExitCode> {
  const { file, isLedger, options } = view;
  const port = options.port ?? DEFAULT_PORT;
  // Loaded first: it says in words what is missing where the package is.
  const { stately } = await import('../inspect/stately.ts');
  const { startStatelyRelay } = await import('../inspect/stately-relay.ts');
  const inspector = stately({ url: `ws://localhost:${port}` });
  await startStatelyRelay(port, options.open);
  await cli.err.say(`The Stately inspector shows it at http://localhost:${port}`);
  const exitCode = isLedger
    ? await showLedger(cli, view, inspector)
    : await runFile(cli, file, { ...options, inspector });
  if (isLedger || options.stay === true) {
    await cli.err.say('Ctrl-C ends.');
    await once(process, 'SIGINT');
  }
  await inspector.close();
  return exitCode;
}

async function showLedger(cli: Cli, { file, options }: StatelyView, inspector: StatelyInspector) {
  const { replayLedger } = await import('../inspect/replay-ledger.ts');
  const { ns = 'default', allowInsecure = false } = options;
  const shown = await withRuntime({ ledger: file, ns, allowInsecure }, ({ ledger }) =>
    replayLedger(ledger, inspector, options.session === undefined ? {} : { root: options.session }),
  );
  const { sent, dropped } = inspector.stats();
  const left = dropped === 0 ? '' : `, ${dropped} messages were dropped`;
  await cli.err.say(`${shown} records shown in ${sent} messages${left}.`);
  return EXIT.completed;
}
