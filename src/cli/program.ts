import { Command, CommanderError } from 'commander';
import { isSwarmError } from '../errors.ts';
import { addApprovalCommands } from './approval-commands.ts';
import { type Cli, createCli } from './cli.ts';
import { addCompletionCommand } from './completion-command.ts';
import { addEventsCommands } from './events-commands.ts';
import { EXIT } from './exit-code.ts';
import { addForkCommand } from './fork-command.ts';
import { addInspectCommand } from './inspect-command.ts';
import { shownLines, textLine } from './line.ts';
import { addMachinesCommand } from './machines-command.ts';
import { addNatsCommands } from './nats-commands.ts';
import { addRecoverCommand } from './recover-command.ts';
import { addResumeCommand } from './resume-command.ts';
import { addRunCommand } from './run-command.ts';
import { addSessionCommands } from './session-commands.ts';
import { addToolsCommands } from './tools-commands.ts';
import { addTurnCommands } from './turn-commands.ts';
import { addWorkerCommand } from './worker-command.ts';

const EXAMPLES = `
Examples:
  $ swarmwright run agent.ts --input "Review src/main.ts"
  $ swarmwright approvals ls
  $ swarmwright sessions ls
  $ swarmwright help run

Sessions are kept in the ledger: --ledger PLACE, else SWARMWRIGHT_LEDGER, else ./swarmwright.db. Commands in other
terminals work on a run when they use the same one. A place is a SQLite file, or a NATS server (nats://...) that has the
streams of "swarmwright nats init --ledger": then from any machine.`;

/** The command with all of its subcommands. */
function createProgram(cli: Cli, version: string): Command {
  const program = new Command('swarmwright')
    .description('Runs agents, and looks at and decides what they do.')
    .version(version)
    .addHelpText('after', EXAMPLES)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void writeHelp(cli.out, text),
      writeErr: (text) => void writeHelp(cli.err, text),
      getOutHelpWidth: () => cli.out.size().columns,
      getErrHelpWidth: () => cli.err.size().columns,
    });
  addRunCommand(program, cli);
  addResumeCommand(program, cli);
  addForkCommand(program, cli);
  addApprovalCommands(program, cli);
  addTurnCommands(program, cli);
  addRecoverCommand(program, cli);
  addSessionCommands(program, cli);
  addInspectCommand(program, cli);
  addMachinesCommand(program, cli);
  addToolsCommands(program, cli);
  addEventsCommands(program, cli);
  addNatsCommands(program, cli);
  addWorkerCommand(program, cli);
  addCompletionCommand(program, cli);
  return program;
}

/** Runs the command line of this process to its end, and leaves the process. */
export async function runProcess(version: string): Promise<void> {
  const cli = createCli();
  await runCommand(createProgram(cli, version), cli);
  cli.flushPrinted();
  // Modules of users may hold sockets and timers that would keep the process.
  process.exit(cli.exitCode);
}

async function runCommand(program: Command, cli: Cli): Promise<void> {
  try {
    await program.parseAsync();
  } catch (error) {
    if (error instanceof CommanderError) cli.exitCode = error.exitCode === 0 ? EXIT.completed : EXIT.usage;
    else {
      cli.exitCode = EXIT.failed;
      const words = isSwarmError(error)
        ? `error: ${error.message} (${error.code})`
        : error instanceof Error
          ? (error.stack ?? error.message)
          : String(error);
      await cli.err.lines(shownLines(words).map((text) => [{ text, style: 'plain' }]));
    }
  }
}

/** Help is ours; messages about a command line quote it. */
function writeHelp(writer: Cli['out'], text: string): Promise<void> {
  const lines = shownLines(text.replace(/\n$/, ''));
  return writer.lines(lines.map((line) => (line === '' ? textLine('') : [{ text: line, style: 'plain' }])));
}
