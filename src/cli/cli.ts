import { EXIT, type ExitCode } from './exit-code.ts';
import { type GuardedStream, guardOutput } from './foreign-output.ts';
import { createTextWriter, type TextWriter } from './text-writer.ts';

/** What every command works with. */
export interface Cli {
  readonly out: TextWriter;
  readonly err: TextWriter;
  readonly stdin: NodeJS.ReadStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** What the process ends with; a command that says nothing completed. */
  exitCode: ExitCode;
  /** Decides what becomes of lines that others print. Until it is called they go to standard error. */
  onPrinted(take: (line: string) => void): void;
  /** Hands out what was printed without a line end. */
  flushPrinted(): void;
}

/** Makes the surroundings of a command of this process, and takes its standard streams. */
export function createCli(): Cli {
  const { stdin, env } = process;
  const out = createTextWriter(process.stdout, env);
  const err = createTextWriter(process.stderr, env);
  let take: (line: string) => void = (line) => void err.say(line);
  // The overloads of `write` are one function that takes all of them.
  const streams = [process.stdout, process.stderr] as unknown as readonly GuardedStream[];
  const guard = guardOutput(streams, (line) => take(line));
  tellWarnings(err);
  return {
    out,
    err,
    stdin,
    env,
    cwd: process.cwd(),
    exitCode: EXIT.completed,
    onPrinted(next) {
      take = next;
    },
    flushPrinted: () => guard.flush(),
  };
}

/**
 * Node writes its warnings past every stream, into the middle of a live view. That SQLite or types are experimental
 * in an older Node is nothing a person at a terminal can act on.
 */
function tellWarnings(err: TextWriter): void {
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => {
    if (name !== 'ExperimentalWarning') void err.say(`${name}: ${message}`);
  });
}
