import { Index } from 'flexsearch';

/** How much a field counts, and how strongly its length tempers that. */
interface FieldRule {
  readonly weight: number;
  /** 0 ignores the length of the field, 1 divides by it. */
  readonly lengthShare: number;
  readonly minNorm: number;
  readonly maxNorm: number;
}

/**
 * The fields of a tool. The bounds of the norms keep one promise: a word in a name of any length counts more
 * (2 / 1.25) than the same word in a description of any length (1 / 0.7).
 */
const FIELD_RULES = {
  name: { weight: 2, lengthShare: 0.75, minNorm: 0, maxNorm: 1.25 },
  /** Group and aliases, as far as the name does not say them. */
  label: { weight: 1, lengthShare: 0, minNorm: 1, maxNorm: 1 },
  /** The first sentence of the description. */
  lead: { weight: 1, lengthShare: 0.5, minNorm: 0.7, maxNorm: Number.POSITIVE_INFINITY },
  rest: { weight: 0.6, lengthShare: 0.5, minNorm: 0.7, maxNorm: Number.POSITIVE_INFINITY },
  schema: { weight: 0.3, lengthShare: 0.6, minNorm: 0, maxNorm: Number.POSITIVE_INFINITY },
} as const satisfies Readonly<Record<string, FieldRule>>;

export type FieldName = keyof typeof FIELD_RULES;
// The keys of the table above, which Object.keys widens to strings.
const FIELD_NAMES = Object.keys(FIELD_RULES) as readonly FieldName[];

/** The analysed terms of one tool, by field. */
export type DocumentTerms = Readonly<Record<FieldName, readonly string[]>>;

/** Where a term occurs: `documents[i]` holds it with the strength `strengths[from + i]`. */
export interface TermPostings {
  readonly documents: readonly number[];
  readonly strengths: Float32Array;
  readonly from: number;
}

/** An inverted index over the terms of tools; immutable. */
export interface Postings {
  /** How many documents there are, numbered from 0 in the order given. */
  readonly size: number;
  /** Every distinct term. */
  readonly vocabulary: readonly string[];
  has(term: string): boolean;
  find(term: string): TermPostings | undefined;
}

/**
 * Indexes documents: FlexSearch maps each term to the documents that hold it, in their order; beside it lies
 * the strength of each occurrence, the frequency summed over the fields by weight and length.
 */
export function buildPostings(documents: readonly DocumentTerms[]): Postings {
  const index = new Index({
    tokenize: 'strict',
    resolution: 1,
    encoder: (content: string) => content.split(' '),
  });
  const averages = averageLengths(documents);
  const strengthsOf = new Map<string, number[]>();
  documents.forEach((document, ordinal) => {
    const strengths = termStrengths(document, averages);
    for (const [term, strength] of strengths) {
      const known = strengthsOf.get(term);
      if (known === undefined) strengthsOf.set(term, [strength]);
      else known.push(strength);
    }
    index.add(ordinal, [...strengths.keys()].join(' '));
  });
  const packed = pack(strengthsOf);
  return {
    size: documents.length,
    vocabulary: [...packed.starts.keys()],
    has: (term) => packed.starts.has(term),
    find: (term) => {
      const from = packed.starts.get(term);
      if (from === undefined) return undefined;
      // The ids are the ordinals given to `add` above, in the same order as the strengths.
      const found = index.search(term, { limit: documents.length }) as readonly number[];
      return { documents: found, strengths: packed.strengths, from };
    },
  };
}

type FieldLengths = Readonly<Record<FieldName, number>>;

function averageLengths(documents: readonly DocumentTerms[]): FieldLengths {
  const average = (field: FieldName): number => {
    const total = documents.reduce((sum, document) => sum + document[field].length, 0);
    return total > 0 ? total / documents.length : 1;
  };
  return {
    name: average('name'),
    label: average('label'),
    lead: average('lead'),
    rest: average('rest'),
    schema: average('schema'),
  };
}

function termStrengths(document: DocumentTerms, averages: FieldLengths): ReadonlyMap<string, number> {
  const strengths = new Map<string, number>();
  for (const field of FIELD_NAMES) {
    const rule = FIELD_RULES[field];
    const terms = document[field];
    const norm = 1 - rule.lengthShare + (rule.lengthShare * terms.length) / averages[field];
    const strength = rule.weight / Math.min(rule.maxNorm, Math.max(rule.minNorm, norm));
    for (const term of terms) strengths.set(term, (strengths.get(term) ?? 0) + strength);
  }
  return strengths;
}

interface PackedStrengths {
  readonly starts: ReadonlyMap<string, number>;
  readonly strengths: Float32Array;
}

function pack(strengthsOf: ReadonlyMap<string, readonly number[]>): PackedStrengths {
  let total = 0;
  for (const list of strengthsOf.values()) total += list.length;
  const strengths = new Float32Array(total);
  const starts = new Map<string, number>();
  let from = 0;
  for (const [term, list] of strengthsOf) {
    strengths.set(list, from);
    starts.set(term, from);
    from += list.length;
  }
  return { starts, strengths };
}
