import { expect, it } from 'vitest';
import { count, formatCount, formatElapsed, formatMs, formatUsd } from '../../src/cli/amounts.ts';

it.each([
  [0, '0 ms'],
  [999.4, '999 ms'],
  [1_000, '1.0 s'],
  [59_949, '59.9 s'],
  [59_999, '1 min 00 s'],
  [3_599_400, '59 min 59 s'],
  [3_599_900, '1 h 00 min'],
  [7_500_000, '2 h 05 min'],
])('tells %d ms as %s', (ms, text) => {
  expect(formatMs(ms)).toBe(text);
});

it.each([
  [-5, '0 s'],
  [999, '0 s'],
  [59_999, '59 s'],
  [61_000, '1 min 01 s'],
])('tells %d ms that still run as %s', (ms, text) => {
  expect(formatElapsed(ms)).toBe(text);
});

it.each([
  [0.00001, '<$0.0001'],
  [0.0123, '$0.0123'],
  [1.5, '$1.50'],
])('tells %d dollars as %s', (usd, text) => {
  expect(formatUsd(usd)).toBe(text);
});

it.each([
  [9_999, '9999'],
  [12_345, '12.3k'],
  [999_950, '1.0M'],
])('tells %d as %s', (amount, text) => {
  expect(formatCount(amount)).toBe(text);
});

it('counts one and several things', () => {
  expect([count(1, 'step'), count(2, 'step')]).toEqual(['1 step', '2 steps']);
});
