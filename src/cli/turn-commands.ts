import type { Command } from 'commander';
import type { RecoveryReport } from '../ledger/recovery.ts';
import { count } from './amounts.ts';
import type { Cli } from './cli.ts';
import { jsonText } from './json-text.ts';
import { addLedgerOptions, type LedgerOptions, ledgerHint, withRuntime } from './ledger-option.ts';
import { type Line, span, textLine } from './line.ts';

interface ReasonOptions extends LedgerOptions {
  readonly reason?: string;
}

const STEER_EXAMPLES = `
Examples:
  $ swarmwright steer s-43myth8nbj "Leave the tests alone"

Works from any terminal on the same ledger while a turn of the session is at work. The text is in the next
request of the model, after the results of the calls that run now.`;

const CANCEL_EXAMPLES = `
Examples:
  $ swarmwright cancel s-43myth8nbj --reason "wrong branch"

Works from any terminal on the same ledger, and ends once the turn is told: by then it may still be ending. Streams
and tools are aborted; what was said so far is kept. A turn of workers that sleeps is ended by the next that is free.
A turn that no process is at work on is given up with "swarmwright abandon".`;

const PAUSE_EXAMPLES = `
Examples:
  $ swarmwright pause s-43myth8nbj

Works from any terminal on the same ledger while a turn of the session is at work. Its step and the calls of it
finish, then the turn stands open until "swarmwright resume". A turn that ends with that step ends. A graph has no
steps and is not paused; a child pauses with the run it belongs to.`;

const ABANDON_EXAMPLES = `
Examples:
  $ swarmwright abandon s-43myth8nbj

For a turn that nobody will resume: every open call gets a result that says so, and the session takes a new
input again. Nothing is run.`;

const RECOVER_EXAMPLES = `
Examples:
  $ swarmwright recover
  $ swarmwright recover s-43myth8nbj --json

Tells what processes that ended left open, and runs nothing.`;

/** Adds `steer`, `cancel`, `pause`, `abandon` and `recover`. */
export function addTurnCommands(program: Command, cli: Cli): void {
  addTellingCommands(program, cli);
  addLeftCommands(program, cli);
}

/** Those for a turn at work. */
function addTellingCommands(program: Command, cli: Cli): void {
  addLedgerOptions(
    program
      .command('steer')
      .summary('give a turn at work a text')
      .description('Gives the turn that is at work in a session a text.')
      .argument('<session>', 'session')
      .argument('<text>', 'what to tell the model'),
  )
    .addHelpText('after', STEER_EXAMPLES)
    .action(async (session: string, text: string, options: LedgerOptions) => {
      await withRuntime(options, ({ runtime }) => runtime.sessions.steer(session, text));
      await cli.out.say(`accepted by ${session}`);
    });
  addLedgerOptions(
    program
      .command('cancel')
      .summary('stop a turn at work')
      .description('Stops the turn that is at work in a session.')
      .argument('<session>', 'session')
      .option('--reason <text>', 'why', 'cancelled from the command line'),
  )
    .addHelpText('after', CANCEL_EXAMPLES)
    .action(async (session: string, options: ReasonOptions) => {
      await withRuntime(options, ({ runtime }) => runtime.sessions.cancel(session, options.reason));
      await cli.out.say(`told to stop: ${session}`);
    });
  addLedgerOptions(
    program
      .command('pause')
      .summary('leave a turn at work open after its step')
      .description('Pauses the turn that is at work in a session once its step and the calls of it are done.')
      .argument('<session>', 'session'),
  )
    .addHelpText('after', PAUSE_EXAMPLES)
    .action(async (session: string, options: LedgerOptions) => {
      await withRuntime(options, ({ runtime }) => runtime.sessions.pause(session));
      await cli.out.say(`pauses after its step: ${session}`);
    });
}

/** Those for a turn that nobody is at work on. */
function addLeftCommands(program: Command, cli: Cli): void {
  addLedgerOptions(
    program
      .command('abandon')
      .summary('give up an open turn')
      .description('Closes the open turn of a session as interrupted.')
      .argument('<session>', 'session')
      .option('--reason <text>', 'why', 'abandoned from the command line'),
  )
    .addHelpText('after', ABANDON_EXAMPLES)
    .action(async (session: string, options: ReasonOptions) => {
      await withRuntime(options, ({ runtime }) => runtime.abandon(session, options.reason ?? 'abandoned'));
      await cli.out.say(`abandoned: ${session}`);
    });
  addLedgerOptions(
    program
      .command('recover')
      .summary('tell what a crash left open')
      .description('Tells which turns stand open, and what of them is certain.')
      .argument('[session]', 'only this session')
      .option('--json', 'one JSON object a line'),
  )
    .addHelpText('after', RECOVER_EXAMPLES)
    .action((session: string | undefined, options: LedgerOptions & { json?: boolean }) =>
      recover(cli, session, options),
    );
}

async function recover(
  cli: Cli,
  session: string | undefined,
  options: LedgerOptions & { readonly json?: boolean },
): Promise<void> {
  const reports = await withRuntime(options, ({ runtime }) => runtime.recover(session));
  if (options.json === true) {
    for (const report of reports) await cli.out.write(`${jsonText(report)}\n`);
    return;
  }
  const lines = reports.flatMap((report) => reportLines(report, ledgerHint(options)));
  await cli.out.lines(lines.length === 0 ? [textLine('no turn is open')] : lines);
}

/** A report as a person reads it. */
function reportLines(report: RecoveryReport, ledgerOption: string): readonly Line[] {
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
  const decision = report.indeterminate.length === 0 ? '' : ' --indeterminate retry|abandon';
  return [
    [
      span(sessionId, 'bold'),
      span(`  ${agent}`),
      span(`  ${state}`, owned ? 'good' : 'warn'),
      span(`  ${count(steps, 'step')}`, 'dim'),
    ],
    ...facts.map((fact) => textLine(`  ${fact}`)),
    // A turn at work needs nobody.
    ...(owned ? [] : [textLine(`  swarmwright resume FILE ${sessionId}${decision}${ledgerOption}`, 'dim')]),
  ];
}
