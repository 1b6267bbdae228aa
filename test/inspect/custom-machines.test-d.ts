import { expectTypeOf, it } from 'vitest';
import { stepMachine } from '../../machines/step.ts';
import { turnMachine } from '../../machines/turn.ts';
import type { RuntimeOptions } from '../../src/agent/runtime-options.ts';

it('machines take what provide makes of those of their kind', () => {
  const turn = turnMachine.provide({
    guards: { mayTakeAnotherStep: ({ context }) => context.stepIndex < 3 },
  });
  expectTypeOf({ turn }).toExtend<NonNullable<RuntimeOptions['machines']>>();
  expectTypeOf({ turn: stepMachine }).not.toExtend<NonNullable<RuntimeOptions['machines']>>();
});

it('provide knows the guards there are, and what they are given', () => {
  turnMachine.provide({
    guards: {
      mayTakeAnotherStep: ({ context }) => {
        expectTypeOf(context.stepIndex).toEqualTypeOf<number>();
        return true;
      },
    },
  });
  // @ts-expect-error There is no guard of that name.
  turnMachine.provide({ guards: { mayTakeANap: () => true } });
});
