import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SearchableTool } from '../src/tools/search-index.ts';

/** A query with the tools it should find. */
export interface LabelledQuery {
  readonly id: string;
  readonly query: string;
  readonly relevant: readonly string[];
  readonly catalogue: string;
  /** `all`: every relevant tool is wanted; `any`: one of them is enough. */
  readonly mode: 'all' | 'any';
}

/** The open sets: a catalogue of tools each, and queries for it. */
export interface RetrievalData {
  readonly catalogues: ReadonlyMap<string, readonly SearchableTool[]>;
  readonly sets: ReadonlyMap<string, readonly LabelledQuery[]>;
}

const SETS = [
  'bfcl.keyword',
  'bfcl.sentence',
  'livemcp.modelquery',
  'livemcp.step',
  'metatool.keyword',
  'metatool.sentence',
  'npm-open.keyword',
];

/**
 * Reads the retrieval sets below the folder that SWARMWRIGHT_DATA names: `tool-retrieval/<set>.jsonl` and
 * `tool-retrieval/catalogues/<catalogue>.jsonl`.
 */
export function readRetrievalData(): RetrievalData {
  const data = process.env['SWARMWRIGHT_DATA'];
  if (data === undefined) throw new Error('SWARMWRIGHT_DATA must name the folder of the retrieval data');
  const folder = join(data, 'tool-retrieval');
  // The rows are ours; their shape is documented beside them.
  const sets = new Map(
    SETS.map((set) => [set, readLines(join(folder, `${set}.jsonl`)) as readonly LabelledQuery[]]),
  );
  const names = new Set([...sets.values()].flatMap((queries) => queries.map(({ catalogue }) => catalogue)));
  const catalogues = new Map(
    Array.from(names, (name) => [
      name,
      readLines(join(folder, 'catalogues', `${name}.jsonl`)) as readonly SearchableTool[],
    ]),
  );
  return { catalogues, sets };
}

function readLines(path: string): readonly unknown[] {
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
}

/** One of two halves of the queries, by a hash of the id: parameters chosen on one are checked on the other. */
export function halfOf(id: string): 0 | 1 {
  let hash = 2_166_136_261;
  for (const character of id) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16_777_619);
  return ((hash >>> 7) & 1) === 0 ? 0 : 1;
}
