import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createStepAdmission } from '../../src/tools/step-admission.ts';
import { boundNamed } from './bound-tool.ts';

const plain = boundNamed('read');
const other = boundNamed('list');
const alone = boundNamed('yield_turn', { exclusive: true });

describe('TR-05 step admission', () => {
  it('TR-05 admits calls that share a step', () => {
    const admission = createStepAdmission();
    expect([
      admission.admit('c0', plain),
      admission.admit('c1', other),
      admission.admit('c2', plain),
    ]).toEqual([undefined, undefined, undefined]);
  });

  it('TR-05 refuses an exclusive call after a sibling', () => {
    const admission = createStepAdmission();
    expect(admission.admit('c0', plain)).toBeUndefined();
    expect(admission.admit('c1', alone)).toMatch(
      /^yield_turn did not run: .*send it again in a later step\.$/,
    );
    expect(admission.admit('c2', other)).toBeUndefined();
  });

  it('TR-05 refuses every sibling after an exclusive call, naming it', () => {
    const admission = createStepAdmission();
    expect(admission.admit('c0', alone)).toBeUndefined();
    expect(admission.admit('c1', plain)).toMatch(
      /^read did not run: yield_turn, .*send it again in a later step\.$/,
    );
    expect(admission.admit('c2', alone)).toMatch(/^yield_turn did not run/);
  });

  it('TR-05 gives the same answer when the same call asks again', () => {
    const admission = createStepAdmission();
    admission.admit('c0', alone);
    expect(admission.admit('c0', alone)).toBeUndefined();
  });

  it('TR-05 lets an exclusive call run alone, or none of them, in any order', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 8 }), (exclusives) => {
        const admission = createStepAdmission();
        const ran = exclusives.filter(
          (exclusive, at) => admission.admit(`c${at}`, exclusive ? alone : plain) === undefined,
        );
        expect(ran.length).toBeGreaterThan(0);
        if (ran.includes(true)) expect(ran).toEqual([true]);
        expect(ran[0]).toBe(exclusives[0]);
      }),
    );
  });
});
