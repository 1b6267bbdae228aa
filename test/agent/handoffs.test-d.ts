import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import {
  type Agent,
  createRuntime,
  defineAgent,
  defineTool,
  type Model,
  type RunResult,
} from '../../src/index.ts';

declare const model: Model;
const base = { instructions: 'Work.', model };
const runtime = createRuntime();

const counting = defineAgent({ ...base, name: 'counting', output: z.object({ count: z.number() }) });
const plain = defineAgent({ ...base, name: 'plain' });

type OutputOf<R> = R extends { readonly result: Promise<RunResult<infer Output>> } ? Output : never;

describe('types of runs that may be handed over', () => {
  it('yield the union of what the agents yield that may end them', () => {
    const triage = defineAgent({ ...base, name: 'triage', handoffs: [counting, plain] });
    expectTypeOf(triage).toEqualTypeOf<Agent<string | { count: number }>>();
    const run = runtime.run(triage, 'Hello.');
    expectTypeOf<OutputOf<typeof run>>().toEqualTypeOf<string | { count: number }>();
    const above = defineAgent({
      ...base,
      name: 'above',
      handoffs: [triage],
      output: z.object({ ok: z.boolean() }),
    });
    const deeper = runtime.run(above, 'Hello.');
    expectTypeOf<OutputOf<typeof deeper>>().toEqualTypeOf<{ ok: boolean } | string | { count: number }>();
  });

  it('say nothing of an agent that is only named, so that agents can name each other', () => {
    const ping = defineAgent({ ...base, name: 'ping', handoffs: ['pong'] });
    const pong = defineAgent({ ...base, name: 'pong', handoffs: [ping] });
    expectTypeOf(ping).toEqualTypeOf<Agent<unknown>>();
    expectTypeOf(pong).toEqualTypeOf<Agent<unknown>>();
  });

  it('stay what they are through a definition that is made again', () => {
    const triage = defineAgent({ ...base, name: 'triage', handoffs: [counting] });
    expectTypeOf(defineAgent({ ...triage.definition, name: 'other' })).toEqualTypeOf<typeof triage>();
  });

  it('yield what their own agent yields where it only asks children', () => {
    expectTypeOf(defineAgent({ ...base, name: 'lead', agents: [counting, plain] })).toEqualTypeOf<Agent>();
  });

  it('need the context that a child or an agent taking over needs', () => {
    const look = defineTool({
      name: 'look',
      description: 'Looks.',
      inputSchema: z.object({}),
      execute: (_, ctx: { readonly context: { readonly user: string } }) => ctx.context.user,
    });
    const child = defineAgent({ ...base, name: 'child', tools: [look] });
    const lead = defineAgent({ ...base, name: 'lead', agents: [child] });
    const triage = defineAgent({ ...base, name: 'triage', handoffs: [child] });
    runtime.run(lead, 'Go.', { context: { user: 'a' } });
    runtime.run(triage, 'Go.', { context: { user: 'a' } });
    // @ts-expect-error without the context of the child
    runtime.run(lead, 'Go.');
    // @ts-expect-error without the context of the agent that takes over
    runtime.run(triage, 'Go.');
  });
});
