import type { Command } from 'commander';
import { tellBus } from './bus-option.ts';
import type { Cli } from './cli.ts';
import type { ExitCode } from './exit-code.ts';
import { indeterminateOption } from './indeterminate-option.ts';
import { addRunningOptions, placeOf, type RunningOptions, settingsOf } from './run-command.ts';
import { withStoredTarget } from './stored-target.ts';
import { watchRun } from './watch-run.ts';

interface ResumeOptions extends RunningOptions {
  readonly indeterminate: 'block' | 'retry' | 'abandon';
}

const EXAMPLES = `
Examples:
  $ swarmwright resume agent.ts s-43myth8nbj
  $ swarmwright resume agent.ts s-43myth8nbj --indeterminate abandon

Takes up the open turn of a session: one that paused for approval, or that a crash cut off. Workers of a pool do both by
themselves; there it is for a turn that was paused on request, and for a call of unknown effect.
Of several exports it takes the one whose session it is.
A call that had begun and has no result may or may not have had its effect. It is never run again by itself:
  block    leaves it, and the run pauses again (exit code 3)
  retry    runs it once more
  abandon  tells the model that its effect is unknown
Exit code: as that of run.`;

/** Adds `resume FILE SESSION`. */
export function addResumeCommand(program: Command, cli: Cli): void {
  const command = program
    .command('resume')
    .summary('go on with a paused or crashed turn')
    .description('Takes up the open turn of a session where it was left.')
    .argument('<file>', 'module that exports the agent')
    .argument('<session>', 'session with an open turn')
    .addOption(indeterminateOption());
  addRunningOptions(command)
    .addHelpText('after', EXAMPLES)
    .action(async (file: string, session: string, options: ResumeOptions) => {
      cli.exitCode = await resumeFile(cli, file, { ...options, session });
    });
}

async function resumeFile(
  cli: Cli,
  file: string,
  options: ResumeOptions & { readonly session: string },
): Promise<ExitCode> {
  return withStoredTarget(cli, file, options, async ({ runtime, target }) => {
    const run = runtime.resume(target, options.session, {
      ...settingsOf(options),
      indeterminate: () => options.indeterminate,
    });
    const place = placeOf(file, options.session, options);
    const exitCode = await watchRun({ cli, runtime, run, show: options, place });
    await tellBus(cli, runtime);
    return exitCode;
  });
}
