// What the stand-in for a model reads out of a request: its calls so far, and what came back.
import type { ParsedRequest } from 'swarmwright/testing';
import { z } from 'zod';
import { type PartReview, partReview } from './part-review.ts';

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

const updateSchema = z.object({ added: z.array(z.object({ work_id: z.string() })) });

const outputSchema = z.object({
  work_id: z.string(),
  status: z.string(),
  result: z.object({ text: z.string() }).nullable(),
});

export type Listing = z.output<typeof listingSchema>;
type Matches = z.output<typeof matchesSchema>;

/** A file as far as it was read. */
export interface ReadText {
  readonly path: string;
  readonly text: string;
}

/** All that the tools have told since the user spoke. */
export interface ToolResults {
  readonly listings: readonly Listing[];
  readonly matches: Matches | undefined;
  readonly read: readonly ReadText[];
  /** Works that were scheduled. */
  readonly works: readonly string[];
  /** Reviews of parts, in the order of their works. */
  readonly reviews: readonly PartReview[];
  /** What the tool said that writes the report. */
  readonly written: string | undefined;
  /** Results that say something else than was hoped for, word for word. */
  readonly complaints: readonly string[];
  /** Names of the tools that were called. */
  readonly called: readonly string[];
}

type Mutable = {
  -readonly [K in keyof ToolResults]: ToolResults[K] extends readonly (infer T)[] ? T[] : ToolResults[K];
};

/** Whether the runtime says something, and no person. */
function isWake(text: string): boolean {
  return text.startsWith('The runtime wakes you');
}

/** Reads the results of the calls since the user spoke. */
export function readResults({ messages }: Pick<ParsedRequest, 'messages'>): ToolResults {
  const from = messages.findLastIndex(({ role, text }) => role === 'user' && !isWake(text));
  const since = messages.slice(from + 1);
  const texts = new Map(since.flatMap(({ callId, text }) => (callId === undefined ? [] : [[callId, text]])));
  const results: Mutable = {
    listings: [],
    matches: undefined,
    read: [],
    works: [],
    reviews: [],
    written: undefined,
    complaints: [],
    called: [],
  };
  for (const { id, name } of since.flatMap((message) => message.calls)) {
    results.called.push(name);
    const text = texts.get(id) ?? '';
    if (!note(results, name, text)) results.complaints.push(`${name}: ${text}`);
  }
  return results;
}

/** Takes in one result; false for one that says something else than was hoped for. */
function note(results: Mutable, name: string, text: string): boolean {
  switch (name) {
    case 'list_files':
      return push(results.listings, parse(listingSchema, text));
    case 'search_files':
      results.matches = parse(matchesSchema, text);
      return results.matches !== undefined;
    case 'read_file': {
      const head = /^(.*): lines \d+ to \d+ of \d+\n/.exec(text);
      const path = head?.[1];
      return push(
        results.read,
        path === undefined ? undefined : { path, text: text.slice(head?.[0].length) },
      );
    }
    case 'update_agent_graph': {
      const added = parse(updateSchema, text)?.added;
      results.works.push(...(added ?? []).map(({ work_id }) => work_id));
      return added !== undefined;
    }
    case 'agent_output':
      return noteOutput(results, text);
    case 'write_report':
      results.written = text;
      return true;
    default:
      return true;
  }
}

function noteOutput(results: Mutable, text: string): boolean {
  const output = parse(outputSchema, text);
  const review = parse(partReview, output?.result?.text ?? '');
  return push(results.reviews, output?.status === 'completed' ? review : undefined);
}

function push<T>(list: T[], one: T | undefined): boolean {
  if (one === undefined) return false;
  list.push(one);
  return true;
}

function parse<T>(schema: z.ZodType<T>, text: string): T | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    // An error result is no JSON.
    return undefined;
  }
}
