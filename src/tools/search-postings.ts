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

type FieldName = keyof typeof FIELD_RULES;
// The keys of the table above, which Object.keys widens to strings.
const FIELD_NAMES = Object.keys(FIELD_RULES) as readonly FieldName[];

/** The analysed terms of one tool, by field. */
export type DocumentTerms = Readonly<Record<FieldName, readonly string[]>>;

/** Where a term occurs: `documents[i]` holds it with the strength `strengths[from + i]`. */
interface TermPostings {
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
  // Documents come analysed: while one is added, its terms stand for whatever its content says.
  let added: string[] | undefined;
  const index = new Index({
    tokenize: 'strict',
    resolution: 1,
    encoder: (content: string) => added ?? [content],
  });
  const averages = averageLengths(documents);
  const vocabulary = createVocabulary();
  documents.forEach((document, ordinal) => {
    added = vocabulary.addDocument(document, averages);
    index.add(ordinal, 'terms');
  });
  added = undefined;
  const { starts, strengths } = vocabulary.pack();
  return {
    size: documents.length,
    vocabulary: [...starts.keys()],
    has: (term) => starts.has(term),
    find: (term) => {
      const from = starts.get(term);
      if (from === undefined) return undefined;
      // The ids are the ordinals given to `add` above, in the same order as the strengths.
      const found = index.search(term, { limit: documents.length }) as readonly number[];
      return { documents: found, strengths, from };
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

/** What one occurrence of a term in a field of a document is worth. */
function strengthIn(field: FieldName, length: number, averages: FieldLengths): number {
  const { weight, lengthShare, minNorm, maxNorm } = FIELD_RULES[field];
  const norm = 1 - lengthShare + (lengthShare * length) / averages[field];
  return weight / Math.min(maxNorm, Math.max(minNorm, norm));
}

/** A term while the index is built: its strengths in the documents so far, and in the current one. */
interface Entry {
  readonly term: string;
  readonly strengths: number[];
  current: number;
}

interface Vocabulary {
  /** Notes the terms of the next document and gives them, each once. */
  addDocument(document: DocumentTerms, averages: FieldLengths): string[];
  /** All strengths in one array, and where those of each term start. */
  pack(): { readonly starts: ReadonlyMap<string, number>; readonly strengths: Float32Array };
}

function createVocabulary(): Vocabulary {
  const entries = new Map<string, Entry>();
  const addTerm = (term: string, strength: number, met: Entry[]): void => {
    let entry = entries.get(term);
    if (entry === undefined) {
      entry = { term, strengths: [], current: 0 };
      entries.set(term, entry);
    }
    if (entry.current === 0) met.push(entry);
    entry.current += strength;
  };
  return {
    addDocument: (document, averages) => {
      const met: Entry[] = [];
      for (const field of FIELD_NAMES) {
        const terms = document[field];
        const strength = strengthIn(field, terms.length, averages);
        for (const term of terms) addTerm(term, strength, met);
      }
      return met.map((entry) => {
        entry.strengths.push(entry.current);
        entry.current = 0;
        return entry.term;
      });
    },
    pack: () => {
      let total = 0;
      for (const entry of entries.values()) total += entry.strengths.length;
      const strengths = new Float32Array(total);
      const starts = new Map<string, number>();
      let from = 0;
      for (const entry of entries.values()) {
        strengths.set(entry.strengths, from);
        starts.set(entry.term, from);
        from += entry.strengths.length;
      }
      return { starts, strengths };
    },
  };
}
