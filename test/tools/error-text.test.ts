import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SwarmError } from '../../src/errors.ts';
import { DEFAULT_LIMITS } from '../../src/limits.ts';
import { errorText } from '../../src/tools/error-text.ts';

const text = (error: unknown) => errorText(error, DEFAULT_LIMITS);

describe('TR-09 errorText', () => {
  it('TR-09 cuts at 4,000 characters with an ellipsis', () => {
    expect(text('x'.repeat(4_000))).toBe('x'.repeat(4_000));
    expect(text(new TypeError('x'.repeat(9_000)))).toHaveLength(4_000);
    expect(text('x'.repeat(4_001))).toBe(`${'x'.repeat(3_999)}…`);
  });

  it('TR-09 splits no character at the cut', () => {
    expect(text(`${'x'.repeat(3_998)}😀yz`).isWellFormed()).toBe(true);
  });

  it('TR-09 masks secrets, also one that the cut would halve', () => {
    const secret = `sk-proj-${'Ab3dEf6h'.repeat(6)}`;
    expect(text(new TypeError(`key ${secret} refused`))).toBe('TypeError: key [redacted] refused');
    const halved = text(`${'x'.repeat(3_980)} ${secret}`);
    expect(halved).not.toContain('sk-proj');
  });

  it('TR-09 shows no stack', () => {
    expect(text(new TypeError('broken'))).not.toContain('error-text.test');
  });

  it.each<[unknown, string]>([
    [new TypeError('broken'), 'TypeError: broken'],
    [new SwarmError('unknown-tool', 'no such tool'), 'no such tool'],
    [new RangeError(''), 'RangeError'],
    ['a thrown text', 'a thrown text'],
    ['', 'an empty error'],
    [undefined, 'an unknown error'],
    [null, 'null'],
    [{ message: 'like an error' }, 'like an error'],
    [{ code: 7 }, '{"code":7}'],
    [42n, '"42"'],
    [new DOMException('too slow', 'TimeoutError'), 'TimeoutError: too slow'],
  ])('tells %s', (error, expected) => {
    expect(text(error)).toBe(expected);
  });

  it('tells the causes, each once, and no endless chain', () => {
    expect(text(new TypeError('outer', { cause: new RangeError('inner') }))).toBe(
      'TypeError: outer; caused by: RangeError: inner',
    );
    expect(text(new TypeError('failed: RangeError: inner', { cause: new RangeError('inner') }))).toBe(
      'TypeError: failed: RangeError: inner',
    );
    const loop = new TypeError('round');
    loop.cause = new RangeError('and round', { cause: loop });
    expect(text(loop).length).toBeLessThan(300);
  });

  it('tells what an aggregate holds', () => {
    expect(text(new AggregateError([new TypeError('a'), 'b'], 'both failed'))).toBe(
      'AggregateError: both failed (TypeError: a; b)',
    );
  });

  it('never throws', () => {
    const throwing = Object.defineProperty(new TypeError('x'), 'message', {
      get: () => {
        throw new TypeError('trap');
      },
    });
    expect(text(throwing)).toBe('an error that cannot be read');
    fc.assert(
      fc.property(fc.anything(), (thrown) => {
        expect(text(thrown).length).toBeLessThanOrEqual(4_000);
      }),
    );
  });
});
