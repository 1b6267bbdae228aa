import type { WriteRequest, WriteResult } from './sqlite-operations.ts';

/** A request with the texts of its records beside it. */
export interface WriteMessage {
  readonly request: WriteRequest;
  /** JSON texts, without line breaks; for `append` only. */
  readonly texts: readonly string[];
}

/**
 * Groups cross the threads as one text: a clone of as many objects costs more than their commit does. Each
 * request is a line of JSON that says how many lines follow, which are the texts of its records as they are: JSON
 * text has no line breaks, so nothing is escaped or parsed twice.
 */
export function encodeGroup(group: readonly WriteMessage[]): string {
  let text = '';
  for (const { request, texts } of group) {
    text += `${texts.length} ${JSON.stringify(request)}\n`;
    for (const one of texts) text += `${one}\n`;
  }
  return text;
}

export function decodeGroup(text: string): readonly WriteMessage[] {
  const lines = text.split('\n');
  const group: WriteMessage[] = [];
  let next = 0;
  // The last line is empty.
  while (next < lines.length - 1) {
    const line = lines[next] ?? '';
    const space = line.indexOf(' ');
    const first = next + 1;
    next = first + Number(line.slice(0, space));
    group.push({ request: JSON.parse(line.slice(space + 1)), texts: lines.slice(first, next) });
  }
  return group;
}

export function encodeResults(results: readonly WriteResult[]): string {
  return JSON.stringify(results);
}

export function decodeResults(text: string): readonly WriteResult[] {
  return JSON.parse(text);
}
