import { createInterface, type Key } from 'node:readline';
import { Readable, Writable } from 'node:stream';

/** What is being typed, and where in it. */
export interface EditedLine {
  readonly text: string;
  /** UTF-16 code units before the cursor. */
  readonly cursor: number;
}

/** One line being typed, with the keys of readline. It reads no stream and writes none. */
export interface LineEditor {
  readonly line: EditedLine;
  /** Takes a key; true when it was the one that ends the line. */
  press(text: string | undefined, key: Key): boolean;
  close(): void;
}

export function createLineEditor(initial: string): LineEditor {
  const reader = createInterface({
    input: new Readable({ read() {} }),
    // Readline draws as it edits; what is shown here is drawn by the frame.
    output: new Writable({ write: (_chunk, _encoding, done) => done() }),
    terminal: true,
    historySize: 0,
  });
  let ended: string | undefined;
  reader.on('line', (text) => {
    ended = text;
  });
  reader.write(initial);
  return {
    get line() {
      return ended === undefined
        ? { text: reader.line, cursor: reader.cursor }
        : { text: ended, cursor: ended.length };
    },
    press(text, key) {
      // These would end the reader or stop the process.
      if (key.ctrl === true && ['c', 'd', 'z', 'l'].includes(key.name ?? '')) return false;
      reader.write(text ?? '', key);
      return ended !== undefined;
    },
    close: () => reader.close(),
  };
}
