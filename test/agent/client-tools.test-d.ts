import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import {
  type ClientTools,
  type createRuntime,
  defineTool,
  type RunOptions,
  type ToolContext,
  type ToolSource,
} from '../../src/index.ts';

interface Shop {
  readonly currency: string;
}

const priced = defineTool({
  name: 'price',
  description: 'Tells a price.',
  inputSchema: z.object({}),
  execute: (_, { context }: ToolContext<Shop>) => context.currency,
});
const plain = defineTool({ name: 'plain', description: '', inputSchema: z.object({}), execute: () => '' });
const shopSource: ToolSource<Shop> = { name: 'mcp:shop', revision: 1, tools: () => [priced, plain] };

describe('tools of a run', () => {
  it('may need no more than the context the run has', () => {
    expectTypeOf([priced, plain, shopSource]).toExtend<ClientTools<Shop>>();
    expectTypeOf([priced]).not.toExtend<ClientTools<unknown>>();
    expectTypeOf<RunOptions<Shop>['clientTools']>().toEqualTypeOf<ClientTools<Shop> | undefined>();
  });

  it('are given again to a resume, whose context is not typed', () => {
    type Resume = NonNullable<Parameters<ReturnType<typeof createRuntime>['resume']>[2]>;
    expectTypeOf<Resume['clientTools']>().toEqualTypeOf<ClientTools | undefined>();
  });
});
