import fc from 'fast-check';
import { expect, it } from 'vitest';
import { jsonText } from '../../src/cli/json-text.ts';

it('is JSON of the same value without a character that a terminal acts on', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string({ unit: 'binary' }), (value, text) => {
      const json = jsonText({ value, text: `\u009b2J\u202e${text}\u{E0041}` });
      expect(json).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
      expect(JSON.parse(json)).toEqual(
        JSON.parse(JSON.stringify({ value, text: `\u009b2J\u202e${text}\u{E0041}` })),
      );
    }),
  );
});
