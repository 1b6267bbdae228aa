import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type BudgetShare, createRunBudget } from '../../src/turn/run-budget.ts';

const bound = fc.nat(200);

/** What `children` get that are asked in one step, as their calls come: each counts those behind it, and the turn. */
function sharesOf(
  children: number,
  { handoffs, agents, ...budget }: Record<'steps' | 'toolCalls' | 'tokens' | 'agents' | 'handoffs', number>,
): { readonly shares: readonly BudgetShare[]; readonly rest: BudgetShare } {
  const run = createRunBudget(budget);
  const tree = { agents, handoffs };
  const shares = Array.from({ length: children }, (_, at) => run.share(children - at + 1, tree));
  return { shares, rest: run.share(1, tree) };
}

const sum = (counts: readonly (number | undefined)[]) =>
  counts.reduce<number>((all, one = 0) => all + one, 0);

describe('shares of a budget', () => {
  test('together with what is left are what there was, of each bound', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.record({ steps: bound, toolCalls: bound, tokens: bound, agents: bound, handoffs: bound }),
        (children, bounds) => {
          const { shares, rest } = sharesOf(children, bounds);
          const all = [...shares, rest];
          expect(sum(all.map(({ budget }) => budget.steps))).toBe(bounds.steps);
          expect(sum(all.map(({ budget }) => budget.toolCalls))).toBe(bounds.toolCalls);
          expect(sum(all.map(({ budget }) => budget.tokens))).toBe(bounds.tokens);
          expect(sum(all.map(({ agents }) => agents))).toBe(bounds.agents);
          expect(sum(all.map(({ handoffs }) => handoffs))).toBe(bounds.handoffs);
        },
      ),
    );
  });

  test('are something wherever there is enough for one each, and a step for the turn that gives them', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.nat(40), (children, things) => {
        const bounds = { steps: things, toolCalls: things, tokens: 0, agents: 0, handoffs: things };
        const { shares, rest } = sharesOf(children, bounds);
        const withOne = (pick: (share: BudgetShare) => number | undefined) =>
          shares.filter((share) => (pick(share) ?? 0) > 0).length;
        expect(withOne(({ budget }) => budget.steps)).toBe(Math.min(children, Math.max(0, things - 1)));
        expect(withOne(({ budget }) => budget.toolCalls)).toBe(Math.min(children, things));
        expect(withOne(({ handoffs }) => handoffs)).toBe(Math.min(children, things));
        expect(rest.budget.steps).toBeGreaterThanOrEqual(Math.min(1, things));
      }),
    );
  });

  test('of eight children at once leave each a handoff of the eight of a run', () => {
    const bounds = { steps: 50, toolCalls: 50, tokens: 1_000, agents: 56, handoffs: 8 };
    const { shares } = sharesOf(8, bounds);
    expect(shares.map(({ handoffs }) => handoffs)).toEqual(Array.from({ length: 8 }, () => 1));
  });
});
