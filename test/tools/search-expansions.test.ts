import { describe, expect, it } from 'vitest';
import { createExpander, type Expansion } from '../../src/tools/search-expansions.ts';

const VOCABULARY = [
  ...['search', 'searching', 'searched', 'find', 'weather', 'recipe', 'mind', 'map', 'mindmap', 'car', 'pet'],
  ...['airline', 'getmyweather', 'translate', '\u5929\u6c14', 'photo', 'zone', 'time'],
];
const expander = createExpander(VOCABULARY, new Set(['getmyweather', 'mindmap']));

function termsOf(variants: Expansion['core']): readonly string[] {
  return variants.map(({ term }) => term);
}

function shareOf(variants: Expansion['core'], term: string): number {
  return variants.find((variant) => variant.term === term)?.share ?? 0;
}

describe('the core of an expansion', () => {
  it('is the word itself in full and its inflections at 0.8', () => {
    expect(expander.expand('searching', []).core).toEqual([
      { term: 'search', share: 0.8 },
      { term: 'searching', share: 1 },
      { term: 'searched', share: 0.8 },
    ]);
  });

  it('takes the plainest inflection in full for a form that no tool uses', () => {
    expect(shareOf(expander.expand('searcheth', []).core, 'search')).toBe(0);
    expect(shareOf(expander.expand('searchs', []).core, 'search')).toBe(1);
  });

  it('holds the compounds with the neighbours that are words of tools', () => {
    const { core } = expander.expand('mind', ['mindmap', 'openmind']);
    expect(core).toEqual([
      { term: 'mind', share: 1 },
      { term: 'mindmap', share: 0.8 },
    ]);
  });

  it('undoes a plural made plural again', () => {
    expect(termsOf(expander.expand('photoss', []).core)).toEqual(['photo']);
  });
});

describe('the guesses of an expansion', () => {
  it.each([
    ['a synonym', 'lookup', 'search'],
    ['a broader word', 'pizza', 'recipe'],
    ['a word of another language', 'weather', '\u5929\u6c14'],
    ['a word from another language', '\u5929\u6c14', 'weather'],
    ['a longer word', 'airl', 'airline'],
    ['a word that holds it', 'weather', 'getmyweather'],
    ['a shorter word', 'photogenic', 'photo'],
    ['a correction', 'trasnlate', 'translate'],
  ])('include %s', (_, term, guess) => {
    expect(termsOf(expander.expand(term, []).guesses)).toContain(guess);
  });

  it('are worth less than half a hit beside a word that tools use', () => {
    for (const term of VOCABULARY) {
      for (const { share } of expander.expand(term, []).guesses) expect(share).toBeLessThan(0.5);
    }
  });

  it('count for more where no tool uses the word', () => {
    const known = expander.expand('find', []).guesses;
    const unknown = expander.expand('lookup', []).guesses;
    expect(shareOf(unknown, 'search')).toBe(2 * shareOf(known, 'search'));
  });

  it('are no corrections of a word that is spelt right', () => {
    expect(termsOf(expander.expand('find', []).guesses)).not.toContain('mind');
    expect(expander.expand('cat', []).guesses.map(({ term }) => term)).not.toContain('car');
  });

  it('are none for a mistyped function word', () => {
    expect(createExpander(['somethx'], new Set()).expand('somethng', [])).toEqual({
      core: [],
      guesses: [],
    });
  });

  it('are at most 100 for one beginning', () => {
    const many = Array.from({ length: 1_000 }, (_, at) => `con${String(at).padStart(4, 'x')}`);
    expect(createExpander(many, new Set()).expand('con', []).guesses.length).toBeLessThanOrEqual(100);
  });

  it('are the same when asked again and after thousands of other words', () => {
    const before = expander.expand('wether', []);
    for (let at = 0; at < 5_000; at += 1) expander.expand(`word${at}`, []);
    expect(expander.expand('wether', [])).toEqual(before);
  });
});

describe('splitting a word', () => {
  it('gives the two words of tools that an unknown compound is made of', () => {
    expect(expander.split('timezone')).toEqual(['timezone']);
    expect(createExpander(['heat', 'map'], new Set()).split('heatmap')).toEqual(['heat', 'map']);
  });

  it('leaves words that tools or the thesaurus know, and words of fewer than 7 letters', () => {
    expect(['mindmap', 'carpet', 'whatever'].map((word) => expander.split(word))).toEqual([
      ['mindmap'],
      ['carpet'],
      ['whatever'],
    ]);
  });
});

describe('parts switched off', () => {
  it.each([
    ['inflections', { inflections: false, wordParts: false, typos: false }, 'searchs', 'search'],
    ['synonyms', { synonyms: false }, 'lookup', 'search'],
    ['parts of words', { wordParts: false }, 'airl', 'airline'],
    ['typos', { typos: false }, 'trasnlate', 'translate'],
  ])('give no variants by %s', (_, parts, term, other) => {
    const { core, guesses } = createExpander(VOCABULARY, new Set(), parts).expand(term, []);
    expect(termsOf([...core, ...guesses])).not.toContain(other);
  });

  it('give no compounds', () => {
    const without = createExpander(['heat', 'map', 'heatmap'], new Set(), { compounds: false });
    expect(termsOf(without.expand('heat', ['heatmap']).core)).toEqual(['heat']);
    expect(createExpander(['heat', 'map'], new Set(), { compounds: false }).split('heatmap')).toEqual([
      'heatmap',
    ]);
  });
});
