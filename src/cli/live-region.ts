import type { Frame } from './dialog-lines.ts';
import { type Line, lineWidth } from './line.ts';
import { paintLine } from './paint.ts';
import type { TextWriter } from './text-writer.ts';

const ESC = '\u001B[';
const HIDE_CURSOR = `${ESC}?25l`;
const SHOW_CURSOR = `${ESC}?25h`;
/** A line that is wider than it was counted is cut by the terminal instead of pushing the others down. */
const NO_WRAP = `${ESC}?7l`;
const WRAP = `${ESC}?7h`;
/** The terminal shows all between the two at once; those that do not know them ignore them. */
const BEGIN_FRAME = `${ESC}?2026h`;
const END_FRAME = `${ESC}?2026l`;
const ERASE_ROW = `${ESC}2K`;
const ERASE_BELOW = `${ESC}J`;

/** What has to be written to leave a terminal as it was found. */
export const RESTORE_TERMINAL = `${END_FRAME}${WRAP}${SHOW_CURSOR}`;

/** The bottom of the terminal, drawn again and again in place. */
export class LiveRegion {
  readonly #writer: TextWriter;
  #drawn: Frame = { lines: [], cursor: undefined };
  /** Size and text of what is on the screen; empty when nothing is. */
  #shown = '';

  constructor(writer: TextWriter) {
    this.#writer = writer;
  }

  /** Draws a frame in the place of the last one. Its lines must fit the window. */
  async draw(frame: Frame): Promise<void> {
    const { columns, rows } = this.#writer.size();
    // Row by row: some terminals keep a copy of a screen that is erased as a whole.
    const body = frame.lines.map((line) => `${ERASE_ROW}${this.#paint(line)}`).join('\r\n');
    const shown = `${columns}x${rows}${JSON.stringify(frame.cursor)}${body}`;
    if (shown === this.#shown) return;
    const { above, total } = this.#rowsDrawn();
    const rest = total > frame.lines.length ? `\r\n${ERASE_BELOW}${up(1)}` : '';
    const text = `${BEGIN_FRAME}${HIDE_CURSOR}${NO_WRAP}\r${up(above)}${body}${rest}${placeCursor(frame)}${END_FRAME}`;
    this.#drawn = frame;
    this.#shown = shown;
    await this.#writer.write(text);
  }

  /** Writes lines above the region that stay, as wide as they are. The region itself is gone until drawn again. */
  async print(lines: readonly Line[]): Promise<void> {
    const above = lines.map((line) => `${this.#paint(line)}\r\n`).join('');
    const text = `${BEGIN_FRAME}${this.#eraser()}${WRAP}${above}${END_FRAME}`;
    this.forget();
    await this.#writer.write(text);
  }

  /** Erases the region and gives the terminal back as it was. */
  async end(): Promise<void> {
    const text = `${this.#eraser()}${RESTORE_TERMINAL}`;
    this.forget();
    await this.#writer.write(text);
  }

  /** Leaves what is drawn where it is: the next frame begins on the line of the cursor. */
  forget(): void {
    this.#drawn = { lines: [], cursor: undefined };
    this.#shown = '';
  }

  /** Erases every row that is drawn and stands on the first one. */
  #eraser(): string {
    const { above, total } = this.#rowsDrawn();
    const rows = Array.from({ length: Math.max(1, total) }, () => ERASE_ROW).join('\r\n');
    return `\r${up(above)}${rows}\r${up(total - 1)}`;
  }

  /** Rows of what is drawn, all and above the cursor, in a window that may have been made narrower since. */
  #rowsDrawn(): { readonly above: number; readonly total: number } {
    const { lines, cursor } = this.#drawn;
    const { columns, rows } = this.#writer.size();
    const rowsOf = (width: number) => (this.#writer.rewraps ? Math.max(1, Math.ceil(width / columns)) : 1);
    const sum = (some: readonly Line[]) => some.reduce((all, line) => all + rowsOf(lineWidth(line)), 0);
    const cursorRow = cursor?.row ?? Math.max(0, lines.length - 1);
    const above = sum(lines.slice(0, cursorRow)) + rowsOf(cursor?.column ?? 0) - 1;
    // What has left the window at its top cannot be reached.
    return { above: Math.min(above, rows - 1), total: Math.min(sum(lines), rows) };
  }

  #paint(line: Line): string {
    return paintLine(line, this.#writer.hasColors);
  }
}

/** Where the cursor waits: where somebody types, else at the start of the last line. */
function placeCursor({ lines, cursor }: Frame): string {
  if (cursor === undefined) return '\r';
  const right = cursor.column > 0 ? `${ESC}${cursor.column}C` : '';
  return `\r${up(lines.length - 1 - cursor.row)}${right}${SHOW_CURSOR}`;
}

function up(rows: number): string {
  return rows > 0 ? `${ESC}${rows}A` : '';
}
