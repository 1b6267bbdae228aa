import { z } from 'zod';
import { isPlainObject } from './canonical-json.ts';

/** A value that survives JSON unchanged. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** A JSON object: what tool arguments always are. */
export type JsonObject = { readonly [key: string]: JsonValue };

/** Levels a JSON value may have; checked without recursion, so no depth of input overflows the stack. */
const MAX_DEPTH = 512;

/** True for what JSON can hold: no `undefined`, no number that is not finite, no class instance. */
export function isJsonValue(value: unknown): value is JsonValue {
  const waiting: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 0 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value: one, depth } = next;
    if (one === null || typeof one === 'string' || typeof one === 'boolean') continue;
    if (typeof one === 'number' && Number.isFinite(one)) continue;
    if (typeof one !== 'object' || depth >= MAX_DEPTH || !(Array.isArray(one) || isPlainObject(one)))
      return false;
    for (const inner of Object.values(one)) waiting.push({ value: inner, depth: depth + 1 });
  }
  return true;
}

// `z.json()` says the same and takes 20 times as long on a large value. The casts state what the check showed.
export const jsonValueSchema = z.unknown().refine(isJsonValue, 'not JSON') as unknown as z.ZodType<JsonValue>;
export const jsonObjectSchema = z
  .record(z.string(), z.unknown())
  .refine(isJsonValue, 'not JSON') as unknown as z.ZodType<JsonObject>;

/** Bytes kept outside the records, named by their hash. `size` is in bytes. */
export const artifactRefSchema = z.strictObject({
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  size: z.int().nonnegative(),
  mediaType: z.string(),
});
export type ArtifactRef = z.infer<typeof artifactRefSchema>;

/** What a provider attached to a part; replayed verbatim to the same provider, never looked into. */
const providerMetadataSchema = jsonObjectSchema.optional();

export const textPartSchema = z.strictObject({ type: z.literal('text'), text: z.string() });

export const imagePartSchema = z.strictObject({
  type: z.literal('image'),
  mediaType: z.string(),
  /** A URL the provider fetches, base64 data, or a stored artifact. */
  source: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('url'), url: z.string() }),
    z.strictObject({ type: z.literal('base64'), data: z.string() }),
    z.strictObject({ type: z.literal('artifact'), ref: artifactRefSchema }),
  ]),
});

export const filePartSchema = z.strictObject({
  type: z.literal('file'),
  mediaType: z.string(),
  name: z.string().optional(),
  source: imagePartSchema.shape.source,
});

/** One part of what a user says. */
export const userPartSchema = z.discriminatedUnion('type', [textPartSchema, imagePartSchema, filePartSchema]);
export type UserPart = z.infer<typeof userPartSchema>;

/** One part of what a model answered, in the order it came. A call stands here by its ordinal only. */
export const assistantPartSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string(), providerMetadata: providerMetadataSchema }),
  z.strictObject({
    type: z.literal('reasoning'),
    text: z.string(),
    providerMetadata: providerMetadataSchema,
  }),
  z.strictObject({ type: z.literal('call'), ordinal: z.int().nonnegative() }),
  z.strictObject({
    type: z.literal('source'),
    source: jsonObjectSchema,
  }),
  z.strictObject({
    type: z.literal('file'),
    mediaType: z.string(),
    source: imagePartSchema.shape.source,
    providerMetadata: providerMetadataSchema,
  }),
  /** An item only its provider understands. */
  z.strictObject({ type: z.literal('provider-item'), item: jsonObjectSchema }),
]);
export type AssistantPart = z.infer<typeof assistantPartSchema>;

/** What a model is given as the result of a call. */
export const toolOutputSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({ type: z.literal('error'), text: z.string() }),
  z.strictObject({ type: z.literal('json'), value: jsonValueSchema }),
  z.strictObject({ type: z.literal('content'), parts: z.array(userPartSchema) }),
]);
export type ToolOutput = z.infer<typeof toolOutputSchema>;

/** Tokens of one or several requests. A count a provider did not report is absent, never 0. */
export const usageSchema = z.strictObject({
  inputTokens: z.number().nonnegative().optional(),
  outputTokens: z.number().nonnegative().optional(),
  totalTokens: z.number().nonnegative().optional(),
  cacheReadTokens: z.number().nonnegative().optional(),
  cacheWriteTokens: z.number().nonnegative().optional(),
  reasoningTokens: z.number().nonnegative().optional(),
  costUsd: z.number().nonnegative().optional(),
});
export type Usage = z.infer<typeof usageSchema>;
