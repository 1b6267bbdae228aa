import { defineAgent, defineTool, type Model, type Runtime, type ToolContext } from 'swarmwright';
import { type McpServer, mcpServer } from 'swarmwright/mcp';
import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';

declare const model: Model;
declare const runtime: Runtime;

interface Shop {
  readonly till: string;
}

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  inputSchema: z.object({}),
  execute: (_, { context }: ToolContext<Shop>) => context.till,
});
const files = mcpServer({ name: 'files', command: 'files' });

describe('a server among tools', () => {
  it('is a server', () => {
    expectTypeOf(files).toEqualTypeOf<McpServer>();
  });

  it('leaves the context to be what the tools need', () => {
    const clerk = defineAgent({ name: 'clerk', instructions: '', model, tools: [pay, files] });
    runtime.run(clerk, 'Go.', { context: { till: 'left' } });
    // @ts-expect-error the context of `pay` is missing
    runtime.run(clerk, 'Go.');
  });

  it('needs no context of its own', () => {
    const reader = defineAgent({ name: 'reader', instructions: '', model, tools: [files] });
    runtime.run(reader, 'Go.');
    runtime.run(reader, 'Go.', { clientTools: [files] });
  });

  it('is a program or an address', () => {
    mcpServer({ url: 'https://example.com/mcp', headers: async () => ({ authorization: 'x' }) });
    // @ts-expect-error nothing says where it is
    mcpServer({ name: 'files' });
  });
});
