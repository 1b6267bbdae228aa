import fc from 'fast-check';
import { type AnyGraph, defineGraph, type Graph } from '../../src/graph/define-graph.ts';

/** One node of a random graph: what it reads, by the places of earlier ones, and what it does. */
export interface Plan {
  readonly from: readonly number[];
  readonly kind: 'node' | 'map' | 'join';
  readonly does: 'works' | 'fails' | 'is-skipped' | 'fails-first';
  readonly onError: 'fail' | 'collect';
  readonly need: 'all' | 'any';
}

/** Any plan of up to twelve nodes. */
export const plans: fc.Arbitrary<readonly Plan[]> = fc.array(
  fc.record({
    from: fc.uniqueArray(fc.nat(100), { minLength: 1, maxLength: 3 }),
    kind: fc.constantFrom('node' as const, 'map' as const, 'join' as const),
    does: fc.constantFrom(
      ...(['works', 'works', 'works', 'works', 'fails', 'is-skipped', 'fails-first'] as const),
    ),
    onError: fc.constantFrom('fail' as const, 'collect' as const),
    need: fc.constantFrom('all' as const, 'all' as const, 'any' as const),
  }),
  { minLength: 1, maxLength: 12 },
);

/** A builder as plain JavaScript sees it. */
interface Loose {
  node(name: string, target: unknown, options: unknown): Loose;
  map(name: string, target: unknown, options: unknown): Loose;
  join(name: string, options: unknown, target: unknown): Loose;
  build(options: { readonly output: string }): AnyGraph;
}

const nameOf = (at: number) => `n${at}`;

/** The graph of a plan, with a last node that reads all ends; `entered` notes every function that is entered. */
export function graphOf(plan: readonly Plan[], entered: string[]): Graph<string> {
  let builder = defineGraph({ name: 'g' }) as unknown as Loose;
  const read = new Set<string>();
  plan.forEach(({ from, kind, does, onError, need }, at) => {
    const sources = [...new Set(from.map((one) => one % (at + 1)))].map((one) =>
      one === 0 ? 'input' : nameOf(one - 1),
    );
    for (const source of sources) read.add(source);
    const [first = 'input'] = sources;
    const work = async (_: unknown, ctx: { readonly work: string; readonly attempt: number }) => {
      entered.push(`${ctx.work} ${ctx.attempt}`);
      await Promise.resolve();
      if (does === 'fails' || (does === 'fails-first' && ctx.attempt === 1))
        throw new Error(`no ${ctx.work}`);
      return ctx.work;
    };
    const settings = { retry: { attempts: 2 }, recovery: 'idempotent' };
    const when = does === 'is-skipped' ? { when: () => false } : {};
    if (kind === 'join')
      builder = builder.join(nameOf(at), { from: sources, need, onError, ...settings }, work);
    else if (kind === 'map') {
      builder = builder.map(nameOf(at), work, {
        from: first,
        over: () => [1, 2],
        maxConcurrency: 1,
        ...settings,
      });
    } else builder = builder.node(nameOf(at), work, { from: first, ...when, ...settings });
  });
  const ends = plan.map((_, at) => nameOf(at)).filter((name) => !read.has(name));
  const last = (got: unknown) => JSON.stringify(got);
  // The plan is made of what the builder's own types would let through.
  return builder
    .join('last', { from: ends, onError: 'collect', recovery: 'idempotent' }, last)
    .build({ output: 'last' }) as Graph<string>;
}
