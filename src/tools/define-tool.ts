import { z } from 'zod';
import { SwarmError } from '../errors.ts';
import { recoveryModeSchema } from '../ledger/records.ts';
import { isZodSchema, sourceSchema } from './json-schema.ts';
import { safeName } from './safe-text.ts';
import type { InputOf, InputSchema, Tool, ToolDefinition, TypedTool } from './tool.ts';

const TOOL_NAME = /^[A-Za-z0-9_.:-]{1,256}$/;

/** Characters a tool name may have; what lists names for a model shows them whole. */
export const MAX_TOOL_NAME_CHARS = 256;

/** True for a name a tool may have; providers may still see an alias of it. */
export function isToolName(name: unknown): name is string {
  return typeof name === 'string' && TOOL_NAME.test(name);
}

const fn = z.custom<(...args: never[]) => unknown>(
  (value) => typeof value === 'function',
  'must be a function',
);
const label = z.string().trim().min(1).max(256);

/** Runtime twin of {@link ToolDefinition}: JavaScript callers and spread objects get past the types. */
const definitionSchema = z.strictObject({
  name: z.custom<string>(isToolName, 'must match [A-Za-z0-9_.:-]{1,256}'),
  description: z.string(),
  inputSchema: z.custom<InputSchema>(isInputSchema, 'must be a zod 4 schema or a plain JSON Schema object'),
  outputSchema: z.custom<z.ZodType>(isZodSchema, 'must be a zod 4 schema').optional(),
  execute: fn,
  defer: z.enum(['never', 'always', 'auto']).optional(),
  group: label.optional(),
  aliases: z.array(label).max(64).optional(),
  applies: fn.optional(),
  needsApproval: z.union([z.boolean(), fn], 'must be a boolean or a function').optional(),
  approvalScope: label.optional(),
  rememberable: z.boolean().optional(),
  recovery: recoveryModeSchema.optional(),
  reconcile: fn.optional(),
  exclusive: z.boolean().optional(),
  timeoutMs: z
    .custom<number>((value) => typeof value === 'number' && value > 0, 'must be a number above 0')
    .optional(),
  maxResultBytes: z.int().positive().optional(),
  toModelOutput: fn.optional(),
});

/**
 * Makes a tool: plain frozen data with every default filled in.
 *
 * The input type of `execute` follows from `inputSchema`, the type of `ctx.context` from an annotation:
 * `execute(input, ctx: ToolContext<MyContext>)`.
 *
 * @throws SwarmError 'invalid-definition' naming the tool and the field that is unknown, missing or contradictory;
 * 'unusable-schema' for a JSON Schema that is no bounded plain JSON
 * @example
 * const add = defineTool({
 *   name: 'add',
 *   description: 'Adds two numbers.',
 *   inputSchema: z.object({ a: z.number(), b: z.number() }),
 *   execute: ({ a, b }) => a + b,
 * });
 */
export function defineTool<S extends InputSchema, Output, Context = unknown>(
  definition: ToolDefinition<S, Output, Context>,
): TypedTool<InputOf<S>, Output, Context> {
  const given = checkedDefinition(definition);
  const { applies, needsApproval, reconcile, toModelOutput } = given;
  // Functions keep their owner as `this`. The casts below erase shapes that the schemas hold to: input has passed
  // `inputSchema`, and what `toModelOutput` gets comes from `execute`.
  const tool: Tool<Context> = {
    kind: 'tool',
    name: given.name,
    description: given.description,
    // A JSON Schema is copied: what its owner changes later must not change the tool.
    inputSchema: isZodSchema(given.inputSchema)
      ? given.inputSchema
      : sourceSchema(given.inputSchema, given.name),
    outputSchema: given.outputSchema,
    defer: given.defer,
    group: given.group,
    aliases: Object.freeze([...(given.aliases ?? [])]),
    applies: applies?.bind(definition) as Tool['applies'],
    needsApproval: (typeof needsApproval === 'function'
      ? needsApproval.bind(definition)
      : (needsApproval ?? false)) as Tool['needsApproval'],
    approvalScope: given.approvalScope,
    rememberable: given.rememberable ?? true,
    recovery: given.recovery ?? 'never_auto_retry',
    reconcile: reconcile?.bind(definition) as Tool<Context>['reconcile'],
    exclusive: given.exclusive ?? false,
    timeoutMs: given.timeoutMs,
    maxResultBytes: given.maxResultBytes,
    toModelOutput: toModelOutput?.bind(definition) as Tool['toModelOutput'],
    parks: undefined,
    execute: given.execute.bind(definition) as Tool<Context>['execute'],
  };
  return Object.freeze(tool);
}

type CheckedDefinition = z.infer<typeof definitionSchema>;

function checkedDefinition(definition: unknown): CheckedDefinition {
  const parsed = definitionSchema.safeParse(definition);
  if (!parsed.success) throw invalid(definition, describeIssue(parsed.error.issues[0]));
  const given = parsed.data;
  if (given.recovery === 'reconcile' && given.reconcile === undefined) {
    throw invalid(definition, "recovery 'reconcile' needs a reconcile function");
  }
  if (given.recovery !== 'reconcile' && given.reconcile !== undefined) {
    throw invalid(definition, "reconcile is used only with recovery 'reconcile'");
  }
  return given;
}

function describeIssue(issue: z.core.$ZodIssue | undefined): string {
  if (issue === undefined) return 'it is not a definition';
  if (issue.code === 'unrecognized_keys')
    return `unknown field ${issue.keys.map((key) => safeName(key)).join(', ')}`;
  const path = issue.path.map(String).join('.');
  return path === '' ? `a definition is an object: ${issue.message}` : `${path}: ${issue.message}`;
}

function invalid(definition: unknown, complaint: string): SwarmError {
  const name: unknown =
    typeof definition === 'object' && definition !== null && 'name' in definition
      ? definition.name
      : undefined;
  const who = typeof name === 'string' ? `tool ${safeName(name)}` : 'a tool without a name';
  return new SwarmError('invalid-definition', `${who}: ${complaint}`);
}

function isInputSchema(schema: unknown): schema is InputSchema {
  if (isZodSchema(schema)) return true;
  if (typeof schema !== 'object' || schema === null) return false;
  const prototype: unknown = Object.getPrototypeOf(schema);
  return prototype === Object.prototype || prototype === null;
}
