import { Argument, type Command } from 'commander';
import type { Cli } from './cli.ts';
import { type Candidate, completeWords } from './completion.ts';
import { COMPLETE_COMMAND, completionScript, SHELLS, type Shell } from './completion-script.ts';
import { addLedgerOptions, type LedgerOptions, withRuntime } from './ledger-option.ts';
import { shownText } from './line.ts';

const EXAMPLES = `
Examples:
  $ source <(swarmwright completion bash)                    # in ~/.bashrc
  $ source <(swarmwright completion zsh)                     # in ~/.zshrc, after compinit
  $ swarmwright completion fish > ~/.config/fish/completions/swarmwright.fish

Completes commands, options and files, and the ids of sessions and open requests of the ledger.`;

/** Adds `completion SHELL`, and the hidden command that its scripts ask. */
export function addCompletionCommand(program: Command, cli: Cli): void {
  program
    .command('completion')
    .summary('print a script for the shell')
    .description('Prints a script that makes a shell complete this command.')
    .addArgument(new Argument('<shell>', 'bash, zsh or fish').choices(SHELLS))
    .addHelpText('after', EXAMPLES)
    .action((shell: Shell) => cli.out.write(completionScript(shell)));
  addLedgerOptions(program.command(COMPLETE_COMMAND, { hidden: true }).argument('[words...]')).action(
    async (words: readonly string[], options: LedgerOptions) => {
      const found = await completeWords(program, words, (name) => idsOf(name, options));
      await cli.out.write(found.map(candidateText).join(''));
    },
  );
}

function candidateText({ word, about }: Candidate): string {
  // Tool names and questions are in it: a shell prints what it is given.
  return `${shownText(word)}\t${shownText(about)}\n`;
}

function idsOf(name: 'session' | 'id', options: LedgerOptions): Promise<readonly Candidate[]> {
  return withRuntime(options, async ({ runtime }) => {
    if (name === 'id') {
      const pending = await runtime.approvals.pending();
      return pending.map(({ id, toolName, input }) => ({
        word: id,
        about: `${toolName} ${JSON.stringify(input)}`,
      }));
    }
    const sessions = await runtime.sessions.list();
    return sessions.map(({ sessionId, agent }) => ({ word: sessionId, about: agent }));
  });
}
