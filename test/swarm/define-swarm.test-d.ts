import { expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineSwarm, openaiCompatible } from '../../src/index.ts';
import { createRuntime } from '../../src/runtime.ts';

const model = openaiCompatible({ baseURL: 'http://127.0.0.1:1/v1', model: 'm' });
const worker = defineAgent({ name: 'worker', instructions: '', model });
const judge = defineAgent({
  name: 'judge',
  instructions: '',
  model,
  output: z.object({ good: z.boolean() }),
});
it('a swarm yields what its supervisor yields', () => {
  const swarm = defineSwarm({ name: 'team', supervisor: judge, agents: [worker], mode: 'graph' });
  const run = createRuntime().run(swarm, 'Go.');
  expectTypeOf<Extract<Awaited<typeof run.result>, { status: 'completed' }>['output']>().toEqualTypeOf<{
    good: boolean;
  }>();
});

it('a swarm takes a mode', () => {
  // @ts-expect-error: there is no such mode
  defineSwarm({ name: 'team', supervisor: judge, agents: [worker], mode: 'default' });
});
