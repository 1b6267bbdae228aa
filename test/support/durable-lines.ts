import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';

/** What the world keeps whatever becomes of a process: one line each, flushed before anything follows it. */
export interface DurableLines<L> {
  note(line: L): void;
  read(): readonly L[];
}

/** Lines in a file that any number of processes append to. */
export function openLines<L>(path: string): DurableLines<L> {
  return {
    note(line) {
      const file = openSync(path, 'a');
      writeSync(file, `${JSON.stringify(line)}\n`);
      fsyncSync(file);
      closeSync(file);
    },
    read() {
      if (!existsSync(path)) return [];
      const lines = readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '');
      // Only `note` writes into the file.
      return lines.map((line) => JSON.parse(line) as L);
    },
  };
}
