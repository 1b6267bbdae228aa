import { describe, expect, it } from 'vitest';
import { buildPostings, type DocumentTerms } from '../../src/tools/search-postings.ts';

const EMPTY: DocumentTerms = { name: [], label: [], lead: [], rest: [], schema: [] };

function strengthsOf(documents: readonly DocumentTerms[], term: string): Readonly<Record<number, number>> {
  const found = buildPostings(documents).find(term);
  if (found === undefined) return {};
  return Object.fromEntries(
    found.documents.map((document, at) => [document, found.strengths[found.from + at] ?? Number.NaN]),
  );
}

describe('the postings of a term', () => {
  it('name the documents that hold it, in order, with the strength of each', () => {
    const documents = Array.from({ length: 300 }, (_, at): DocumentTerms => {
      return { ...EMPTY, label: at % 3 === 0 ? ['common', `only${at}`] : [`only${at}`] };
    });
    const postings = buildPostings(documents);
    expect(postings.find('common')?.documents).toEqual(Array.from({ length: 100 }, (_, at) => at * 3));
    expect(postings.find('only7')?.documents).toEqual([7]);
    expect(postings.find('unknown')).toBeUndefined();
    expect(postings.size).toBe(300);
  });

  it('weigh name over description over schema', () => {
    const {
      0: name,
      1: lead,
      2: rest,
      3: schema,
    } = strengthsOf(
      [
        { ...EMPTY, name: ['file', 'a'] },
        { ...EMPTY, lead: ['file', 'b'] },
        { ...EMPTY, rest: ['file', 'c'] },
        { ...EMPTY, schema: ['file', 'd'] },
      ],
      'file',
    );
    expect([name, lead, rest, schema].toSorted((a, b) => Number(b) - Number(a))).toEqual([
      name,
      lead,
      rest,
      schema,
    ]);
  });

  it('give a word in the longest name more than the same word in the shortest description', () => {
    const filler = (length: number): string[] => Array.from({ length }, (_, at) => `filler${at}`);
    const strengths = strengthsOf(
      [
        { ...EMPTY, name: ['file', ...filler(60)], lead: filler(80) },
        { ...EMPTY, name: ['tool'], lead: ['file'] },
        { ...EMPTY, name: ['other'], lead: filler(80) },
      ],
      'file',
    );
    expect(strengths[0]).toBeGreaterThan(strengths[1] ?? Number.NaN);
  });

  it('hold for terms that are names of object members', () => {
    const terms = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
    const postings = buildPostings([
      { ...EMPTY, lead: terms },
      { ...EMPTY, lead: ['other'] },
    ]);
    expect(terms.map((term) => postings.find(term)?.documents)).toEqual(terms.map(() => [0]));
  });

  it('are none for no documents', () => {
    expect(buildPostings([]).vocabulary).toEqual([]);
  });
});
