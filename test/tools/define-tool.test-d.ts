import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../../src/ledger/content.ts';
import { askUser } from '../../src/tools/ask-user.ts';
import { bindTools } from '../../src/tools/bind-tools.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool, ToolContext, TypedTool } from '../../src/tools/tool.ts';

interface Account {
  readonly user: string;
}

const name = 'probe';
const description = 'Probes.';

describe('defineTool infers', () => {
  it('the parsed input of a zod schema', () => {
    const tool = defineTool({
      name,
      description,
      inputSchema: z.object({ n: z.string().transform(Number), limit: z.int().default(5) }),
      execute: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ n: number; limit: number }>();
        return input.limit;
      },
    });
    expectTypeOf(tool).toEqualTypeOf<TypedTool<{ n: number; limit: number }, number, unknown>>();
  });

  it('a JSON object for a JSON Schema', () => {
    const tool = defineTool({
      name,
      description,
      inputSchema: { type: 'object', properties: { a: { type: 'string' } } },
      execute: async (input) => {
        expectTypeOf(input).toEqualTypeOf<JsonObject>();
        return 'x' as const;
      },
    });
    expectTypeOf(tool).toEqualTypeOf<TypedTool<JsonObject, 'x', unknown>>();
  });

  it('the context from the annotation of ctx, the input staying inferred', () => {
    const tool = defineTool({
      name,
      description,
      inputSchema: z.object({ a: z.string() }),
      execute: (input, ctx: ToolContext<Account>) => {
        expectTypeOf(input).toEqualTypeOf<{ a: string }>();
        expectTypeOf(ctx.context).toEqualTypeOf<Account>();
        return ctx.context.user;
      },
    });
    expectTypeOf(tool).toEqualTypeOf<TypedTool<{ a: string }, string, Account>>();
  });

  it('an unknown context where none is named', () => {
    defineTool({
      name,
      description,
      inputSchema: z.object({}),
      execute: (_, ctx) => {
        expectTypeOf(ctx.context).toEqualTypeOf<unknown>();
      },
    });
  });

  it('the output for toModelOutput and reconcile, async or not', () => {
    defineTool({
      name,
      description,
      inputSchema: z.object({ id: z.string() }),
      execute: async ({ id }) => ({ id, rows: [1, 2] }),
      toModelOutput: (output) => {
        expectTypeOf(output).toEqualTypeOf<{ id: string; rows: number[] }>();
        return `${output.rows.length} rows`;
      },
      recovery: 'reconcile',
      reconcile: async (input) => {
        expectTypeOf(input).toEqualTypeOf<{ id: string }>();
        return { type: 'completed', output: { id: input.id, rows: [] } };
      },
    });
  });
});

describe('tools of different shapes', () => {
  const plain = defineTool({ name, description, inputSchema: z.object({ a: z.string() }), execute: () => 1 });
  const needy = defineTool({
    name,
    description,
    inputSchema: z.object({}),
    execute: (_, ctx: ToolContext<Account>) => ctx.context.user,
  });

  it('form one list and one binding', () => {
    const tools: readonly Tool[] = [plain, needy, askUser()];
    expectTypeOf(bindTools).toBeCallableWith(tools);
    expectTypeOf(bindTools).toBeCallableWith([plain, needy]);
  });

  it('say which context they need', () => {
    expectTypeOf(plain).toExtend<Tool<Account>>();
    expectTypeOf(needy).toExtend<Tool<Account & { readonly more: 1 }>>();
    expectTypeOf(needy).not.toExtend<Tool<{ readonly other: 1 }>>();
  });
});

describe('defineTool refuses at compile time', () => {
  it('unknown fields, missing ones and wrong outputs', () => {
    // @ts-expect-error `execute` is missing
    defineTool({ name, description, inputSchema: z.object({}) });
    // @ts-expect-error the name of the option is `inputSchema`
    defineTool({ name, description, parameters: z.object({}), execute: () => 1 });
    defineTool({
      name,
      description,
      inputSchema: z.object({}),
      outputSchema: z.object({ ok: z.boolean() }),
      // @ts-expect-error the output does not fit the output schema
      execute: () => ({ ok: 'yes' }),
    });
  });
});
