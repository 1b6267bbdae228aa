import { describe, expect, it } from 'vitest';
import { createPatternGuard } from '../../src/tools/guarded-pattern.ts';

const compile = (source: string) => createPatternGuard().compile(source, 'u');
/** Runs of a few hundred milliseconds at most, on a machine that does other things too. */
const SOON_MS = 3_000;

function timed(run: () => unknown): number {
  const startedMs = performance.now();
  run();
  return performance.now() - startedMs;
}

describe('a guarded pattern', () => {
  it.each([
    ['^[a-z]+$', 'abc', 'ABC'],
    ['^(\\w+\\.)+\\w+$', 'www.example.org-and-more'.replace('-and-more', ''), 'no dots in here'],
    ['^([a-z]+)-\\1$', 'abcdefgh-abcdefgh', 'abcdefgh-abcdefgi'],
    ['^\\p{L}+$', 'größe', '1'],
    ['^.{3}$', '😀😀😀', '😀'],
  ])('matches as %s does', (source, fit, unfit) => {
    expect(compile(source).test(fit)).toBe(true);
    expect(compile(source).test(unfit)).toBe(false);
  });

  it.each([
    ['^(a+)+$', `${'a'.repeat(60)}!`],
    ['^((a)+b?)+$', `${'a'.repeat(60)}!`],
    ['^(a|a)*$', `${'a'.repeat(60)}!`],
    ['^(a|aa)+$', `${'a'.repeat(80)}!`],
    ['a*a*a*a*a*a*a*b', 'a'.repeat(900)],
    ['^(?:(?:x{1,9}){1,9}){1,9}$', `${'x'.repeat(100)}!`],
  ])('ends %s in time and counts it as no match', (source, text) => {
    expect(timed(() => expect(compile(source).test(text)).toBe(false))).toBeLessThan(SOON_MS);
  });

  it('matches a long text with a simple pattern', () => {
    expect(compile('^x+$').test('x'.repeat(1_000_000))).toBe(true);
  });

  it('spends no more than its budget on one validation, and has it again for the next', () => {
    const guard = createPatternGuard();
    const pattern = guard.compile('^(a+)+$', 'u');
    const hostile = `${'a'.repeat(60)}!`;
    const spent = timed(() => {
      for (let time = 0; time < 200; time += 1) pattern.test(hostile);
    });
    expect(spent).toBeLessThan(SOON_MS);
    expect(pattern.test('a'.repeat(60))).toBe(false);
    guard.reset();
    expect(pattern.test('a'.repeat(60))).toBe(true);
  });

  it('reads what only the older syntax allows', () => {
    expect(compile('^\\-a$').test('-a')).toBe(true);
    expect(compile('^\\-a$').test('b')).toBe(false);
  });

  it('lets everything pass where the pattern is of another dialect', () => {
    expect(compile('(?i)^a$').test('anything')).toBe(true);
    expect(compile('[').test('anything')).toBe(true);
  });
});
