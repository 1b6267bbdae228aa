import type { Glyphs } from './glyphs.ts';
import { type Line, type Span, span } from './line.ts';

/** How much of a tree is shown: all, completed steps as one line each, or those in one line together. */
export type Detail = 'all' | 'steps' | 'open';

/** One line of a tree with what hangs below it. */
export interface ViewNode {
  /** Sign and name: shown first, cut where there is no room. Called only for lines that are shown. */
  head(): Line;
  /** What else is known, most important first; each is left out where it does not fit. */
  facts(): readonly Span[];
  readonly children: readonly ViewNode[];
}

export interface TreeView {
  readonly detail: Detail;
  readonly glyphs: Glyphs;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** False for the last picture of a run: what then seems under way was left where it was. */
  readonly isLive: boolean;
}

/** Milliseconds a frame of the spinner stands. */
export const SPINNER_MS = 120;

/** The sign of work under way. */
export function spinner({ glyphs, now, isLive }: TreeView): Span {
  if (!isLive) return span(glyphs.stopped, 'warn');
  const at = Math.floor(now / SPINNER_MS) % glyphs.spinner.length;
  return span(glyphs.spinner[at] ?? '*', 'accent');
}
