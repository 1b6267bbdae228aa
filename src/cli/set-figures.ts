import { z } from 'zod';
import { isSwarmError } from '../errors.ts';
import { bindTool } from '../tools/bind-tools.ts';
import type { BoundTool } from '../tools/binding.ts';
import { defineTool } from '../tools/define-tool.ts';
import { bounded } from '../tools/find-tools.ts';
import { createSearchIndex } from '../tools/search-index.ts';
import { type Figure, share } from './figures.ts';

/** A tool of a catalogue, one a line. */
const toolLine = z.object({
  name: z.string(),
  description: z.string().default(''),
  inputSchema: z.record(z.string(), z.json()).default({ type: 'object' }),
  group: z.string().optional(),
  aliases: z.array(z.string()).optional(),
});

/** A query with the tools it should find, one a line. `any`: one of them is enough. */
const queryLine = z.object({
  query: z.string(),
  relevant: z.array(z.string()).min(1),
  mode: z.enum(['all', 'any']).default('all'),
  catalogue: z.string().optional(),
});

export type CatalogueLine = z.output<typeof toolLine>;
export type QueryLine = z.output<typeof queryLine>;

/** What a file of JSON lines holds. */
export type ReadLines<T> =
  | { readonly type: 'lines'; readonly lines: readonly T[] }
  | { readonly type: 'invalid'; readonly complaint: string };

export const readTools = (text: string): ReadLines<CatalogueLine> => readLines(text, toolLine);
export const readQueries = (text: string): ReadLines<QueryLine> => readLines(text, queryLine);

function readLines<T>(text: string, schema: z.ZodType<T>): ReadLines<T> {
  const lines: T[] = [];
  for (const [at, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const parsed = schema.safeParse(jsonOf(line));
    if (!parsed.success)
      return { type: 'invalid', complaint: `line ${at + 1}: ${complaintOf(parsed.error)}` };
    lines.push(parsed.data);
  }
  return lines.length === 0
    ? { type: 'invalid', complaint: 'there is no line in it' }
    : { type: 'lines', lines };
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function complaintOf({ issues: [issue] }: z.ZodError): string {
  return `${issue?.path.join('.') || 'it'}: ${issue?.message ?? 'unusable'}`;
}

/** How a search is bounded. */
export interface SearchBounds {
  /** Tools a search finds. */
  readonly limit: number;
  readonly maxSchemaChars: number;
}

/** Queries of one catalogue. */
export interface QuerySet {
  readonly tools: readonly CatalogueLine[];
  readonly queries: readonly QueryLine[];
}

/** What searches are worth over labelled queries. */
export interface SetFigures {
  readonly queries: number;
  readonly tools: number;
  /** Names of tools no binding could hold, which were left out. */
  readonly unusable: readonly string[];
  readonly figures: readonly Figure[];
}

/** Figures of the tool search as it is, over sets of labelled queries. */
export function figuresOfSets(sets: readonly QuerySet[], bounds: SearchBounds): SetFigures {
  const catalogues = sets.map(({ tools }) => bindLines(tools));
  const outcomes = sets.flatMap(({ queries }, at) => {
    const { bound } = catalogues[at] ?? { bound: [] };
    const search = searchOver(bound, bounds);
    return queries.map((query) => judge(query, search(query.query)));
  });
  const mean = (pick: (outcome: Outcome) => number) =>
    share(
      outcomes.reduce((sum, outcome) => sum + pick(outcome), 0),
      outcomes.length,
    );
  const total = (pick: (outcome: Outcome) => number) =>
    outcomes.reduce((sum, outcome) => sum + pick(outcome), 0);
  return {
    queries: outcomes.length,
    tools: catalogues.reduce((sum, { bound }) => sum + bound.length, 0),
    unusable: catalogues.flatMap(({ unusable }) => unusable),
    figures: [
      { name: 'recall', value: mean(({ recall }) => recall) },
      { name: 'hitAt1', value: mean(({ isHit }) => Number(isHit)) },
      { name: 'empty', value: mean(({ isEmpty }) => Number(isEmpty)) },
      {
        name: 'misses',
        value: share(
          total(({ cut }) => cut),
          total(({ wanted }) => wanted),
        ),
      },
      {
        name: 'unused',
        value: share(
          total(({ unusedChars }) => unusedChars),
          total(({ chars }) => chars),
        ),
      },
      { name: 'unusedChars', value: mean(({ unusedChars }) => unusedChars) },
    ],
  };
}

function bindLines(lines: readonly CatalogueLine[]): {
  readonly bound: readonly BoundTool[];
  readonly unusable: readonly string[];
} {
  const bound: BoundTool[] = [];
  const unusable: string[] = [];
  for (const { name, description, inputSchema, group, aliases } of lines) {
    try {
      const labels = {
        ...(group === undefined ? {} : { group }),
        ...(aliases === undefined ? {} : { aliases }),
      };
      bound.push(
        bindTool(defineTool({ name, description, inputSchema, ...labels, execute: () => undefined })),
      );
    } catch (error) {
      if (!isSwarmError(error)) throw error;
      unusable.push(name);
    }
  }
  return { bound, unusable };
}

interface Found {
  readonly ranked: readonly string[];
  readonly found: readonly BoundTool[];
}

function searchOver(bound: readonly BoundTool[], bounds: SearchBounds): (query: string) => Found {
  const index = createSearchIndex(
    bound.map(({ name, group, tool, definition }) => ({
      name,
      ...(group === undefined ? {} : { group }),
      aliases: tool.aliases,
      description: definition.description,
      inputSchema: definition.inputSchema,
    })),
  );
  const byName = new Map(bound.map((one) => [one.name, one]));
  return (query) => {
    const ranked = index.rank(query, { limit: bound.length }).map(({ name }) => name);
    const tools = ranked.flatMap((name) => byName.get(name) ?? []);
    return { ranked, found: bounded(tools, bounds.limit, bounds.maxSchemaChars).found };
  };
}

interface Outcome {
  readonly recall: number;
  readonly isHit: boolean;
  readonly isEmpty: boolean;
  readonly wanted: number;
  /** Wanted ones that were ranked and not found, because of the bounds. */
  readonly cut: number;
  readonly chars: number;
  readonly unusedChars: number;
}

function judge({ relevant, mode }: QueryLine, { ranked, found }: Found): Outcome {
  const wanted = new Set(relevant);
  const hits = found.filter(({ name }) => wanted.has(name));
  const isEnough = mode === 'any' && hits.length > 0;
  const names = new Set(found.map(({ name }) => name));
  const cut = ranked.filter((name) => wanted.has(name) && !names.has(name));
  const charsOf = (tools: readonly BoundTool[]) =>
    tools.reduce((sum, { schemaChars }) => sum + schemaChars, 0);
  return {
    recall: mode === 'any' ? Number(isEnough) : hits.length / wanted.size,
    isHit: found[0] !== undefined && wanted.has(found[0].name),
    isEmpty: found.length === 0,
    wanted: mode === 'any' ? 1 : wanted.size,
    cut: isEnough ? 0 : mode === 'any' ? Math.min(1, cut.length) : cut.length,
    chars: charsOf(found),
    unusedChars: charsOf(found) - charsOf(hits),
  };
}
