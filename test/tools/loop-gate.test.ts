import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLoopGate, type LoopGate } from '../../src/tools/loop-gate.ts';

function fail(gate: LoopGate, times: number, toolName = 'read', args = { path: 'a' }): void {
  for (let time = 0; time < times; time += 1) gate.note(toolName, args, 'failure');
}

describe('TR-06 the loop gate', () => {
  it('TR-06 blocks the third identical failing call and every further one', () => {
    const gate = createLoopGate();
    expect(gate.isBlocked('read', { path: 'a' })).toBe(false);
    fail(gate, 1);
    expect(gate.isBlocked('read', { path: 'a' })).toBe(false);
    fail(gate, 1);
    expect(gate.isBlocked('read', { path: 'a' })).toBe(true);
    fail(gate, 1);
    expect(gate.isBlocked('read', { path: 'a' })).toBe(true);
  });

  it('TR-06 takes arguments in another order of keys for the same', () => {
    const gate = createLoopGate();
    gate.note('edit', { path: 'a', at: { line: 1, column: 2 } }, 'failure');
    gate.note('edit', { at: { column: 2, line: 1 }, path: 'a' }, 'failure');
    expect(gate.isBlocked('edit', { path: 'a', at: { line: 1, column: 2 } })).toBe(true);
  });

  it('TR-06 lets a call with other arguments or another tool pass', () => {
    const gate = createLoopGate();
    fail(gate, 2);
    expect(gate.isBlocked('read', { path: 'b' })).toBe(false);
    expect(gate.isBlocked('write', { path: 'a' })).toBe(false);
  });

  it('TR-06 starts anew after a different call, failed or not', () => {
    for (const outcome of ['failure', 'success'] as const) {
      const gate = createLoopGate();
      fail(gate, 2);
      gate.note('list', {}, outcome);
      expect(gate.isBlocked('read', { path: 'a' })).toBe(false);
    }
  });

  it('TR-06 starts anew after a success of the same call', () => {
    const gate = createLoopGate();
    fail(gate, 1);
    gate.note('read', { path: 'a' }, 'success');
    fail(gate, 1);
    expect(gate.isBlocked('read', { path: 'a' })).toBe(false);
  });

  it('TR-06 never blocks polling that succeeds', () => {
    const gate = createLoopGate();
    for (let poll = 0; poll < 1_000; poll += 1) {
      expect(gate.isBlocked('status', { job: 1 })).toBe(false);
      gate.note('status', { job: 1 }, 'success');
    }
  });

  it('TR-06 keeps the streak of one turn from another', () => {
    fail(createLoopGate(), 2);
    expect(createLoopGate().isBlocked('read', { path: 'a' })).toBe(false);
  });

  it('asking changes nothing', () => {
    const gate = createLoopGate();
    fail(gate, 2);
    gate.isBlocked('write', {});
    expect(gate.isBlocked('read', { path: 'a' })).toBe(true);
  });

  it('follows another limit', () => {
    const gate = createLoopGate(4);
    fail(gate, 3);
    expect(gate.isBlocked('read', { path: 'a' })).toBe(false);
    fail(gate, 1);
    expect(gate.isBlocked('read', { path: 'a' })).toBe(true);
    const never = createLoopGate(Number.POSITIVE_INFINITY);
    fail(never, 1_000);
    expect(never.isBlocked('read', { path: 'a' })).toBe(false);
  });

  it('blocks exactly if the last calls were that call, failing', () => {
    const call = fc.record({
      tool: fc.constantFrom('a', 'b'),
      n: fc.constantFrom(1, 2),
      outcome: fc.constantFrom<'success' | 'failure'>('success', 'failure', 'failure', 'failure'),
    });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 12 }), (calls) => {
        const gate = createLoopGate();
        for (const { tool, n, outcome } of calls) gate.note(tool, { n }, outcome);
        for (const tool of ['a', 'b']) {
          for (const n of [1, 2]) {
            const last = calls.slice(-2);
            const expected =
              last.length === 2 &&
              last.every((one) => one.tool === tool && one.n === n && one.outcome === 'failure');
            expect(gate.isBlocked(tool, { n })).toBe(expected);
          }
        }
      }),
    );
  });
});
