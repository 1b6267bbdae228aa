import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTypoFinder } from '../../src/tools/search-typos.ts';

const VOCABULARY = ['weather', 'calendar', 'repository', 'database', 'message', 'search', 'file', 'issue'];
const find = createTypoFinder(VOCABULARY);
const wordsNear = (word: string): readonly string[] => find(word).map((near) => near.word);

describe('words near a mistyped one', () => {
  it.each([
    ['a missing letter', 'calndar', 'calendar'],
    ['an added letter', 'datababse', 'database'],
    ['a replaced letter', 'messagw', 'message'],
    ['two letters swapped', 'serach', 'search'],
    ['two slips of a long word', 'repostiroy', 'repository'],
  ])('are found for %s', (_, typed, meant) => {
    expect(wordsNear(typed)).toEqual([meant]);
  });

  it('are not found for words of 3 letters, other words and words with digits', () => {
    expect(['fil', 'banana', 'file2'].map(wordsNear)).toEqual([[], [], []]);
  });

  it('are not found two slips from a word of fewer than 8 letters', () => {
    expect(wordsNear('wxathxr')).toEqual([]);
  });

  it('are the nearest only, those with the same first letter first', () => {
    expect(createTypoFinder(['bat', 'bath', 'path', 'paths'])('bathe')).toEqual([{ word: 'bath', slips: 1 }]);
    expect(createTypoFinder(['hate', 'gate', 'gafe'])('gabe').map(({ word }) => word)).toEqual([
      'gafe',
      'gate',
    ]);
  });

  it('include the word after any one slip behind its first letter', () => {
    const slip = fc.record({
      word: fc.constantFrom(...VOCABULARY.filter((word) => word.length >= 5)),
      at: fc.nat({ max: 1_000 }),
      kind: fc.nat({ max: 3 }),
      letter: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz'),
    });
    fc.assert(
      fc.property(slip, ({ word, at: raw, kind, letter }) => {
        const at = 1 + (raw % (word.length - 2));
        const typed = [
          word.slice(0, at) + word.slice(at + 1),
          word.slice(0, at) + letter + word.slice(at),
          word.slice(0, at) + letter + word.slice(at + 1),
          `${word.slice(0, at)}${word[at + 1]}${word[at]}${word.slice(at + 2)}`,
        ][kind];
        fc.pre(typed !== undefined && typed !== word);
        expect(wordsNear(typed ?? '')).toContain(word);
      }),
    );
  });
});
