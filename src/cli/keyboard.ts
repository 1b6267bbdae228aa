import { closeSync, openSync } from 'node:fs';
import { emitKeypressEvents, type Key } from 'node:readline';
import { isatty, ReadStream } from 'node:tty';

/** The keys of the person at the terminal, one by one and without echo. */
export interface Keyboard {
  /** Lets the terminal be as it was, and takes it again. */
  release(): void;
  take(): void;
  close(): void;
}

/**
 * Takes the keyboard: standard input, or where that is a pipe the terminal itself. Undefined where there is no
 * terminal. While it is taken, Ctrl-C is a key like others.
 */
export function openKeyboard(
  stdin: NodeJS.ReadStream,
  onKey: (text: string | undefined, key: Key) => void,
): Keyboard | undefined {
  const own = stdin.isTTY ? undefined : openTerminal();
  const input = stdin.isTTY ? stdin : own;
  if (input === undefined) return undefined;
  emitKeypressEvents(input);
  input.on('keypress', onKey);
  // A terminal that goes away sends SIGHUP, which is what is acted on.
  input.on('error', ignore);
  const take = () => {
    input.setRawMode(true);
    input.resume();
  };
  const release = () => {
    input.pause();
    input.setRawMode(false);
  };
  take();
  return {
    take,
    release,
    close() {
      input.off('keypress', onKey);
      release();
      own?.destroy();
      // Its last words may still come.
      if (own === undefined) input.off('error', ignore);
    },
  };
}

function ignore(): void {}

function openTerminal(): ReadStream | undefined {
  let file: number | undefined;
  try {
    file = openSync('/dev/tty', 'r');
    if (isatty(file)) return new ReadStream(file);
  } catch {
    // No terminal belongs to this process: it runs in the background or in a pipeline of a service.
  }
  if (file !== undefined) closeSync(file);
  return undefined;
}
