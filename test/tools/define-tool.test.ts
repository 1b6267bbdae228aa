import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isSwarmError } from '../../src/errors.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { ToolContext } from '../../src/tools/tool.ts';

const base = {
  name: 'read_file',
  description: 'Reads a file.',
  inputSchema: z.object({ path: z.string() }),
  execute: () => 'text',
};

function complaint(definition: unknown): string {
  try {
    defineTool(definition as typeof base);
    return 'accepted';
  } catch (error) {
    return isSwarmError(error, 'invalid-definition') ? error.message : String(error);
  }
}

describe('defineTool', () => {
  it('fills in every default and freezes the result', () => {
    const tool = defineTool(base);
    expect(tool).toMatchObject({
      kind: 'tool',
      name: 'read_file',
      description: 'Reads a file.',
      defer: undefined,
      group: undefined,
      aliases: [],
      needsApproval: false,
      approvalScope: undefined,
      rememberable: true,
      recovery: 'never_auto_retry',
      exclusive: false,
      timeoutMs: undefined,
      maxResultBytes: undefined,
      parks: undefined,
    });
    expect(tool.inputSchema).toBe(base.inputSchema);
    expect(Object.isFrozen(tool)).toBe(true);
    expect(Object.isFrozen(tool.aliases)).toBe(true);
  });

  it('keeps what is given', () => {
    const options = {
      defer: 'always',
      group: 'files',
      aliases: ['open', 'show file'],
      needsApproval: true,
      approvalScope: 'files',
      rememberable: false,
      recovery: 'replay_safe',
      exclusive: true,
      timeoutMs: 5,
      maxResultBytes: 10,
    } as const;
    expect(defineTool({ ...base, ...options })).toMatchObject(options);
  });

  it('takes an option that is undefined for one that is absent', () => {
    expect(complaint({ ...base, group: undefined, reconcile: undefined, defer: undefined })).toBe('accepted');
  });

  it('lets functions keep their owner as this', async () => {
    class Greeter {
      readonly name = 'greet';
      readonly description = 'Greets.';
      readonly inputSchema = z.object({ who: z.string() });
      readonly #word = 'hello';
      execute(input: { readonly who: string }): string {
        return `${this.#word} ${input.who}`;
      }
      applies(): boolean {
        return this.#word === 'hello';
      }
      toModelOutput(output: string): string {
        return `${this.#word}: ${output}`;
      }
    }
    const tool = defineTool(new Greeter());
    expect(tool.execute({ who: 'you' }, {} as ToolContext<never>)).toBe('hello you');
    expect(tool.applies?.({} as never)).toBe(true);
    expect(tool.toModelOutput?.('x')).toBe('hello: x');
  });

  it('copies a JSON Schema, so that later changes do not reach the tool', () => {
    const inputSchema = { type: 'object', properties: { a: { type: 'string' } } };
    const tool = defineTool({ ...base, inputSchema });
    inputSchema.properties.a.type = 'number';
    expect(tool.inputSchema).toEqual({ type: 'object', properties: { a: { type: 'string' } } });
  });

  it.each<[string, unknown, RegExp]>([
    ['an unknown field', { ...base, excute: 1 }, /^tool read_file: unknown field excute$/],
    ['a field of another SDK', { ...base, parameters: {} }, /unknown field parameters/],
    ['no execute', { ...base, execute: undefined }, /^tool read_file: execute: must be a function$/],
    ['no description', { ...base, description: undefined }, /^tool read_file: description: /],
    ['no name', { ...base, name: undefined }, /^a tool without a name: name: must match/],
    ['no input schema', { ...base, inputSchema: undefined }, /inputSchema: must be a zod 4 schema or/],
    ['a schema of zod 3', { ...base, inputSchema: new (class ZodObject {})() }, /inputSchema: must be/],
    ['a function as schema', { ...base, inputSchema: () => ({}) }, /inputSchema: must be/],
    ['a JSON Schema as output schema', { ...base, outputSchema: {} }, /outputSchema: must be a zod 4 schema/],
    ['an unknown way to defer', { ...base, defer: 'sometimes' }, /tool read_file: defer: /],
    ['an unknown recovery', { ...base, recovery: 'retry' }, /tool read_file: recovery: /],
    ['reconcile without function', { ...base, recovery: 'reconcile' }, /needs a reconcile function/],
    [
      'a reconcile function for another mode',
      { ...base, reconcile: () => 1 },
      /only with recovery 'reconcile'/,
    ],
    ['a time that is none', { ...base, timeoutMs: 0 }, /timeoutMs: must be a number above 0/],
    ['NaN as time', { ...base, timeoutMs: Number.NaN }, /timeoutMs: must be/],
    ['a fraction of a byte', { ...base, maxResultBytes: 0.5 }, /maxResultBytes: /],
    [
      'a text as approval',
      { ...base, needsApproval: 'yes' },
      /needsApproval: must be a boolean or a function/,
    ],
    ['an empty group', { ...base, group: ' ' }, /group: /],
    ['aliases that are no list', { ...base, aliases: 'open' }, /aliases: /],
    ['null', null, /a tool without a name/],
    ['a text', 'tool', /a tool without a name/],
  ])('refuses %s, naming the culprit', (_, definition, message) => {
    expect(complaint(definition)).toMatch(message);
  });

  it.each(['a', 'A-b_c.d:e9', 'x'.repeat(256)])('accepts the name %s', (name) => {
    expect(complaint({ ...base, name })).toBe('accepted');
  });

  it.each(['', 'a b', 'a/b', 'naïve', 'x'.repeat(257), 'a\u200bb', 'a\n', '*', 7])(
    'refuses the name %j',
    (name) => {
      expect(complaint({ ...base, name })).toMatch(/name: must match/);
    },
  );

  it('shows a hostile name in bounded visible text', () => {
    const message = complaint({ ...base, name: `\u202eevil${'x'.repeat(10_000)}` });
    expect(message.length).toBeLessThan(200);
    expect(message).not.toContain('\u202e');
  });
});
