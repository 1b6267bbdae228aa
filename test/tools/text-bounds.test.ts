import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '../../src/limits.ts';
import { boundText, countLines } from '../../src/tools/text-bounds.ts';

const bounds = {
  maxLines: DEFAULT_LIMITS.tools.maxResultLines,
  maxBytes: DEFAULT_LIMITS.tools.maxResultBytes,
};
const lines = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}`).join('\n');

describe('TR-08 boundText', () => {
  it('TR-08 leaves a text at exactly its bounds untouched', () => {
    const full = 'x'.repeat(51_200);
    expect(boundText(full, bounds)).toEqual({ text: full, truncated: false });
    expect(boundText(lines(2_000), bounds)).toEqual({ text: lines(2_000), truncated: false });
    expect(boundText(`${lines(2_000)}\n`, bounds)).toEqual({ text: `${lines(2_000)}\n`, truncated: false });
  });

  it('TR-08 cuts 2,001 lines to 2,000 and a marker', () => {
    const { text, truncated } = boundText(lines(2_001), bounds);
    expect(truncated).toBe(true);
    expect(text).toBe(
      `${lines(2_000)}\n[truncated: 1 more line, 9 more bytes. Ask for a smaller part to see the rest.]`,
    );
  });

  it('TR-08 cuts 51,201 bytes to 51,200 and a marker', () => {
    const { text, truncated } = boundText('x'.repeat(51_201), bounds);
    expect(truncated).toBe(true);
    expect(text).toBe(
      `${'x'.repeat(51_200)}\n[truncated: 1 more line, 1 more byte. Ask for a smaller part to see the rest.]`,
    );
  });

  it('TR-08 splits no character', () => {
    const text = `${'x'.repeat(51_199)}😀`;
    expect(boundText(text, bounds).text.split('\n')[0]).toBe('x'.repeat(51_199));
    expect(boundText('😀é漢', { maxLines: 9, maxBytes: 5 }).text.split('\n')[0]).toBe('😀');
  });

  it.each(['\n', '\r\n'])('TR-08 drops a lone line end over the bound without a marker', (end) => {
    const full = 'x'.repeat(51_200);
    expect(boundText(full + end, bounds)).toEqual({ text: full, truncated: false });
  });

  it('says how to get the rest', () => {
    expect(boundText('a\nb', { ...bounds, maxLines: 1, rest: 'Call read_more.' }).text).toBe(
      'a\n[truncated: 1 more line, 1 more byte. Call read_more.]',
    );
  });

  it('keeps beginning and count true for any text', () => {
    const text = fc
      .array(fc.oneof(fc.constantFrom('\n', '\r\n', '\n\n'), fc.string({ unit: 'grapheme', maxLength: 6 })))
      .map((pieces) => pieces.join(''));
    const some = fc.record({
      maxLines: fc.integer({ min: 1, max: 6 }),
      maxBytes: fc.integer({ min: 1, max: 30 }),
    });
    fc.assert(
      fc.property(text, some, (given, limits) => {
        const { text: shown, truncated } = boundText(given, limits);
        if (!truncated) {
          expect([given, given.replace(/\r?\n$/, '')]).toContain(shown);
          expect(countLines(shown)).toBeLessThanOrEqual(limits.maxLines);
          expect(Buffer.byteLength(shown.replace(/\r?\n$/, ''))).toBeLessThanOrEqual(limits.maxBytes);
          return;
        }
        const at = shown.lastIndexOf('\n[truncated: ');
        const head = shown.slice(0, at);
        const [, moreLines, moreBytes] =
          /truncated: (\d+) more lines?, (\d+) more byte/.exec(shown.slice(at)) ?? [];
        expect(given.startsWith(head)).toBe(true);
        expect(countLines(head)).toBeLessThanOrEqual(limits.maxLines);
        expect(Buffer.byteLength(head)).toBeLessThanOrEqual(limits.maxBytes);
        expect(head.isWellFormed()).toBe(given.isWellFormed());
        const removed = given.slice(head.length).replace(/^\r?\n/, '');
        expect(Number(moreBytes)).toBe(Buffer.byteLength(removed));
        expect(Number(moreBytes)).toBeGreaterThan(0);
        expect(Number(moreLines)).toBe(countLines(removed));
      }),
      { numRuns: 1_000 },
    );
  });

  it('lifts a bound that is infinite', () => {
    const text = 'x\n'.repeat(100_000);
    expect(
      boundText(text, { maxLines: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY }).text,
    ).toBe(text);
  });

  it('cuts a text of many megabytes quickly', () => {
    const text = 'line\n'.repeat(10_000_000);
    const startedMs = performance.now();
    expect(boundText(text, bounds).truncated).toBe(true);
    expect(performance.now() - startedMs).toBeLessThan(3_000);
  });
});

describe('countLines', () => {
  it.each([
    ['', 0],
    ['a', 1],
    ['a\n', 1],
    ['a\nb', 2],
    ['\n', 1],
    ['\n\n', 2],
  ])('counts %j as %i', (text, count) => {
    expect(countLines(text)).toBe(count);
  });
});
