import { commandLine, quoteWord } from './shell-words.ts';

/** Where a run is found again, in the words of the commands that go on with it. */
export interface RunPlace {
  readonly sessionId: string;
  /** FILE as it was given. */
  readonly file: string;
  /** ` --ledger PLACE` where a command that follows needs it, else empty. */
  readonly ledgerOption: string;
  /** ` --pool NAME` where workers have the run, else empty. */
  readonly poolOption: string;
}

/** ` --pool NAME` where workers have a run, else empty. */
export function poolHint(pool: string | undefined): string {
  return pool === undefined ? '' : ` --pool ${quoteWord(pool)}`;
}

/** The command that goes on with a run. */
export function resumeCommand(place: RunPlace, decision: '' | 'retry' | 'abandon' = ''): string {
  const { file, sessionId, ledgerOption, poolOption } = place;
  const decided = decision === '' ? '' : ` --indeterminate ${decision}`;
  return commandLine('resume', [file, sessionId], `${ledgerOption}${poolOption}${decided}`);
}

/** The commands of which one goes on with a run, in which calls of unknown effect wait for a decision or do not. */
export function resumeCommands(place: RunPlace, isIndeterminate: boolean): readonly string[] {
  if (!isIndeterminate) return [resumeCommand(place)];
  return [resumeCommand(place, 'retry'), resumeCommand(place, 'abandon')];
}

/** What a command that decides has to name. */
interface Asked {
  readonly id: string;
  readonly kind: 'permission' | 'question';
}

/** The command that lets a call run. A question is without its answer: as it stands, the command is refused. */
export function approveCommand({ id, kind }: Asked, ledgerOption: string): string {
  return commandLine('approve', [id], `${ledgerOption}${kind === 'question' ? ' --answer' : ''}`);
}

/** The command that refuses a call. */
export function denyCommand({ id }: Pick<Asked, 'id'>, ledgerOption: string): string {
  return commandLine('deny', [id], ledgerOption);
}
