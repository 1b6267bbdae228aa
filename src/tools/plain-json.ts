import type { JsonValue } from '../ledger/content.ts';

/** Levels and values beyond which a result is abridged: deeper or larger data is a graph, not a result. */
const MAX_DEPTH = 64;
const MAX_VALUES = 1_000_000;

/**
 * Any value as JSON, losing as little as JSON allows and never throwing: BigInt as digits, dates as ISO text, maps
 * as objects or entries, sets as arrays, errors as name and message, non-finite numbers by their name, bytes by
 * their count. What refers back to what holds it, cannot be read or lies too deep is named in brackets. Functions,
 * symbols and `undefined` vanish from objects.
 */
export function toPlainJson(value: unknown): JsonValue {
  return new Walk().plain(value, 0) ?? null;
}

class Walk {
  readonly #ancestors = new Set<object>();
  #values = 0;

  plain(value: unknown, depth: number): JsonValue | undefined {
    this.#values += 1;
    switch (typeof value) {
      case 'string':
      case 'boolean':
        return value;
      case 'number':
        return Number.isFinite(value) ? (value === 0 ? 0 : value) : String(value);
      case 'bigint':
        return value.toString();
      case 'object':
        return value === null ? null : this.#object(value, depth);
      case 'undefined':
      case 'function':
      case 'symbol':
        return undefined;
    }
  }

  #object(value: object, depth: number): JsonValue {
    if (this.#ancestors.has(value)) return '[circular]';
    if (depth >= MAX_DEPTH) return '[too deep]';
    this.#ancestors.add(value);
    try {
      return this.#contents(value, depth + 1);
    } catch {
      // A getter, a `toJSON` or a proxy of the tool threw; the rest of the result is still worth having.
      return '[unreadable]';
    } finally {
      this.#ancestors.delete(value);
    }
  }

  #contents(value: object, depth: number): JsonValue {
    if (value instanceof Error) return this.#record(errorEntries(value), depth);
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
    if (value instanceof Map) return this.#map(value, depth);
    if (value instanceof Set) return this.#list(value, depth);
    if ('toJSON' in value && typeof value.toJSON === 'function') {
      return this.plain(value.toJSON(''), depth) ?? null;
    }
    return Array.isArray(value) ? this.#list(value, depth) : this.#record(Object.entries(value), depth);
  }

  #map(map: ReadonlyMap<unknown, unknown>, depth: number): JsonValue {
    const entries = [...map];
    const isRecord = entries.every((entry): entry is [string, unknown] => typeof entry[0] === 'string');
    return isRecord ? this.#record(entries, depth) : this.#list(entries, depth);
  }

  #list(values: Iterable<unknown>, depth: number): JsonValue {
    const list: JsonValue[] = [];
    for (const item of values) {
      if (this.#values >= MAX_VALUES) {
        list.push('[more]');
        break;
      }
      list.push(this.plain(item, depth) ?? null);
    }
    return list;
  }

  #record(entries: Iterable<readonly [string, unknown]>, depth: number): JsonValue {
    const plain: [string, JsonValue][] = [];
    for (const [key, item] of entries) {
      if (this.#values >= MAX_VALUES) {
        plain.push(['…', '[more]']);
        break;
      }
      const copy = this.plain(item, depth);
      if (copy !== undefined) plain.push([key, copy]);
    }
    // `fromEntries` defines properties, so a key named `__proto__` stays plain data.
    return Object.fromEntries(plain);
  }
}

function errorEntries(error: Error): readonly [string, unknown][] {
  const entries: [string, unknown][] = [
    ['name', error.name],
    ['message', error.message],
  ];
  return error.cause === undefined ? entries : [...entries, ['cause', error.cause]];
}
