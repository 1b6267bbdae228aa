import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { fitLine, lineWidth, plainText, shownLines, shownText, span, wrapText } from '../../src/cli/line.ts';
import { paintLine } from '../../src/cli/paint.ts';

/** Texts with what terminals act on, wide and joined characters among others. */
const texts = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        '\u001b[2J',
        '\u001b]52;c;eA==\u0007',
        '\u009b1m',
        '\r',
        '\u202e',
        '\u0007',
        '漢字',
        '👩‍👩‍👧',
        'é́́',
        ' ',
        'word',
        '\n',
        '\t',
      ),
    ),
    { maxLength: 20 },
  )
  .map((parts) => parts.join(''));

const UNSHOWN = /[\p{Cc}\p{Bidi_Control}\p{Cs}]/u;

describe('text for a terminal', () => {
  it('is one line without anything a terminal acts on', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(shownText(text)).not.toMatch(UNSHOWN);
        for (const line of shownLines(text)) expect(line).not.toMatch(UNSHOWN);
      }),
    );
  });

  it('keeps the line ends of a text that may have several', () => {
    expect(shownLines('one\r\ntwo\rthree\n\nfour')).toEqual(['one', 'two', 'three', '', 'four']);
  });

  it('is painted with colours or without, and the text is the same', () => {
    const line = [span('good', 'good'), span(' and '), span('bad', 'bad')];
    expect(paintLine(line, false)).toBe('good and bad');
    expect(paintLine(line, true)).toBe('\u001b[32mgood\u001b[39m and \u001b[31mbad\u001b[39m');
  });
});

describe('a line', () => {
  it('fits the columns it is given and halves no character', () => {
    fc.assert(
      fc.property(texts, texts, fc.integer({ min: 1, max: 40 }), (first, second, columns) => {
        const line = [span(first, 'bold'), span(second)];
        const fitted = fitLine(line, columns);
        expect(lineWidth(fitted)).toBeLessThanOrEqual(columns);
        expect(plainText(line)).toContain(plainText(fitted).replace(/…$/, ''));
      }),
    );
  });

  it('that fits is left as it is', () => {
    const line = [span('漢字')];
    expect(fitLine(line, 4)).toBe(line);
    expect(plainText(fitLine(line, 3))).toBe('漢…');
  });
});

describe('a wrapped text', () => {
  it('has no line wider than its columns and loses no word', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 4, max: 40 }), (text, columns) => {
        const lines = wrapText(text, columns).map(plainText);
        for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(columns);
        const bare = (words: string) => words.replaceAll(/\s/gu, '');
        expect(bare(lines.join(''))).toBe(bare(shownLines(text).join('')));
      }),
    );
  });
});
