import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import {
  type Agent,
  createRuntime,
  defineAgent,
  defineTool,
  type RunResult,
  type ToolContext,
} from '../../src/index.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';

const model = scriptedModel({ script: [] });
const base = { name: 'judge', instructions: '', model };

describe('the output of an agent', () => {
  it('is inferred as what its schema parses to', () => {
    const agent = defineAgent({ ...base, output: z.object({ score: z.string().transform(Number) }) });
    expectTypeOf(agent).toEqualTypeOf<Agent<{ score: number }, unknown>>();
    expectTypeOf(createRuntime().run(agent, 'Go.').result).toEqualTypeOf<
      Promise<RunResult<{ score: number }>>
    >();
  });

  it('is that of the agent whose definition is the base', () => {
    const agent = defineAgent({ ...base, output: z.object({ score: z.number() }) });
    expectTypeOf(defineAgent({ ...agent.definition, name: 'other' })).toEqualTypeOf<typeof agent>();
  });

  it('is text where there is no schema', () => {
    expectTypeOf(defineAgent(base)).toEqualTypeOf<Agent<string, unknown>>();
  });

  it('is inferred beside the context of the tools', () => {
    const tool = defineTool({
      name: 'who',
      description: '',
      inputSchema: z.object({}),
      execute: (_, ctx: ToolContext<{ user: string }>) => ctx.context.user,
    });
    const agent = defineAgent({ ...base, tools: [tool], output: z.object({ ok: z.boolean() }) });
    expectTypeOf(agent).toEqualTypeOf<Agent<{ ok: boolean }, { user: string }>>();
  });
});
