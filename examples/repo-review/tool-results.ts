// What the stand-in for a model reads out of a request: its calls so far, and what came back.
import type { ParsedRequest } from 'swarmwright/testing';
import { z } from 'zod';

const listingSchema = z.object({
  total: z.object({ files: z.number(), lines: z.number(), bytes: z.number() }),
  leftOut: z.record(z.string(), z.number()),
  isComplete: z.boolean(),
  files: z.array(z.object({ path: z.string(), lines: z.number(), bytes: z.number() })),
  next: z.number().optional(),
});

const matchesSchema = z.object({
  total: z.object({ lines: z.number(), files: z.number(), byWord: z.record(z.string(), z.number()) }),
  matches: z.array(z.object({ path: z.string(), line: z.number(), text: z.string() })),
});

export type Listing = z.output<typeof listingSchema>;
type Matches = z.output<typeof matchesSchema>;

/** A file as far as it was read. */
export interface ReadText {
  readonly path: string;
  readonly text: string;
}

/** All that the tools have told in a turn. */
export interface ToolResults {
  readonly listings: readonly Listing[];
  readonly matches: Matches | undefined;
  readonly read: readonly ReadText[];
  /** What the tool said that writes the report. */
  readonly written: string | undefined;
  /** Results that say something else than was hoped for, word for word. */
  readonly complaints: readonly string[];
  /** Calls of the turn. */
  readonly calls: number;
}

/** Reads the results of the last turn of a request. */
export function readResults({ messages }: ParsedRequest): ToolResults {
  const turn = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
  const texts = new Map(turn.flatMap(({ callId, text }) => (callId === undefined ? [] : [[callId, text]])));
  const calls = turn.flatMap((message) => message.calls);
  const listings: Listing[] = [];
  const read: ReadText[] = [];
  const complaints: string[] = [];
  let matches: Matches | undefined;
  let written: string | undefined;
  for (const { id, name } of calls) {
    const text = texts.get(id) ?? '';
    const listing = name === 'list_files' ? parse(listingSchema, text) : undefined;
    const found = name === 'search_files' ? parse(matchesSchema, text) : undefined;
    const file = name === 'read_file' ? /^(.*): lines \d+ to \d+ of \d+\n/.exec(text) : undefined;
    if (listing !== undefined) listings.push(listing);
    else if (found !== undefined) matches = found;
    else if (file?.[1] !== undefined) read.push({ path: file[1], text: text.slice(file[0].length) });
    else if (name === 'write_report') written = text;
    else complaints.push(`${name}: ${text}`);
  }
  return { listings, matches, read, written, complaints, calls: calls.length };
}

function parse<T>(schema: z.ZodType<T>, text: string): T | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    // An error result is no JSON.
    return undefined;
  }
}
