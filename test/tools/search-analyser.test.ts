import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { analyse, createTextAnalyser, singular, splitWords } from '../../src/tools/search-analyser.ts';

describe('splitting text into words', () => {
  it.each([
    ['readFile', ['read', 'file']],
    ['read_file', ['read', 'file']],
    ['read-file.v2', ['read', 'file', 'v', '2']],
    ['HTTPServer', ['http', 'server']],
    ['URLs and APIs', ['urls', 'and', 'apis']],
    ["the user's file", ['the', 'user', 'file']],
    ["don't", ['dont']],
    ['caf\u00e9 na\u00efve', ['cafe', 'naive']],
    ['\uff21\uff30\uff29 \ufb01le', ['api', 'file']],
  ])('splits %s', (text, words) => {
    expect(splitWords(text)).toEqual(words);
  });

  it.each([
    ['\u5929\u6c14\u9884\u62a5', ['\u5929\u6c14', '\u6c14\u9884', '\u9884\u62a5']],
    ['\u56fe', ['\u56fe']],
    ['\u83b7\u53d6weather\u4fe1\u606f', ['\u83b7\u53d6', 'weather', '\u4fe1\u606f']],
    ['\u30d5\u30a1\u30a4\u30eb', ['\u30d5\u30a1', '\u30a1\u30a4', '\u30a4\u30eb']],
    ['\ub370\uc774\ud130', ['\ub370\uc774', '\uc774\ud130']],
  ])('pairs the characters of %s, a script without spaces', (text, words) => {
    expect(splitWords(text)).toEqual(words);
  });

  it('takes lone surrogates and control characters for separators', () => {
    expect(splitWords('read\ud800file\u0000now\udc00')).toEqual(['read', 'file', 'now']);
  });

  it('cuts a run of letters at 64', () => {
    expect(splitWords('x'.repeat(1_000))).toEqual(['x'.repeat(64)]);
  });
});

describe('the singular of a word', () => {
  it.each([
    ['files', 'file'],
    ['queries', 'query'],
    ['boxes', 'box'],
    ['searches', 'search'],
    ['statuses', 'status'],
    ['houses', 'house'],
    ['databases', 'database'],
    ['tomatoes', 'tomato'],
    ['children', 'child'],
    ['status', 'status'],
    ['analysis', 'analysis'],
    ['address', 'address'],
    ['news', 'news'],
  ])('of %s is %s', (word, expected) => {
    expect(singular(word)).toBe(expected);
  });

  it('is one spelling for movie and movies', () => {
    expect(singular('movies')).toBe(singular('movie'));
  });
});

describe('the terms of a text', () => {
  it('leave out function words and courtesies but keep the verbs of tools', () => {
    expect(analyse('Could you please get me the files of a user?')).toEqual(['get', 'file', 'user']);
  });

  it('are the function words where there is nothing else', () => {
    expect(analyse('who am I')).toEqual(['who', 'am', 'i']);
  });

  it('leave out function words with an ending, but no word that only looks like one', () => {
    expect(analyse('wanting mining')).toEqual(['mining']);
  });

  it('are the same for the analyser of many texts, unless a text says nothing', () => {
    const analyseNext = createTextAnalyser();
    const texts = fc.array(fc.oneof(fc.string({ unit: 'grapheme' }), fc.lorem()), { maxLength: 8 });
    fc.assert(
      fc.property(texts, (parts) => {
        const text = `file ${parts.join(' ')}`;
        expect(analyseNext(text)).toEqual(analyse(text));
      }),
    );
    expect(analyseNext('who am I')).toEqual([]);
  });
});
