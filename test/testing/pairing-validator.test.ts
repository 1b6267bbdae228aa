import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type PairedMessage,
  pairingViolations,
  toolNameViolations,
} from '../../src/testing/pairing-validator.ts';

const user: PairedMessage = { role: 'user' };
const calls = (...ids: readonly string[]): PairedMessage => ({
  role: 'assistant',
  calls: ids.map((id) => ({ id, name: 'look' })),
});
const results = (...answers: readonly string[]): PairedMessage => ({ role: 'tool', answers });

describe('pairingViolations', () => {
  it.each([
    ['nothing', []],
    ['text only', [user, calls(), user]],
    ['calls and their results', [user, calls('a', 'b'), results('a'), results('b'), calls()]],
    ['results in one message', [user, calls('a', 'b'), results('a', 'b'), user]],
  ])('finds nothing wrong with %s', (_, messages) => {
    expect(pairingViolations(messages)).toEqual([]);
  });

  it.each([
    ['a call without a result', [calls('a'), user], /message 1: no result before it for "a"/],
    ['a call without a result at the end', [user, calls('a')], /at the end: no result for "a"/],
    ['a result too few', [calls('a', 'b'), results('a'), calls()], /message 2: no result before it for "b"/],
    ['a result without a call', [user, results('a')], /message 1: result for "a" answers no open call/],
    ['a result too many', [calls('a'), results('a', 'a')], /message 1: result for "a" answers no open call/],
    ['results in another order', [calls('a', 'b'), results('b', 'a')], /result for "b" where "a" is due/],
    ['a result after something else', [calls('a'), user, results('a')], /message 1: no result/],
    [
      'an id used twice',
      [calls('a'), results('a'), calls('a'), results('a')],
      /message 2: call id "a" occurs twice/,
    ],
    ['an empty id', [calls(''), results('')], /call id "" is illegal/],
    [
      'an illegal name',
      [{ role: 'assistant', calls: [{ id: 'a', name: 'a.b' }] }, results('a')],
      /"a\.b" is illegal/,
    ],
    [
      'arguments that are no object',
      [{ role: 'assistant', calls: [{ id: 'a', name: 'a', complaint: 'bad' }] }, results('a')],
      /call "a": bad/,
    ],
  ])('finds %s', (_, messages, expected) => {
    expect(pairingViolations(messages).join('\n')).toMatch(expected);
  });

  it('finds every single loss, swap and repetition in a sound conversation', () => {
    const steps = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(steps, fc.nat(), fc.constantFrom('lose', 'repeat'), (counts, pick, how) => {
        const messages = counts.flatMap((count, step) => {
          const ids = Array.from({ length: count }, (_, at) => `${step}-${at}`);
          return [calls(...ids), ...ids.map((id) => results(id))];
        });
        expect(pairingViolations(messages)).toEqual([]);
        const at = pick % messages.length;
        const broken =
          how === 'lose' ? messages.toSpliced(at, 1) : messages.toSpliced(at, 0, messages[at] ?? user);
        expect(pairingViolations(broken)).not.toEqual([]);
      }),
    );
  });
});

it('finds illegal and repeated tool names', () => {
  expect(toolNameViolations(['ok', 'a b', 'ok'])).toEqual([
    'tool name "a b" is illegal',
    'tool name "ok" occurs twice',
  ]);
});
