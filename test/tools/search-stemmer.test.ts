import { describe, expect, it } from 'vitest';
import { stem } from '../../src/tools/search-stemmer.ts';

describe('the stem of a word', () => {
  it.each([
    ['convert', 'converted', 'converting', 'converts'],
    ['search', 'searching', 'searches'],
    ['process', 'processes', 'processing'],
    ['address', 'addresses', 'addressing'],
    ['create', 'created', 'creating'],
    ['translate', 'translation', 'translating'],
    ['get', 'getting'],
    ['recommend', 'recommendation', 'recommended'],
    ['query', 'queries', 'querying'],
    ['setting', 'settings'],
    ['calculate', 'calculator', 'calculation'],
    ['predict', 'prediction', 'predictive'],
    ['happy', 'happiness'],
    ['agree', 'agreed'],
  ])('is shared by %s and its inflections', (...words) => {
    expect(new Set(words.map(stem)).size).toBe(1);
  });

  it.each([
    ['weather', 'whether'],
    ['create', 'cree'],
    ['station', 'state'],
    ['file', 'fill'],
    ['policy', 'police'],
  ])('keeps %s and %s apart', (one, other) => {
    expect(stem(one)).not.toBe(stem(other));
  });

  it('leaves short words and other scripts as they are', () => {
    expect(['is', 'go', '\u5929\u6c14', 's3'].map(stem)).toEqual(['is', 'go', '\u5929\u6c14', 's3']);
  });
});
