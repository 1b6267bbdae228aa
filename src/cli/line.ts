import stringWidth from 'string-width';
import { cutChars, stripControl } from '../tools/safe-text.ts';

declare const shown: unique symbol;

/** One line of text that a terminal can only show. {@link shownText} is the one way to make it. */
export type ShownText = string & { readonly [shown]: true };

/** How a piece of a line looks. Colours are decided where it is painted. */
export type Style = 'plain' | 'dim' | 'bold' | 'good' | 'bad' | 'warn' | 'accent' | 'inverse';

export interface Span {
  readonly text: ShownText;
  readonly style: Style;
}

/** One line of the terminal, before it is known how wide that is. */
export type Line = readonly Span[];

/** Characters of a text that one line looks at; a terminal is never this wide. */
const MAX_LINE_CHARS = 4_096;

/**
 * The one place where text of models, tools, files and people meets the terminal: no escape sequence, control,
 * bidi or invisible character passes, and what remains is one line.
 */
export function shownText(text: string): ShownText {
  const line = stripControl(cutChars(text, MAX_LINE_CHARS)).replace(/[\n\t]+/g, ' ');
  // Nothing is left in it that a terminal would act on.
  return line as ShownText;
}

/** As {@link shownText}, for a text of any length whose lines are kept. Tabs become two spaces. */
export function shownLines(text: string): readonly ShownText[] {
  const clean = stripControl(text).replaceAll('\t', '  ');
  return clean.split('\n') as string[] as ShownText[];
}

export function span(text: string, style: Style = 'plain'): Span {
  return { text: shownText(text), style };
}

/** A line of one span. */
export function textLine(text: string, style: Style = 'plain'): Line {
  return [span(text, style)];
}

/** Columns a line takes. */
export function lineWidth(line: Line): number {
  return line.reduce((sum, { text }) => sum + stringWidth(text), 0);
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** `line`, or as much of it as `columns` hold with an ellipsis at its end. Wide characters are never halved. */
export function fitLine(line: Line, columns: number): Line {
  if (lineWidth(line) <= columns) return line;
  const kept: Span[] = [];
  let left = Math.max(0, columns - 1);
  for (const { text, style } of line) {
    const part = headOf(text, left);
    kept.push({ text: part, style });
    left -= stringWidth(part);
    if (part.length < text.length) break;
  }
  return columns < 1 ? [] : [...kept, span('…', 'dim')];
}

function headOf(text: ShownText, columns: number): ShownText {
  let taken = '';
  let left = columns;
  for (const { segment, width } of cellsOf(text)) {
    left -= width;
    if (left < 0) break;
    taken += segment;
  }
  // A part of shown text is shown text.
  return taken as ShownText;
}

/** What a reader takes for one character, with the columns it takes. */
export function* cellsOf(
  text: ShownText,
): Generator<{ readonly segment: string; readonly width: number }, void> {
  for (const { segment } of graphemes.segment(text)) yield { segment, width: stringWidth(segment) };
}

/** The lines that a text takes in `columns`, at least one. Words are broken only where they must. */
export function wrapText(text: string, columns: number, style: Style = 'plain'): readonly Line[] {
  return shownLines(text)
    .flatMap((line) => wrapLine(line, Math.max(2, columns)))
    .map((line) => [{ text: line, style }]);
}

/** In one pass, whatever the script: a text without spaces must not cost more than one with them. */
function wrapLine(line: ShownText, columns: number): readonly ShownText[] {
  const lines: string[] = [];
  let open = '';
  let width = 0;
  // What stands before the last space of the open line, and its width.
  let words = { length: 0, width: 0 };
  for (const { segment, width: own } of cellsOf(line)) {
    // Twice where a word that was moved down has no room beside it either.
    while (width > 0 && width + own > columns) {
      const at = words.length > 0 && segment !== ' ' ? words : { length: open.length, width };
      lines.push(open.slice(0, at.length));
      open = open.slice(at.length);
      width -= at.width;
      words = { length: 0, width: 0 };
    }
    // A space where a line ends is its end.
    if (segment === ' ' && width === 0 && lines.length > 0) continue;
    open += segment;
    width += own;
    if (segment === ' ') words = { length: open.length, width };
  }
  // Parts of shown text are shown text.
  return [...lines, open] as string[] as ShownText[];
}

/** `line` moved to the right. */
export function indentLine(line: Line, prefix: string, style: Style = 'dim'): Line {
  return [{ text: prefix as ShownText, style }, ...line];
}

/** The text of a line without its styles. */
export function plainText(line: Line): string {
  return line.map(({ text }) => text).join('');
}
