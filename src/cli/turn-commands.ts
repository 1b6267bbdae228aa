import type { Command } from 'commander';
import type { Cli } from './cli.ts';
import { addLedgerOptions, type LedgerOptions, withRuntime } from './ledger-option.ts';

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

/** Adds `steer`, `cancel`, `pause` and `abandon`. */
export function addTurnCommands(program: Command, cli: Cli): void {
  addTellingCommands(program, cli);
  addAbandonCommand(program, cli);
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

/** For a turn that nobody is at work on. */
function addAbandonCommand(program: Command, cli: Cli): void {
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
}
