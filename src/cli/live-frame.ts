import { count, formatElapsed, formatTokens, formatUsd } from './amounts.ts';
import type { DialogState } from './approval-dialog.ts';
import { dialogFrame, type Frame } from './dialog-lines.ts';
import { withFacts } from './fact-line.ts';
import type { Glyphs } from './glyphs.ts';
import { fitLine, type Line, type Span, span, textLine, wrapText } from './line.ts';
import { type RunTree, totalsOfTree } from './run-tree.ts';
import type { WindowSize } from './text-writer.ts';
import { treeLinesWithin } from './tree-lines.ts';

/** All that a live view shows. */
export interface LiveState {
  readonly tree: RunTree;
  /** The end of what the root agent is saying. */
  readonly text: string;
  /** The request that is being decided, and how many are open. */
  readonly dialog: DialogState | undefined;
  readonly open: number;
  /** What the last signal means. */
  readonly notice: string | undefined;
  /** What the keys do while nothing is asked. */
  readonly hint: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly now: number;
  readonly glyphs: Glyphs;
}

/** Rows of the answer that are shown while it is written. */
const MAX_TEXT_ROWS = 8;
/** Rows of a window in which parts are set apart by an empty line. */
const ROOMY_ROWS = 14;

/** What the bottom of the terminal shows now: fits the window, one row less, whatever its size. */
export function liveFrame(state: LiveState, { columns, rows }: WindowSize): Frame {
  const available = Math.max(2, rows - 1);
  const isRoomy = rows >= ROOMY_ROWS;
  const status = statusLines(state, columns);
  const dialog =
    state.dialog === undefined
      ? undefined
      : dialogFrame(state.dialog, {
          columns,
          // The tree keeps a line to say whose request this is.
          rows: Math.max(1, available - status.length - 1),
          open: state.open,
        });
  const gaps = isRoomy ? (dialog === undefined ? 1 : 2) : 0;
  const free = Math.max(0, available - status.length - (dialog?.lines.length ?? 0) - gaps);
  const text = textLines(state.text, columns, Math.min(MAX_TEXT_ROWS, Math.floor(free / 2)));
  const tree = treeLinesWithin(state.tree, { columns, rows: free - text.length }, { ...state, isLive: true });
  const gap = isRoomy ? [textLine('')] : [];
  const above = [...tree, ...text, ...(dialog === undefined ? [] : gap)];
  const lines = [...above, ...(dialog?.lines ?? []), ...gap, ...status].slice(-available);
  const cursor = dialog?.cursor;
  return {
    lines,
    cursor: cursor === undefined ? undefined : { row: above.length + cursor.row, column: cursor.column },
  };
}

/** The last rows of the answer so far. */
function textLines(text: string, columns: number, rows: number): readonly Line[] {
  if (text.trim() === '' || rows <= 0) return [];
  const lines = wrapText(text.trimStart(), columns);
  return lines.slice(-rows);
}

function statusLines(state: LiveState, columns: number): readonly Line[] {
  const { tree, startedAt, now, notice, hint, dialog } = state;
  const elapsed = [span(formatElapsed(now - startedAt), 'bold')];
  const facts = [...totalFacts(tree), ...(dialog === undefined ? [span(hint, 'dim')] : [])];
  const status = withFacts(elapsed, facts, columns);
  return notice === undefined ? [status] : [fitLine(textLine(notice, 'warn'), columns), status];
}

/** Steps, calls, tokens and cost of a run. */
function totalFacts(tree: RunTree): readonly Span[] {
  const totals = totalsOfTree(tree);
  const tokens = formatTokens(totals);
  return [
    ...(totals.steps > 0 ? [span(count(totals.steps, 'step'), 'dim')] : []),
    ...(totals.calls > 0 ? [span(count(totals.calls, 'call'), 'dim')] : []),
    ...(tokens === undefined ? [] : [span(tokens, 'dim')]),
    ...(totals.costUsd > 0 ? [span(formatUsd(totals.costUsd), 'dim')] : []),
  ];
}
