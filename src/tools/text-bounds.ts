/** Bounds of {@link boundText}; `Infinity` lifts one. */
export interface TextBounds {
  readonly maxLines: number;
  readonly maxBytes: number;
  /** Last words of the marker: how to get what was removed. Default: ask for a smaller part. */
  readonly rest?: string;
}

export interface BoundedText {
  readonly text: string;
  readonly truncated: boolean;
}

const DEFAULT_REST = 'Ask for a smaller part to see the rest.';

/**
 * The beginning of `text` that is within both bounds, and a marker that counts what was removed and says how to get
 * it. The marker comes on top of the bounds. No character is split; a text at exactly its bounds is untouched; a
 * lone line end over a bound is dropped without a marker.
 */
export function boundText(text: string, bounds: TextBounds): BoundedText {
  let cut = Math.min(endOfLines(text, bounds.maxLines), endOfBytes(text, bounds.maxBytes));
  if (text[cut] === '\n' && text[cut - 1] === '\r') cut -= 1;
  if (cut >= text.length) return { text, truncated: false };
  const head = text.slice(0, cut);
  const removed = text.slice(cut).replace(/^\r?\n/, '');
  if (removed === '') return { text: head, truncated: false };
  const lines = countLines(removed);
  const bytes = Buffer.byteLength(removed);
  const counted = `${lines} more line${lines === 1 ? '' : 's'}, ${bytes} more byte${bytes === 1 ? '' : 's'}`;
  return { text: `${head}\n[truncated: ${counted}. ${bounds.rest ?? DEFAULT_REST}]`, truncated: true };
}

/** Lines of `text`; what follows a last line end is a line only if it is not empty. */
export function countLines(text: string): number {
  let lines = 0;
  let at = 0;
  while (at < text.length) {
    lines += 1;
    const end = text.indexOf('\n', at);
    if (end === -1) break;
    at = end + 1;
  }
  return lines;
}

/** Index where the line end after the first `maxLines` lines stands, or the length of `text`. */
function endOfLines(text: string, maxLines: number): number {
  if (maxLines < 1) return 0;
  let at = -1;
  for (let line = 0; line < maxLines; line += 1) {
    at = text.indexOf('\n', at + 1);
    if (at === -1) return text.length;
  }
  return at === text.length - 1 ? text.length : at;
}

/** Index of the first character that does not fit into `maxBytes` of UTF-8. */
function endOfBytes(text: string, maxBytes: number): number {
  if (text.length * 3 <= maxBytes) return text.length;
  // Encoding stops before a character that does not fit whole, so nothing is split.
  return new TextEncoder().encodeInto(text, new Uint8Array(Math.min(maxBytes, text.length * 3))).read;
}
