import { SwarmError } from '../errors.ts';
import { isPlainObject } from './content.ts';

/** Levels of nesting a record may have; arguments alone are held to a lower bound where they enter. */
export const MAX_JSON_DEPTH = 256;

/**
 * The one text of a JSON value (RFC 8785): keys in code unit order, no spaces, shortest numbers. Equal values
 * have equal texts, so hashes are taken over it. Keys with the value `undefined` are dropped; lone surrogates
 * are escaped, so the text is always well-formed.
 *
 * @throws SwarmError 'invalid-record' for what JSON cannot hold (a function, a symbol, a bigint, a number that
 * is not finite, `undefined` in an array, an object that is not plain) and for more than `maxDepth` levels,
 * cycles among them
 */
export function canonicalJson(value: unknown, maxDepth: number = MAX_JSON_DEPTH): string {
  return write(value, maxDepth);
}

function write(value: unknown, depthLeft: number): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'number':
      if (!Number.isFinite(value)) throw unfit(`the number ${value}`);
      return String(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (value === null) return 'null';
      if (depthLeft <= 0) throw unfit('more levels of nesting than allowed, or a cycle');
      return Array.isArray(value) ? writeArray(value, depthLeft) : writeObject(value, depthLeft);
    default:
      throw unfit(`a value of type ${typeof value}`);
  }
}

function writeArray(items: readonly unknown[], depthLeft: number): string {
  let text = '[';
  for (let index = 0; index < items.length; index += 1) {
    if (index > 0) text += ',';
    text += write(items[index], depthLeft - 1);
  }
  return `${text}]`;
}

function writeObject(object: object, depthLeft: number): string {
  if (!isPlainObject(object)) throw unfit(`an object of class ${object.constructor?.name ?? 'unknown'}`);
  // Any plain object can be looked at as a record of unknown values.
  const record = object as Record<string, unknown>;
  let text = '{';
  for (const key of sortedKeys(record)) {
    const value = record[key];
    if (value === undefined) continue;
    text += `${text.length > 1 ? ',' : ''}${JSON.stringify(key)}:${write(value, depthLeft - 1)}`;
  }
  return `${text}}`;
}

/** Most objects come sorted already (they were read back, or written so on purpose); checking is cheaper. */
function sortedKeys(record: Record<string, unknown>): readonly string[] {
  const keys = Object.keys(record);
  for (let index = 1; index < keys.length; index += 1) {
    const before = keys[index - 1];
    const key = keys[index];
    if (before !== undefined && key !== undefined && before > key) return keys.sort(byCodeUnit);
  }
  return keys;
}

function byCodeUnit(left: string, right: string): number {
  return left < right ? -1 : 1;
}

function unfit(what: string): SwarmError {
  return new SwarmError('invalid-record', `JSON cannot hold ${what}`);
}
