import { isJsonValue, type JsonObject, type JsonValue } from '../ledger/content.ts';
import type { FileData, ProviderMetadata } from './language-model.ts';

/** True for an object that is neither null nor an array. */
export function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `value` as plain JSON: what JSON cannot hold is left out, a cycle or too many levels give `undefined`. */
export function toJsonValue(value: unknown): JsonValue | undefined {
  try {
    const text = JSON.stringify(value);
    const json: unknown = text === undefined ? undefined : JSON.parse(text);
    return isJsonValue(json) ? json : undefined;
  } catch {
    // A cycle or a BigInt: nothing of it can be kept or sent again.
    return undefined;
  }
}

/** `value` as a plain JSON object, or `undefined` if it is none. */
export function toJsonObject(value: unknown): JsonObject | undefined {
  const json = toJsonValue(value);
  // What JSON.parse returned as a record is a JSON object.
  return isRecord(json) ? (json as JsonObject) : undefined;
}

/**
 * What a provider attached to a block so far, with what it attached now: provider by provider, key by key,
 * the later value wins. Providers that attached nothing are left out.
 */
export function mergeMetadata(
  known: JsonObject | undefined,
  added: ProviderMetadata | undefined,
): JsonObject | undefined {
  if (added === undefined) return known;
  const json = toJsonObject(added);
  if (json === undefined) return known;
  const merged: { [key: string]: JsonValue } = { ...known };
  for (const [provider, values] of Object.entries(json)) {
    if (!isRecord(values) || Object.keys(values).length === 0 || provider === '__proto__') continue;
    const before = merged[provider];
    merged[provider] = isRecord(before) ? { ...before, ...values } : values;
  }
  return Object.keys(merged).length === 0 ? undefined : merged;
}

/** Where the bytes of a file are, as content holds it. Nothing is downloaded. */
export function fileSource(data: FileData): { type: 'url'; url: string } | { type: 'base64'; data: string } {
  if (data.type === 'url') return { type: 'url', url: String(data.url) };
  if (typeof data.data === 'string') return { type: 'base64', data: data.data };
  const { buffer, byteOffset, byteLength } = data.data;
  return { type: 'base64', data: Buffer.from(buffer, byteOffset, byteLength).toString('base64') };
}
