import { type Command, Option } from 'commander';
import type { ForkRequest } from '../agent/fork-session.ts';
import type { Cli } from './cli.ts';
import type { ExitCode } from './exit-code.ts';
import { indeterminateOption } from './indeterminate-option.ts';
import { addRunningOptions, placeOf, type RunningOptions, settingsOf, tellUsage } from './run-command.ts';
import { withStoredTarget } from './stored-target.ts';
import { watchRun } from './watch-run.ts';
import { wholeNumber } from './whole-number.ts';

interface ForkCommandOptions extends RunningOptions {
  readonly at: number;
  readonly input?: string;
  readonly result?: string;
  readonly indeterminate: 'block' | 'retry' | 'abandon';
}

const EXAMPLES = `
Examples:
  $ swarmwright fork agent.ts s-43myth8nbj --at 12
  $ swarmwright fork agent.ts s-43myth8nbj --at 12 --result "The disk is full."
  $ swarmwright sessions show s-43myth8nbj --json | jq -c '{seq, type}'

Goes on from a point of a session in a new one. What was recorded up to there is taken over: nothing that was answered
is asked again, and no tool that was run is run again. The point is the number of a fact; one inside of a step counts
as the point before that step. The old session stays as it is.
Exit code: as that of run.`;

/** Adds `fork FILE SESSION --at SEQ`. */
export function addForkCommand(program: Command, cli: Cli): void {
  const command = program
    .command('fork')
    .summary('go on from an earlier point, in a new session')
    .description('Goes on from any point of a session in a new session.')
    .argument('<file>', 'module that exports the agent')
    .argument('<session>', 'session to go on from')
    .requiredOption('--at <seq>', 'number of the last fact that counts', wholeNumber(1))
    .addOption(new Option('-i, --input <text>', 'begin the turn with another input').conflicts('result'))
    .option('--result <text>', 'tell the model that the last call before the point returned this')
    .addOption(indeterminateOption());
  addRunningOptions(command)
    .addHelpText('after', EXAMPLES)
    .action(async (file: string, session: string, options: ForkCommandOptions) => {
      cli.exitCode = await forkFile(cli, file, { ...options, session });
    });
}

async function forkFile(
  cli: Cli,
  file: string,
  options: ForkCommandOptions & { readonly session: string },
): Promise<ExitCode> {
  const { isAgent } = await import('../agent/define-agent.ts');
  return withStoredTarget(cli, file, options, async ({ runtime, target }) => {
    if (!isAgent(target)) return tellUsage(cli, `${target.name} is no agent; only sessions of agents fork`);
    const run = runtime.fork(options.session, {
      ...settingsOf(options),
      agent: target,
      atSeq: options.at,
      ...editOf(options),
      indeterminate: () => options.indeterminate,
    });
    return watchRun({ cli, runtime, run, show: options, place: placeOf(file, run.sessionId, options) });
  });
}

function editOf({ input, result }: ForkCommandOptions): Pick<ForkRequest, 'edit'> {
  if (input !== undefined) return { edit: { input } };
  return result === undefined ? {} : { edit: { result } };
}
