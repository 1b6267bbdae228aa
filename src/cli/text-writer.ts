import type { WriteStream } from 'node:tty';
import { type Line, textLine } from './line.ts';
import { paintLine } from './paint.ts';

/** Columns and rows of a window. */
export interface WindowSize {
  readonly columns: number;
  readonly rows: number;
}

/** Where lines go: standard output or standard error. */
export interface TextWriter {
  /** True where a person looks at a terminal that can move its cursor. */
  readonly isTerminal: boolean;
  readonly hasColors: boolean;
  /** Whether lines that are on the screen wrap anew when it is made narrower, before this process hears of it. */
  readonly rewraps: boolean;
  /** Aborts when nobody reads any more. */
  readonly broken: AbortSignal;
  size(): WindowSize;
  /** Writes bytes of our own making as they are; resolves when the stream has taken them, read or not. */
  write(text: string): Promise<void>;
  /** Writes whole lines, painted where the stream takes colours. */
  lines(lines: readonly Line[]): Promise<void>;
  /** As {@link lines} for one line of one style. */
  say(text: string): Promise<void>;
}

type Stream = NodeJS.WriteStream & Partial<Pick<WriteStream, 'hasColors'>>;

/** Makes the writer of a stream. What others write to the stream later does not pass here. */
export function createTextWriter(
  stream: Stream,
  env: Readonly<Record<string, string | undefined>>,
): TextWriter {
  // Taken before `guardOutput` puts itself in its place.
  const write = stream.write.bind(stream);
  const broken = new AbortController();
  stream.on('error', () => broken.abort());
  const isTerminal = stream.isTTY === true && env['TERM'] !== 'dumb';
  const hasColors = isTerminal && stream.hasColors?.() === true;
  const writeText = (text: string) =>
    new Promise<void>((resolve) => {
      if (broken.signal.aborted) resolve();
      else write(text, () => resolve());
    });
  const writeLines = (lines: readonly Line[]) =>
    writeText(lines.map((line) => `${paintLine(line, hasColors)}\n`).join(''));
  return {
    isTerminal,
    hasColors,
    // xterm cuts such lines. tmux and screen tell of a new size late: by then they hold frames that were cut to it.
    rewraps: ['TMUX', 'STY', 'XTERM_VERSION'].every((name) => env[name] === undefined),
    broken: broken.signal,
    // Some pseudo-terminals say 0 until they are given a size.
    size: () => ({ columns: Math.max(8, stream.columns || 80), rows: Math.max(4, stream.rows || 24) }),
    write: writeText,
    lines: writeLines,
    say: (text) => writeLines([textLine(text)]),
  };
}
