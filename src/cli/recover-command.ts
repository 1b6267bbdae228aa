import type { Command } from 'commander';
import type { RecoveryReport } from '../ledger/recovery.ts';
import { toldOfSession } from '../ledger/run-standing.ts';
import type { Runtime } from '../runtime.ts';
import { count } from './amounts.ts';
import type { Cli } from './cli.ts';
import { jsonText } from './json-text.ts';
import { addLedgerOptions, type LedgerOptions, ledgerHint, withRuntime } from './ledger-option.ts';
import { type Line, span, textLine } from './line.ts';
import { poolHint, resumeCommands } from './next-commands.ts';

interface RecoverOptions extends LedgerOptions {
  readonly json?: boolean;
}

const RECOVER_EXAMPLES = `
Examples:
  $ swarmwright recover
  $ swarmwright recover s-43myth8nbj --json

Tells what processes that ended left open, and runs nothing.`;

/** Adds `recover`. */
export function addRecoverCommand(program: Command, cli: Cli): void {
  addLedgerOptions(
    program
      .command('recover')
      .summary('tell what a crash left open')
      .description('Tells which turns stand open, and what of them is certain.')
      .argument('[session]', 'only this session')
      .option('--json', 'one JSON object a line'),
  )
    .addHelpText('after', RECOVER_EXAMPLES)
    .action((session: string | undefined, options: RecoverOptions) => recover(cli, session, options));
}

async function recover(cli: Cli, session: string | undefined, options: RecoverOptions): Promise<void> {
  const opened = await withRuntime(options, ({ runtime }) => openRuns(runtime, session));
  if (options.json === true) {
    for (const { report } of opened) await cli.out.write(`${jsonText(report)}\n`);
    return;
  }
  const lines = opened.flatMap((one) => reportLines(one, ledgerHint(options)));
  await cli.out.lines(lines.length === 0 ? [textLine('no turn is open')] : lines);
}

/** A session with an open turn, and how the run goes on that it belongs to. */
interface OpenRun {
  readonly report: RecoveryReport;
  /** The session that is resumed: alone, a child is not. */
  readonly root: string;
  /** Calls of unknown effect are in this session, or in another one of the run. */
  readonly isIndeterminate: boolean;
  /** Whose workers go on with it. */
  readonly pool: string | undefined;
}

async function openRuns(runtime: Runtime, session: string | undefined): Promise<readonly OpenRun[]> {
  const reports = await runtime.recover(session);
  const sessions = await runtime.sessions.list();
  const roots = new Map(sessions.map(({ sessionId, rootId }) => [sessionId, rootId]));
  const rootOf = ({ sessionId }: RecoveryReport) => roots.get(sessionId) ?? sessionId;
  return Promise.all(
    reports.map(async (report): Promise<OpenRun> => {
      const root = rootOf(report);
      const isIndeterminate = reports.some((one) => rootOf(one) === root && one.indeterminate.length > 0);
      const told = report.paused ? toldOfSession(await runtime.sessions.read(root)) : undefined;
      return { report, root, isIndeterminate, pool: told?.data.pool };
    }),
  );
}

/** A report as a person reads it. */
function reportLines(run: OpenRun, ledgerOption: string): readonly Line[] {
  const { report } = run;
  const { sessionId, agent, steps, owned, paused, unanswered, steering } = report;
  const state = owned ? 'at work' : paused ? 'paused' : 'cut off';
  const facts = [
    ...(unanswered ? ['a request to the model has no recorded answer; it may have been billed'] : []),
    ...report.indeterminate.map(
      ({ toolName }) => `${toolName}: began, and may or may not have had its effect`,
    ),
    ...report.notDispatched.map(({ toolName }) => `${toolName}: was called and has not run`),
    ...report.parked.map(({ toolName, requestId }) => `${toolName}: waits for approval ${requestId}`),
    ...(steering === 0 ? [] : [`${count(steering, 'steering text')} not yet in a request`]),
  ];
  return [
    [
      span(sessionId, 'bold'),
      span(`  ${agent}`),
      span(`  ${state}`, owned ? 'good' : 'warn'),
      span(`  ${count(steps, 'step')}`, 'dim'),
    ],
    ...facts.map((fact) => textLine(`  ${fact}`)),
    // A turn at work needs nobody.
    ...(owned ? [] : nextLines(run, ledgerOption)),
  ];
}

function nextLines(run: OpenRun, ledgerOption: string): readonly Line[] {
  const { report, root, isIndeterminate, pool } = run;
  if (root !== report.sessionId) return [textLine(`  goes on with ${root}`, 'dim')];
  const place = { file: 'FILE', sessionId: root, ledgerOption, poolOption: poolHint(pool) };
  return resumeCommands(place, isIndeterminate).map((command) => textLine(`  ${command}`, 'dim'));
}
