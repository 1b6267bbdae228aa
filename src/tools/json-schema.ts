import { z } from 'zod';
import { SwarmError } from '../errors.ts';
import type { JsonObject } from '../ledger/content.ts';
import { copyPlain } from './argument-snapshot.ts';
import { isObject, NEVER, normalForm } from './schema-normal-form.ts';
import { fieldsText, objectRoot } from './schema-root.ts';
import type { InputSchema } from './tool.ts';

/** What a schema may be at most, as written and with its references inlined. */
const SCHEMA_BOUNDS = { maxBytes: 256 * 1024, maxDepth: 64, maxKeys: 10_000 };

/**
 * The schema a provider gets: draft-7, its root an object, local references inlined (one that refers back to what holds
 * it becomes an object of any shape), no `$schema`, no `oneOf`, no `propertyNames`, no 2^53 bounds, keywords in a fixed
 * order. What providers do not accept is left out rather than tightened: arguments are checked against `inputSchema`
 * itself. Deep-frozen.
 * @throws SwarmError 'unusable-schema' naming the tool, where no such schema exists
 */
export function toJsonSchema(inputSchema: InputSchema, toolName: string): JsonObject {
  return jsonSchemaForms(inputSchema, toolName).wire;
}

/** One schema in its three forms; all deep-frozen. */
export interface SchemaForms {
  /** As its author meant it: what arguments are checked against. */
  readonly source: JsonObject;
  /** Without references; the root may still be a union. */
  readonly normal: JsonObject;
  /** What a provider gets. */
  readonly wire: JsonObject;
}

/**
 * The forms of `inputSchema`; see {@link toJsonSchema}.
 * @throws SwarmError 'unusable-schema' naming the tool
 */
export function jsonSchemaForms(inputSchema: InputSchema, toolName: string): SchemaForms {
  const source = sourceSchema(inputSchema, toolName);
  const normal = normalForm(source, toolName);
  if (normal === NEVER) throw unusable(toolName, 'it allows nothing');
  const wire = objectRoot(normal);
  if (wire === undefined) throw unusable(toolName, 'it allows no object');
  return { source, normal: frozen(normal, toolName), wire: frozen(wire, toolName) };
}

/** True for a schema made by zod 4. */
export function isZodSchema(schema: unknown): schema is z.ZodType {
  return typeof schema === 'object' && schema !== null && '_zod' in schema;
}

/**
 * `inputSchema` as JSON Schema, as its author meant it: a zod schema converted, a JSON Schema copied. Deep-frozen.
 * @throws SwarmError 'unusable-schema' naming the tool
 */
export function sourceSchema(inputSchema: InputSchema, toolName: string): JsonObject {
  return frozen(isZodSchema(inputSchema) ? convert(inputSchema, toolName) : inputSchema, toolName);
}

/** The fields a call takes, per form of a union, for a rejection; undefined where they are not known. */
export function describeFields(inputSchema: InputSchema, toolName: string): string | undefined {
  try {
    return fieldsText(jsonSchemaForms(inputSchema, toolName).normal);
  } catch {
    // Nothing rather than something wrong.
    return undefined;
  }
}

function convert(schema: z.ZodType, toolName: string): unknown {
  try {
    // zod adds a non-enumerable property of its own, which a round trip leaves behind.
    return JSON.parse(
      JSON.stringify(z.toJSONSchema(schema, { io: 'input', target: 'draft-7', unrepresentable: 'any' })),
    );
  } catch (cause) {
    throw unusable(toolName, 'zod cannot convert it', cause);
  }
}

function frozen(schema: unknown, toolName: string): JsonObject {
  const copied = copyPlain(schema, SCHEMA_BOUNDS);
  if (copied.type === 'rejected') throw unusable(toolName, copied.reason.replace('the arguments', 'it'));
  if (!isObject(copied.copy)) throw unusable(toolName, 'it is not an object');
  return copied.copy;
}

function unusable(toolName: string, why: string, cause?: unknown): SwarmError {
  return new SwarmError('unusable-schema', `the input schema of tool ${toolName} is unusable: ${why}`, {
    cause,
  });
}
