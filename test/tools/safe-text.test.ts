import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutChars, hasUnseen, safeName, safeText, stripControl } from '../../src/tools/safe-text.ts';

const UNSEEN = /[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]/u;

const KEPT = /\n|\t|\ufe0f/g;

describe('safeText', () => {
  it.each([
    ['C0 controls', 'a\u0000b\u0007c\u001bd', 'abcd'],
    ['C1 controls', 'a\u0080b\u009fc', 'abc'],
    ['bidi overrides', 'a\u202eb\u2066c\u061cd', 'abcd'],
    ['zero-width characters', 'a\u200bb\u200dc\ufeffd\u2060e', 'abcde'],
    ['tag characters', 'a\u{e0041}\u{e007f}b', 'ab'],
    ['variation selectors that carry bytes', 'a\u{e0100}\ufe00b', 'ab'],
    ['fillers', 'a\u3164\u115fb', 'ab'],
  ])('removes %s', (_, text, expected) => {
    expect(safeText(text)).toBe(expected);
  });

  it('keeps line feeds, tabs and emoji presentation and unifies line ends', () => {
    expect(safeText('a\r\nb\rc\u2028d\te\u2764\ufe0f')).toBe('a\nb\nc\nd\te\u2764\ufe0f');
  });

  it('cuts at 1,024 characters by default and shows that it did', () => {
    expect(safeText('x'.repeat(1_024))).toBe('x'.repeat(1_024));
    expect(safeText('x'.repeat(1_025))).toBe(`${'x'.repeat(1_023)}…`);
  });

  it('finds the text behind invisible padding without reading megabytes', () => {
    expect(safeText(`${'\u200b'.repeat(1_000)}hello`)).toBe('hello');
    expect(safeText('\u200b'.repeat(5_000_000))).toBe('');
  });

  it('gives well-formed visible text of bounded length for any text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 60 }),
        fc.integer({ min: 1, max: 40 }),
        (text, max) => {
          const safe = safeText(text, max);
          expect(safe.length).toBeLessThanOrEqual(max);
          expect(safe.isWellFormed()).toBe(true);
          expect(safe.replace(KEPT, '')).not.toMatch(UNSEEN);
          expect(hasUnseen(safe)).toBe(false);
        },
      ),
    );
  });
});

describe('safeName', () => {
  it('makes one line of a name', () => {
    expect(safeName('  read\n\nfile\t now ')).toBe('read file now');
  });

  it('removes what could end a quotation, a code span or a tag', () => {
    expect(safeName('a`b"c</d>')).toBe('abc/d');
    fc.assert(fc.property(fc.stringMatching(/^[A-Za-z0-9_.:-]{1,64}$/), (name) => safeName(name) === name));
  });

  it('cuts at 64 characters by default', () => {
    expect(safeName('n'.repeat(65))).toBe(`${'n'.repeat(63)}…`);
  });
});

describe('stripControl', () => {
  it.each([
    ['colours', '\u001b[31mred\u001b[0m', 'red'],
    ['cursor moves', 'a\u001b[2J\u001b[1;1Hb', 'ab'],
    ['a hyperlink', '\u001b]8;;http://evil\u0007text\u001b]8;;\u0007', 'text'],
    ['a clipboard write', '\u001b]52;c;ZXZpbA==\u001b\\ok', 'ok'],
    ['device control', 'a\u001bPq#0\u001b\\b', 'ab'],
    ['8-bit sequences', 'a\u009b31mb\u009d0;title\u009cc', 'abc'],
    ['carriage returns that overwrite', 'harmless\rrm -rf', 'harmless\nrm -rf'],
    ['a lone escape', 'a\u001b', 'a'],
  ])('removes %s', (_, text, expected) => {
    expect(stripControl(text)).toBe(expected);
  });

  it('lets an unterminated sequence hide no more than its line', () => {
    expect(stripControl('a\u001b]0;title\nb')).toBe('a\nb');
  });

  it('leaves nothing a terminal acts on, whatever it gets', () => {
    const piece = fc.oneof(
      fc.constantFrom('\u001b', '[', ']', '\u0007', '\\', '\u009b', '\u009d', 'm', ';', '\r', '\n', 'P', '^'),
      fc.string({ unit: 'binary', maxLength: 3 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        expect(stripControl(pieces.join('')).replace(KEPT, '')).not.toMatch(UNSEEN);
      }),
    );
  });

  it('is linear in hostile text', () => {
    const startedMs = performance.now();
    stripControl('\u001b]'.repeat(500_000));
    stripControl('\u001b['.repeat(500_000));
    stripControl(`\u001b[${'0'.repeat(1_000_000)}`);
    expect(performance.now() - startedMs).toBeLessThan(3_000);
  });
});

describe('cutChars', () => {
  it('splits no surrogate pair', () => {
    expect(cutChars('ab😀cd', 4)).toBe('ab…');
    expect(cutChars('ab😀cd', 5)).toBe('ab😀…');
  });

  it('gives nothing where nothing is allowed', () => {
    expect(cutChars('abc', 0)).toBe('');
  });
});
