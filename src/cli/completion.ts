import type { Argument, Command, Option } from 'commander';
import { FILES } from './completion-script.ts';

/** A word that may come next, and what it is. */
export interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** Looks up ids for arguments of that name. Fails where there is no ledger; nothing is then offered. */
export type IdSource = (name: 'session' | 'id') => Promise<readonly Candidate[]>;

/** What may stand in place of the last of `words`, which may be empty or begun. */
export async function completeWords(
  program: Command,
  words: readonly string[],
  ids: IdSource,
): Promise<readonly Candidate[]> {
  const begun = words.at(-1) ?? '';
  const { command, given, pending } = walk(program, words.slice(0, -1));
  const candidates = await candidatesFor({ command, given, pending, begun, ids });
  return candidates.filter(({ word }) => word === FILES || word.startsWith(begun));
}

interface Place {
  readonly command: Command;
  /** Arguments of the command that stand before. */
  readonly given: number;
  /** An option that waits for its value. */
  readonly pending: Option | undefined;
}

/** Where one is after the words typed so far. */
function walk(program: Command, words: readonly string[]): Place {
  let command = program;
  let given = 0;
  let pending: Option | undefined;
  for (const word of words) {
    if (pending !== undefined) pending = undefined;
    else if (word.startsWith('-')) pending = valueOption(command, word);
    else {
      const child = command.commands.find((one) => one.name() === word);
      if (child === undefined) given += 1;
      else {
        command = child;
        given = 0;
      }
    }
  }
  return { command, given, pending };
}

function valueOption(command: Command, word: string): Option | undefined {
  if (word.includes('=')) return undefined;
  return command.options.find((option) => option.required && (option.long === word || option.short === word));
}

async function candidatesFor(
  place: Place & { readonly begun: string; readonly ids: IdSource },
): Promise<readonly Candidate[]> {
  const { command, given, pending, begun, ids } = place;
  if (pending !== undefined) return valuesOf(pending, ids);
  if (begun.startsWith('-')) return optionsOf(command);
  const children = command.createHelp().visibleCommands(command);
  const argument = command.registeredArguments[given];
  return [
    ...(given === 0 ? children.map((child) => ({ word: child.name(), about: aboutOf(child) })) : []),
    ...(argument === undefined ? [] : await valuesOf(argument, ids)),
  ];
}

function aboutOf(command: Command): string {
  return command.summary() === '' ? command.description() : command.summary();
}

function optionsOf(command: Command): readonly Candidate[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map((option) => ({ word: option.long ?? option.flags, about: option.description }));
}

/** Options that take a file. */
const FILE_OPTIONS: ReadonlySet<string> = new Set(['--ledger', '--file']);

async function valuesOf(taker: Argument | Option, ids: IdSource): Promise<readonly Candidate[]> {
  const { argChoices } = taker;
  if (argChoices !== undefined) return argChoices.map((word) => ({ word, about: '' }));
  const name = 'long' in taker ? taker.long : taker.name();
  if (name === 'file' || (name !== undefined && FILE_OPTIONS.has(name))) return [{ word: FILES, about: '' }];
  if (name === 'session' || name === '--session') return ids('session').catch(() => []);
  return name === 'id' ? ids('id').catch(() => []) : [];
}
