import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PromptMessage } from '../../src/model/adapter.ts';
import { findPairingViolations } from '../../src/turn/pairing.ts';
import { applyPruning, planPruning, type ResultPlace } from '../../src/turn/prune-results.ts';

const BOUNDS = { high: 10_000, low: 5_000, min: 1_000 };

interface Call {
  readonly key: string;
  readonly chars: number;
  readonly isError?: boolean;
}

/** A history of one turn, one list of calls a step. */
function historyOf(steps: readonly (readonly Call[])[], turn = 't') {
  const places = new Map<string, ResultPlace>();
  const messages: PromptMessage[] = [{ role: 'user', content: [{ type: 'text', text: 'Go.' }] }];
  steps.forEach((calls, step) => {
    const ids = calls.map((_, ordinal) => `${step + 1}.${ordinal}`);
    messages.push({
      role: 'assistant',
      content: ids.map((wireId) => ({ type: 'call', wireId, toolName: 'read', args: {} })),
    });
    const results = calls.map(({ key, chars, isError = false }, ordinal) => {
      const wireId = `${step + 1}.${ordinal}`;
      places.set(wireId, { turn, handle: `1.${wireId}`, toolName: 'read', key, isError, seq: step });
      return { wireId, toolName: 'read', output: { type: 'text' as const, text: 'x'.repeat(chars) } };
    });
    if (calls.length > 0) messages.push({ role: 'tool', results });
  });
  return { messages, placeOf: (wireId: string) => places.get(wireId) };
}

function pruned(steps: readonly (readonly Call[])[]) {
  const { messages, placeOf } = historyOf(steps);
  return Object.fromEntries(planPruning(messages, placeOf, BOUNDS));
}

const call = (key: string, chars: number): Call => ({ key, chars });

describe('pruning', () => {
  it('CX-03 leaves everything while the results fit', () => {
    expect(pruned([[call('a', 4_000)], [call('a', 4_000)]])).toEqual({});
  });

  it('CX-03 leaves superseded results out first, then the oldest until half is free', () => {
    const steps = [[call('a', 4_000)], [call('b', 4_000)], [call('a', 1_500)], [call('c', 4_000)]];
    expect(pruned(steps)).toEqual({ '1.0': 'superseded', '2.0': 'oversized', '3.0': 'oversized' });
  });

  it('keeps short results', () => {
    expect(pruned([[call('a', 900)], [call('b', 6_000)], [call('c', 6_000)]])).toEqual({
      '2.0': 'oversized',
    });
  });

  it('leaves an earlier turn as it ended, whatever a later one adds', () => {
    const earlier = historyOf([[call('a', 6_000)], [call('b', 6_000)]], 'earlier');
    const before = planPruning(earlier.messages, earlier.placeOf, BOUNDS);
    const later = historyOf([[], [], [call('c', 6_000)], [call('a', 6_000)]], 'later');
    const messages = [...earlier.messages, ...later.messages];
    const placeOf = (wireId: string) => earlier.placeOf(wireId) ?? later.placeOf(wireId);
    const after = planPruning(messages, placeOf, BOUNDS);
    expect([...before]).toEqual([['1.0', 'oversized']]);
    expect([...after]).toEqual([...before, ['3.0', 'oversized']]);
  });

  it('keeps an older success that only an error followed', () => {
    const steps = [[call('a', 4_000)], [{ key: 'a', chars: 4_000, isError: true }], [call('b', 4_000)]];
    expect(pruned(steps)).toEqual({ '1.0': 'oversized', '2.0': 'superseded' });
  });

  it('leaves out of one step only what no request could hold', () => {
    expect(pruned([[call('a', 8_000), call('b', 3_000)]])).toEqual({ '1.0': 'oversized' });
  });

  it('says how to read a result back', () => {
    const { messages, placeOf } = historyOf([[call('a', 9_000)], [call('b', 9_000)]]);
    const plan = planPruning(messages, placeOf, BOUNDS);
    const shown = JSON.stringify(applyPruning(messages, plan, placeOf));
    expect(shown).toContain('9000 characters');
    expect(shown).toContain('read_artifact with {\\"id\\":\\"1.1.0\\"}');
  });

  it('never touches a result that holds an image', () => {
    const { messages, placeOf } = historyOf([[call('a', 1)], [call('b', 20_000)]]);
    const image = {
      type: 'image' as const,
      mediaType: 'image/png',
      source: { type: 'url' as const, url: 'u' },
    };
    const withImage = messages.map((message, at) =>
      at !== 2 || message.role !== 'tool'
        ? message
        : {
            ...message,
            results: message.results.map((result) => ({
              ...result,
              output: {
                type: 'content' as const,
                parts: [{ type: 'text' as const, text: 'x'.repeat(20_000) }, image],
              },
            })),
          },
    );
    expect(planPruning(withImage, placeOf, BOUNDS).has('1.0')).toBe(false);
  });
});

const anyCall = fc.record({
  key: fc.constantFrom('a', 'b', 'c'),
  chars: fc.integer({ min: 0, max: 12_000 }),
  isError: fc.boolean(),
});
const anySteps = fc.array(fc.array(anyCall, { minLength: 1, maxLength: 4 }), { maxLength: 12 });

describe('for every history, pruning', () => {
  it('CX-03 keeps order and pairing and stays out of the rest', () => {
    fc.assert(
      fc.property(anySteps, (steps) => {
        const { messages, placeOf } = historyOf(steps);
        const plan = planPruning(messages, placeOf, BOUNDS);
        const after = applyPruning(messages, plan, placeOf);
        expect(findPairingViolations(after)).toEqual([]);
        expect(after.map(({ role }) => role)).toEqual(messages.map(({ role }) => role));
        for (const [at, message] of after.entries()) {
          if (message.role !== 'tool') expect(message).toBe(messages[at]);
        }
      }),
    );
  });

  it('CX-03 takes nothing back: what a longer history begins with is left out as before', () => {
    fc.assert(
      fc.property(anySteps, fc.nat(), (steps, cut) => {
        const shorter = historyOf(steps.slice(0, cut % (steps.length + 1)));
        const longer = historyOf(steps);
        const before = planPruning(shorter.messages, shorter.placeOf, BOUNDS);
        const after = planPruning(longer.messages, longer.placeOf, BOUNDS);
        for (const [wireId, reason] of before) expect(after.get(wireId)).toBe(reason);
      }),
    );
  });

  it('CX-03 brings what can be left out under the bound', () => {
    fc.assert(
      fc.property(anySteps, (steps) => {
        const { messages, placeOf } = historyOf(steps);
        const plan = planPruning(messages, placeOf, BOUNDS);
        const calls = steps.flatMap((calls, step) =>
          calls.map(({ chars }, ordinal) => ({ chars, id: `${step + 1}.${ordinal}` })),
        );
        const left = calls.filter(({ id, chars }) => !plan.has(id) && chars >= BOUNDS.min);
        const short = calls.filter(({ chars }) => chars < BOUNDS.min);
        const sum = (all: readonly { chars: number }[]) => all.reduce((total, { chars }) => total + chars, 0);
        const last = steps.at(-1)?.length ?? 0;
        // The last step, and what was read since the last batch, may stand beside what is free.
        expect(sum(left)).toBeLessThanOrEqual(BOUNDS.high + sum(short) + sum(calls.slice(-last)));
      }),
    );
  });
});
