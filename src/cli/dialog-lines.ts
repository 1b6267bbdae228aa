import { type DialogMode, type DialogState, optionsOf } from './approval-dialog.ts';
import { withFacts } from './fact-line.ts';
import { cellsOf, fitLine, indentLine, type Line, shownText, span, textLine, wrapText } from './line.ts';
import type { EditedLine } from './line-editor.ts';

/** Lines of a frame, and where in them the cursor stands. */
export interface Frame {
  readonly lines: readonly Line[];
  readonly cursor: { readonly row: number; readonly column: number } | undefined;
}

export interface DialogPlace {
  readonly columns: number;
  readonly rows: number;
  /** How many requests are open, this one included. */
  readonly open: number;
}

const INDENT = '  ';

/** A dialog in at most `rows` lines: whose request, what it would do, what can be pressed. */
export function dialogFrame(state: DialogState, { columns, rows, open }: DialogPlace): Frame {
  const title = titleOf(state, columns, open);
  const complaint =
    state.complaint === undefined ? [] : wrapText(state.complaint, columns - 2, 'bad').slice(0, 3);
  const typed = state.typed === undefined ? undefined : typedLines(state.typed, columns - 2);
  const keys = keyLines(state, columns - 2);
  const below = [...(typed?.lines ?? []), ...complaint, ...keys];
  const about = aboutLines(state, columns - 2, Math.max(0, rows - 1 - below.length));
  const lines = [title, ...[...about, ...below].map((line) => indentLine(line, INDENT))].slice(0, rows);
  if (typed === undefined) return { lines, cursor: undefined };
  const cursor = { row: 1 + about.length + typed.row, column: INDENT.length + typed.column };
  return { lines, cursor: cursor.row < lines.length ? cursor : undefined };
}

function titleOf({ request }: DialogState, columns: number, open: number): Line {
  const who = request.agentPath.join('/');
  const head = [
    span('? ', 'warn'),
    request.kind === 'question' ? span('Question', 'bold') : span(request.toolName, 'bold'),
  ];
  const facts = [
    ...(open > 1 ? [span(`1 of ${open}`, 'warn')] : []),
    ...(who === '' ? [] : [span(`asked by ${who}`, 'dim')]),
  ];
  return withFacts(fitLine(head, columns), facts, columns);
}

function aboutLines({ request, mode }: DialogState, columns: number, rows: number): readonly Line[] {
  // The line that is being typed shows the input.
  if (mode === 'edit') return [];
  if (request.kind !== 'question') return cut(wrapText(JSON.stringify(request.input), columns), rows);
  const options = optionsOf(request.input).map((option, index) => `${index + 1} ${option}`);
  const question = wrapText(request.question ?? '', columns);
  return cut([...question, ...options.flatMap((option) => wrapText(option, columns, 'accent'))], rows);
}

function cut(lines: readonly Line[], rows: number): readonly Line[] {
  if (lines.length <= rows) return lines;
  if (rows <= 0) return [];
  return [...lines.slice(0, rows - 1), textLine(`… ${lines.length - rows + 1} more lines`, 'dim')];
}

const KEYS: Readonly<Record<DialogMode, readonly (readonly [string, string])[]>> = {
  choose: [
    ['y', 'yes'],
    ['n', 'no'],
    ['e', 'edit'],
    ['t', 'yes for this turn'],
    ['s', 'yes for this session'],
  ],
  edit: [
    ['Enter', 'run with this'],
    ['Esc', 'back'],
  ],
  deny: [
    ['Enter', 'deny, with what you type as reason'],
    ['Esc', 'back'],
  ],
  answer: [
    ['Enter', 'answer'],
    ['Esc', 'deny'],
  ],
  deciding: [],
};

/** What can be pressed; in a narrow window on several lines. */
function keyLines({ mode, request }: DialogState, columns: number): readonly Line[] {
  const keys = KEYS[mode].filter(([key]) => request.rememberable || (key !== 't' && key !== 's'));
  const lines: Line[] = [];
  let line: Line = [];
  let width = 0;
  for (const [key, word] of keys) {
    const needed = key.length + 1 + word.length;
    if (width > 0 && width + 2 + needed > columns) {
      lines.push(line);
      line = [];
      width = 0;
    }
    line = [...line, span(width > 0 ? INDENT : ''), span(key, 'accent'), span(` ${word}`, 'dim')];
    width += needed + (width > 0 ? 2 : 0);
  }
  return [...lines, ...(width > 0 ? [line] : [])].map((one) => fitLine(one, columns));
}

/** What is being typed over as many lines as it takes, and the place of the cursor in them. */
function typedLines(
  { text, cursor }: EditedLine,
  columns: number,
): { readonly lines: readonly Line[]; readonly row: number; readonly column: number } {
  // One column stays free for the cursor behind the last character.
  const width = Math.max(2, columns - 1);
  const before = hardWrap(text.slice(0, cursor), width);
  const lines = hardWrap(text, width).map(({ text: part }) => [span(part)]);
  const last = before.at(-1);
  return { lines, row: Math.max(0, before.length - 1), column: last?.columns ?? 0 };
}

function hardWrap(text: string, columns: number) {
  const lines: { text: string; columns: number }[] = [{ text: '', columns: 0 }];
  for (const { segment, width } of cellsOf(shownText(text))) {
    const line = lines.at(-1);
    if (line === undefined || line.columns + width > columns) lines.push({ text: segment, columns: width });
    else {
      line.text += segment;
      line.columns += width;
    }
  }
  return lines;
}
