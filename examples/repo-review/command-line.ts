import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const USAGE = `Reviews the files of a folder and prints a short report.

Usage: npm start -- [FOLDER] [options]

  FOLDER          folder to review; default: this project
  --out FILE      write the report to a file too; you are asked before that
  --yes           do not ask
  --ledger FILE   where the session is kept; default: ./swarmwright.db
  --resume ID     go on with a session that was paused or killed; give the same FOLDER and --out
  --help

With OPENAI_BASE_URL and SWARMWRIGHT_MODEL (and OPENAI_API_KEY, where the endpoint wants one) a model reviews.
Without them a scripted stand-in does, on this machine.

Where there is a nats-server, one is started, and the line that follows the events is printed; SWARMWRIGHT_NATS names
another one to publish to.

Exit code: 0 completed, 1 failed, 2 usage, 3 paused, 130 cancelled.`;

/** What the user wants. */
export interface Wishes {
  readonly folder: string;
  readonly out?: string;
  readonly mustAsk: boolean;
  readonly ledger: string;
  readonly resume?: string;
}

export type CommandLine =
  | { readonly type: 'go'; readonly wishes: Wishes }
  | { readonly type: 'help'; readonly text: string }
  | { readonly type: 'refused'; readonly message: string };

/** Reads the arguments; `project` is the folder that is reviewed where none is named. */
export function readCommandLine(args: readonly string[], project: string): CommandLine {
  const parsed = parse(args);
  if (typeof parsed === 'string') return refuse(parsed);
  const { values, positionals } = parsed;
  if (values.help === true) return { type: 'help', text: USAGE };
  if (positionals.length > 1) return refuse(`one folder at a time, not ${positionals.length}`);
  const folder = resolve(positionals[0] ?? project);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    return refuse(`${folder} is no folder`);
  }
  const out = values.out === undefined ? undefined : resolve(values.out);
  if (out !== undefined && !existsSync(dirname(out))) return refuse(`there is no folder ${dirname(out)}`);
  return {
    type: 'go',
    wishes: {
      folder,
      ...(out === undefined ? {} : { out }),
      mustAsk: values.yes !== true,
      ledger: resolve(values.ledger ?? process.env['SWARMWRIGHT_LEDGER'] ?? 'swarmwright.db'),
      ...(values.resume === undefined ? {} : { resume: values.resume }),
    },
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        out: { type: 'string' },
        yes: { type: 'boolean' },
        ledger: { type: 'string' },
        resume: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function refuse(message: string): CommandLine {
  return { type: 'refused', message: `${message}\n\n${USAGE}` };
}
