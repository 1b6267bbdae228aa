import {
  type Agent,
  createRuntime,
  defineAgent,
  defineGraph,
  defineSwarm,
  defineTool,
  type Run,
} from 'swarmwright';
import { scriptedModel } from 'swarmwright/testing';
import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';

const model = scriptedModel({ script: [] });
const agent = defineAgent({ name: 'plain', instructions: 'Answer.', model });
const needy = defineAgent({
  name: 'needy',
  instructions: 'Answer.',
  model,
  tools: [
    defineTool({
      name: 'who',
      description: 'Says who asks.',
      inputSchema: z.object({}),
      execute: (_, { context }: { readonly context: { readonly user: string } }) => context.user,
    }),
  ],
});
const graph = defineGraph({ name: 'count', input: z.object({ n: z.number() }) })
  .node('n', ({ n }) => n, { from: 'input' })
  .build({ output: 'n' });
const swarm = defineSwarm({ name: 'team', supervisor: agent, agents: [agent], mode: 'swarm' });
const runtime = createRuntime();

// Each complaint is at what is wrong, and not at the target, which the comments above those lines pin.
describe('a run', () => {
  it('of any target refuses an option that is misspelt, where it stands', () => {
    runtime.run(
      agent,
      'Go.',
      // @ts-expect-error
      { misspelt: 1 },
    );
    runtime.run(
      graph,
      { n: 1 },
      // @ts-expect-error
      { misspelt: 1 },
    );
    runtime.run(
      swarm,
      'Go.',
      // @ts-expect-error
      { misspelt: 1 },
    );
    runtime.run(
      'plain',
      'Go.',
      // @ts-expect-error
      { misspelt: 1 },
    );
  });

  it('refuses an input that does not fit, where it stands', () => {
    runtime.run(
      graph,
      // @ts-expect-error
      { wrong: 1 },
    );
    runtime.run(
      agent,
      // @ts-expect-error
      7,
    );
  });

  it('wants the context of the tools, and says what it lacks', () => {
    runtime.run(needy, 'Go.', { context: { user: 'ann' } });
    // @ts-expect-error
    runtime.run(needy, 'Go.');
    runtime.run(needy, 'Go.', {
      // @ts-expect-error
      context: { usr: 'ann' },
    });
  });

  it('yields what its target does', () => {
    expectTypeOf(runtime.run(agent, 'Go.')).toEqualTypeOf<Run<string>>();
    expectTypeOf(runtime.run(graph, { n: 1 })).toEqualTypeOf<Run<number>>();
    expectTypeOf(runtime.run(swarm, 'Go.')).toEqualTypeOf<Run<string>>();
    expectTypeOf(runtime.run('plain', 'Go.')).toEqualTypeOf<Run<unknown>>();
  });

  it('of an agent that is only known by its type yields that', () => {
    const start = <Output>(target: Agent<Output>): Run<Output> => runtime.run(target, 'Go.');
    expectTypeOf(start(agent)).toEqualTypeOf<Run<string>>();
  });
});
