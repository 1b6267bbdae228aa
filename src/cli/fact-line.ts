import { fitLine, type Line, lineWidth, type Span, span } from './line.ts';

/** Columns of a fact that is cut rather than left out. */
const MIN_FACT_COLUMNS = 8;

/** `head` followed by as many facts as fit, the first ones first. */
export function withFacts(head: Line, facts: readonly Span[], columns: number): Line {
  const gap = span('  ', 'plain');
  let line = head;
  for (const fact of facts) {
    const left = columns - lineWidth(line) - 2;
    if (left <= 0) break;
    // Half a word says less than nothing.
    if (lineWidth([fact]) > left && left < MIN_FACT_COLUMNS) continue;
    line = [...line, gap, ...fitLine([fact], left)];
  }
  return line;
}
