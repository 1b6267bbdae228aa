import { isPlainObject } from '../ledger/canonical-json.ts';
import type { JsonObject } from '../ledger/content.ts';

/** What a person typed where a JSON object is wanted. */
export type TypedObject =
  | { readonly type: 'object'; readonly value: JsonObject }
  | { readonly type: 'invalid'; readonly complaint: string };

/** Reads a JSON object that a person typed; the tool's schema judges it later. */
export function readJsonObject(text: string): TypedObject {
  try {
    const value: unknown = JSON.parse(text);
    // What JSON.parse makes an object of is a JSON object.
    if (typeof value === 'object' && value !== null && isPlainObject(value))
      return { type: 'object', value: value as JsonObject };
    return { type: 'invalid', complaint: 'a JSON object is needed, for example {"path": "a.txt"}' };
  } catch (error) {
    return { type: 'invalid', complaint: error instanceof Error ? error.message : String(error) };
  }
}
