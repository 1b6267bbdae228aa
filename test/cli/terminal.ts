import { execFile, execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { COMMAND, type Workplace } from './cli-process.ts';

const execute = promisify(execFile);

/** Why tests in a terminal cannot be run here; undefined where they can. Where CI is set they fail instead. */
export const noTerminal: string | undefined = findTmux();

function findTmux(): string | undefined {
  try {
    execFileSync('tmux', ['-V']);
    return undefined;
  } catch {
    return process.env['CI'] === undefined ? 'tmux is not installed' : undefined;
  }
}

/** A command in a window of a terminal emulator of its own. */
export interface Terminal extends AsyncDisposable {
  /** What the window shows once `pattern` is in it. Fails with what it shows after 45 seconds. */
  shows(pattern: RegExp): Promise<string>;
  /** As {@link shows}, for the picture as a whole. */
  looks(isRight: (screen: string) => boolean): Promise<string>;
  /** The window now, with what has scrolled out of it. */
  history(): Promise<string>;
  /** All that was written to the window, byte by byte, once `EXIT=` is in it. */
  written(): Promise<string>;
  /** The window now with the sequences of its colours and links. */
  styled(): Promise<string>;
  /** Presses keys, by the names tmux gives them. */
  press(...keys: readonly string[]): Promise<void>;
  /** Types a text as it is. */
  type(text: string): Promise<void>;
  resize(columns: number, rows: number): Promise<void>;
  /** A variable of the window, such as `cursor_flag`. */
  ask(variable: string): Promise<string>;
  /** The clipboard of the terminal; undefined when nothing was copied. */
  clipboard(): Promise<string | undefined>;
}

export interface TerminalOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Shell that comes before the command, such as a pipe into it, and after all else. */
  readonly before?: string;
  readonly after?: string;
}

/**
 * Runs a command in a window. When it ends, `EXIT=` with its code and the settings of the terminal that matter
 * (`icanon`, `echo`) are shown below what it left.
 */
export async function openTerminal(
  place: Workplace,
  args: readonly string[],
  options: TerminalOptions = {},
): Promise<Terminal> {
  const { columns = 80, rows = 24, before = '', after = '' } = options;
  const socket = `swarmwright-${randomUUID()}`;
  const tmux = async (...words: readonly string[]) =>
    (await execute('tmux', ['-L', socket, '-f', '/dev/null', ...words], { encoding: 'utf8' })).stdout;
  const command = [...COMMAND, ...args].map(quote).join(' ');
  const settings = `stty -a | grep -oE -- '-?(icanon|echo)\\b' | tr '\\n' ' '`;
  const shell = `echo ABOVE; ${before}${command}; echo EXIT=$?; ${settings}; echo SETTINGS; ${after} exec sleep 1000`;
  const env = { ...place.env, ...options.env };
  const given = Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  const size = ['-x', String(columns), '-y', String(rows)];
  const log = join(place.folder, `${socket}.log`);
  await tmux(
    '-u',
    'set-option',
    '-g',
    'set-clipboard',
    'on',
    ';',
    'new-session',
    '-d',
    ...size,
    '-c',
    place.folder,
    ...given,
    shell,
    ';',
    'pipe-pane',
    `cat > ${quote(log)}`,
  );
  const screen = async () => (await tmux('capture-pane', '-p')).trimEnd();
  const poll = async (look: () => Promise<string>, isRight: (text: string) => boolean) => {
    const deadline = performance.now() + 45_000;
    for (;;) {
      const text = await look();
      if (isRight(text)) return text;
      if (performance.now() > deadline) throw new Error(`the window never looked right:\n${text}`);
      await pause(50);
    }
  };
  const looks = (isRight: (screen: string) => boolean) => poll(screen, isRight);
  return {
    looks,
    shows: (pattern) => looks((text) => pattern.test(text)),
    history: async () => (await tmux('capture-pane', '-p', '-S', '-')).trimEnd(),
    written: () =>
      poll(
        () => readFile(log, 'utf8'),
        (text) => text.includes('EXIT='),
      ),
    styled: () => tmux('capture-pane', '-p', '-e'),
    press: async (...keys) => void (await tmux('send-keys', ...keys)),
    type: async (text) => void (await tmux('send-keys', '-l', text)),
    resize: async (width, height) =>
      void (await tmux('resize-window', '-x', String(width), '-y', String(height))),
    ask: async (variable) => (await tmux('display-message', '-p', `#{${variable}}`)).trimEnd(),
    clipboard: () => tmux('show-buffer').catch(() => undefined),
    async [Symbol.asyncDispose]() {
      await tmux('kill-server').catch(() => undefined);
    },
  };
}

function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
