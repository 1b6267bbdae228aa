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
const ERASE_BELOW = `${ESC}J`;

/** What has to be written to leave a terminal as it was found. */
export const RESTORE_TERMINAL = `${END_FRAME}${WRAP}${SHOW_CURSOR}`;

/** The bottom of the terminal, drawn again and again in place. */
export class LiveRegion {
  readonly #writer: TextWriter;
  #drawn: Frame = { lines: [], cursor: undefined };
  /** Rows from the top of what is drawn to where the cursor stands. */
  #cursorRow = 0;
  #shown = '';

  constructor(writer: TextWriter) {
    this.#writer = writer;
  }

  /** Draws a frame in the place of the last one. Its lines must fit the window. */
  async draw(frame: Frame): Promise<void> {
    const body = this.#body(frame);
    const { columns, rows } = this.#writer.size();
    const shown = `${columns}x${rows}${body}`;
    if (shown === this.#shown) return;
    const text = `${BEGIN_FRAME}${HIDE_CURSOR}${NO_WRAP}${this.#eraser()}${body}${END_FRAME}`;
    this.#keep(frame);
    this.#shown = shown;
    await this.#writer.write(text);
  }

  /** Writes lines above the region that stay, as wide as they are. The region itself is gone until drawn again. */
  async print(lines: readonly Line[]): Promise<void> {
    const above = lines.map((line) => `${this.#paint(line)}\n`).join('');
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
    this.#keep({ lines: [], cursor: undefined });
    this.#shown = '';
  }

  #keep(frame: Frame): void {
    this.#drawn = frame;
    this.#cursorRow = frame.cursor?.row ?? Math.max(0, frame.lines.length - 1);
  }

  #body({ lines, cursor }: Frame): string {
    const text = lines.map((line) => this.#paint(line)).join('\r\n');
    if (cursor === undefined) return text;
    const up = lines.length - 1 - cursor.row;
    return `${text}\r${up > 0 ? `${ESC}${up}A` : ''}${cursor.column > 0 ? `${ESC}${cursor.column}C` : ''}${SHOW_CURSOR}`;
  }

  #eraser(): string {
    const { columns, rows } = this.#writer.size();
    // In a window made narrower since, what was drawn may take more rows: terminals wrap it anew.
    const above = this.#drawn.lines
      .slice(0, this.#cursorRow)
      .reduce((sum, line) => sum + Math.max(1, Math.ceil(lineWidth(line) / columns)), 0);
    const up = Math.min(above, rows - 1);
    return `\r${up > 0 ? `${ESC}${up}A` : ''}${ERASE_BELOW}`;
  }

  #paint(line: Line): string {
    return paintLine(line, this.#writer.hasColors);
  }
}
