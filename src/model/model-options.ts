import { z } from 'zod';
import { SwarmError } from '../errors.ts';

const tokens = z.int().positive();
const dollars = z.number().nonnegative();
const flag = z.boolean().optional();
const callable = z.custom((value) => typeof value === 'function', 'must be a function').optional();

const shared = {
  contextWindow: tokens.optional(),
  maxOutputTokens: tokens.optional(),
  price: z
    .strictObject({
      input: dollars,
      output: dollars,
      cacheRead: dollars.optional(),
      cacheWrite: dollars.optional(),
    })
    .optional(),
  capabilities: z
    .strictObject({
      structuredOutput: flag,
      tools: flag,
      promptCache: flag,
      cacheBreakpoints: flag,
      images: flag,
    })
    .optional(),
  countTokens: callable,
  echoReasoning: z.enum(['always', 'tool-turns', 'never']).optional(),
  wireIds: z.enum(['native', 'token', 'hash9']).optional(),
  toolResultImages: z.enum(['message', 'native', 'drop']).optional(),
  maxResponseBytes: z.int().positive().optional(),
};

const aiSdkOptions = z.strictObject({
  ...shared,
  cacheBreakpoints: z.record(z.string(), z.record(z.string(), z.json())).optional(),
});

const compatibleOptions = z.strictObject({
  ...shared,
  baseURL: z.string(),
  // What a header can hold: a line break here would end up in an error that quotes the key.
  apiKey: z
    .string()
    .regex(/^[\x21-\x7e]+$/, 'must be printable and not empty')
    .optional(),
  model: z.string().min(1),
  headers: z.record(z.string(), z.string()).optional(),
  provider: z.string().min(1).optional(),
  includeUsage: flag,
  maxTokensField: z.enum(['max_tokens', 'max_completion_tokens']).optional(),
  lineFilter: callable,
  byteActivity: flag,
  maxLineBytes: z.int().positive().optional(),
  fetch: callable,
});

/** Checks the options of a model of the AI SDK. @throws SwarmError 'invalid-model' naming the field */
export function checkAiSdkOptions(options: unknown): void {
  check(aiSdkOptions, options);
}

/**
 * Checks the options of a compatible endpoint.
 * @throws SwarmError 'invalid-model' naming the field, never its value: it may be a secret
 */
export function checkCompatibleOptions(options: unknown): {
  readonly url: URL;
  readonly headers: { readonly [name: string]: string };
} {
  const { baseURL, headers = {} } = check(compatibleOptions, options);
  const url = URL.canParse(baseURL) ? new URL(baseURL) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw invalid('baseURL', 'must be an http or https address');
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid('baseURL', 'must not hold credentials; use apiKey or headers');
  }
  for (const [name, value] of Object.entries(headers)) {
    if (!isHeader(name, value)) throw invalid(`headers.${name}`, 'cannot be sent as a header');
  }
  return { url, headers };
}

function check<T>(schema: z.ZodType<T>, options: unknown): T {
  const result = schema.safeParse(options);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const unknownKey = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  const path = [...(issue?.path ?? []), ...(unknownKey === undefined ? [] : [unknownKey])];
  throw invalid(
    path.length === 0 ? 'options' : path.map(String).join('.'),
    unknownKey === undefined ? (issue?.message ?? 'is wrong') : 'is not an option',
  );
}

function isHeader(name: string, value: string): boolean {
  try {
    new Headers([[name, value]]);
    return true;
  } catch {
    // The error quotes the value, so it goes no further.
    return false;
  }
}

function invalid(field: string, complaint: string): SwarmError {
  return new SwarmError('invalid-model', `${field}: ${complaint}`);
}
