import { describe, expect, it } from 'vitest';
import { checkHooks } from '../../src/lifecycle/declared-hooks.ts';
import type { Hooks } from '../../src/lifecycle/hooks.ts';

describe('checkHooks', () => {
  it('takes every kind of hook, and none', () => {
    const hooks: Hooks = {
      name: 'policy_1-a',
      onTurnOpened: () => undefined,
      beforeTurn: () => undefined,
      afterTurn: () => undefined,
    };
    expect(() => checkHooks(hooks)).not.toThrow();
    expect(() => checkHooks({})).not.toThrow();
  });

  it.each([
    ['an unknown hook', { onTurnOpend: () => undefined }, "no hook 'onTurnOpend'"],
    ['a hook that is no function', { onTurnOpened: true }, 'onTurnOpened must be a function'],
    ['a name with a space', { name: 'my policy' }, 'the name of hooks'],
    ['an empty name', { name: '' }, 'the name of hooks'],
    ['a name that is no text', { name: 1 }, 'the name of hooks'],
    ['null', null, 'must be an object'],
  ])('refuses %s, naming it', (_, hooks, message) => {
    expect(() => checkHooks(hooks as unknown as Hooks)).toThrow(
      expect.objectContaining({ code: 'invalid-definition', message: expect.stringContaining(message) }),
    );
  });
});
