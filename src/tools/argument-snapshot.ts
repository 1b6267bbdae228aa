import { hash } from 'node:crypto';
import { types } from 'node:util';
import { canonicalJson } from '../ledger/canonical-json.ts';
import type { JsonObject, JsonValue } from '../ledger/content.ts';
import type { Limits } from '../limits.ts';
import { safeName } from './safe-text.ts';

/** Outcome of {@link snapshotArguments}. */
export type ArgumentSnapshot =
  | { readonly type: 'ok' /** Deep-frozen and plain. */; readonly args: JsonObject }
  | {
      readonly type: 'rejected' /** Names the path and what is wrong, never a value. */;
      readonly reason: string;
    };

/** A JSON object that its owner may change. */
export type MutableJsonObject = { [key: string]: MutableJson };
/** A JSON value that its owner may change. */
export type MutableJson = string | number | boolean | null | MutableJson[] | MutableJsonObject;

/**
 * A deep-frozen plain copy of `value`, which must be a bounded JSON object. Nothing of `value` is executed:
 * accessors and proxies are rejected unread. Rejected as well: cycles, non-plain objects, holes, functions,
 * non-finite numbers, integers outside 2^53, the keys `__proto__` and `constructor.prototype`, and anything over
 * `limits` (bytes of its JSON, levels, keys). Properties that are `undefined` are left out, as JSON does.
 */
export function snapshotArguments(value: unknown, limits: Limits['arguments']): ArgumentSnapshot {
  const copied = copyPlain(value, limits);
  if (copied.type === 'rejected') return copied;
  const { copy } = copied;
  if (typeof copy === 'object' && copy !== null && !Array.isArray(copy)) {
    // A container that is no array is an object of the copier's own making.
    return { type: 'ok', args: copy as JsonObject };
  }
  return { type: 'rejected', reason: 'the arguments are not a JSON object' };
}

/** A fresh copy of a snapshot that an implementation may change without anyone else seeing it. */
export function cloneArguments(args: JsonObject): MutableJsonObject {
  const root: MutableJsonObject = {};
  copyInto(args, root);
  return root;
}

/** A fresh copy of any plain JSON value. */
export function cloneJson(value: JsonValue): MutableJson {
  if (typeof value !== 'object' || value === null) return value;
  const root = Array.isArray(value) ? [] : {};
  copyInto(value, root);
  return root;
}

/** Iterative: the depth of what was stored once is not bounded by what the stack holds. */
function copyInto(source: object, target: MutableJson[] | MutableJsonObject): void {
  const open: [source: object, target: MutableJson[] | MutableJsonObject][] = [[source, target]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [from, to] = next;
    for (const [key, value] of Object.entries(from)) {
      if (typeof value !== 'object' || value === null) put(to, key, value);
      else {
        const copy = Array.isArray(value) ? [] : {};
        put(to, key, copy);
        open.push([value, copy]);
      }
    }
  }
}

/** sha256 in hex over the canonical JSON of `args`: the order of keys does not matter. */
export function hashArguments(args: JsonObject): string {
  return hash('sha256', canonicalJson(args));
}

type Copied =
  | { readonly type: 'ok'; readonly copy: JsonValue }
  | { readonly type: 'rejected'; readonly reason: string };

interface Frame {
  readonly source: object;
  readonly target: MutableJson[] | MutableJsonObject;
  readonly keys: readonly string[];
  next: number;
  /** Something was copied: what follows has a comma before it. */
  begun: boolean;
}

/** Thrown and caught in this file only. */
class Rejected {
  readonly reason: string;
  constructor(reason: string) {
    this.reason = reason;
  }
}

/** The copier of {@link snapshotArguments} for any JSON value; iterative, so that no depth can overflow it. */
export function copyPlain(value: unknown, limits: Limits['arguments']): Copied {
  try {
    return { type: 'ok', copy: new Copier(limits).copy(value) };
  } catch (error) {
    if (error instanceof Rejected) return { type: 'rejected', reason: error.reason };
    return { type: 'rejected', reason: 'the arguments cannot be read' };
  }
}

class Copier {
  readonly #limits: Limits['arguments'];
  readonly #path: Frame[] = [];
  readonly #ancestors = new Set<object>();
  #bytes = 0;
  #keys = 0;

  constructor(limits: Limits['arguments']) {
    this.#limits = limits;
  }

  copy(value: unknown): JsonValue {
    const root = this.#enter(value);
    for (let frame = this.#path.at(-1); frame !== undefined; frame = this.#path.at(-1)) {
      const key = frame.keys[frame.next];
      frame.next += 1;
      if (key !== undefined) this.#copyProperty(frame, key);
      else {
        Object.freeze(frame.target);
        this.#ancestors.delete(frame.source);
        this.#path.pop();
      }
    }
    return root;
  }

  #copyProperty(frame: Frame, key: string): void {
    const isArray = Array.isArray(frame.target);
    const descriptor = Object.getOwnPropertyDescriptor(frame.source, key);
    if (descriptor === undefined) this.#reject('has a hole');
    if (!('value' in descriptor)) this.#reject('is an accessor', key);
    const value: unknown = descriptor.value;
    if (value === undefined && !isArray) return;
    if (!isArray) {
      this.#count(key, value);
      this.#spend(sizeOf(key) + 1);
    }
    if (frame.begun) this.#spend(1);
    frame.begun = true;
    put(frame.target, key, this.#enter(value));
  }

  /** Copies a leaf, or opens a container whose content the loop in `copy` fills. */
  #enter(value: unknown): MutableJson {
    if (value === null || typeof value === 'boolean') {
      this.#spend(value === false ? 5 : 4);
      return value;
    }
    if (typeof value === 'string') return this.#string(value);
    if (typeof value === 'number') return this.#number(value);
    if (typeof value !== 'object') this.#reject(`is of type ${typeof value}`);
    return this.#open(value);
  }

  #open(source: object): MutableJson {
    if (types.isProxy(source)) this.#reject('is a proxy');
    if (this.#ancestors.has(source)) this.#reject('refers back to what holds it');
    if (this.#path.length >= this.#limits.maxDepth)
      this.#reject(`is over ${this.#limits.maxDepth} levels deep`);
    const isArray = Array.isArray(source);
    const prototype: unknown = Object.getPrototypeOf(source);
    const plain = isArray
      ? prototype === Array.prototype
      : prototype === Object.prototype || prototype === null;
    if (!plain) this.#reject('is not a plain object');
    this.#spend(2);
    const target: MutableJson[] | MutableJsonObject = isArray ? [] : {};
    const keys = isArray ? this.#indices(source) : this.#names(source);
    this.#path.push({ source, target, keys, next: 0, begun: false });
    this.#ancestors.add(source);
    return target;
  }

  #indices(source: readonly unknown[]): readonly string[] {
    // An element takes at least two bytes, so the byte bound also bounds what a sparse length can cost.
    if (source.length * 2 > this.#limits.maxBytes) this.#reject('is too large');
    const keys = Object.keys(source);
    if (keys.length !== source.length) this.#reject('has holes or named properties');
    return keys;
  }

  #names(source: object): readonly string[] {
    if (Object.getOwnPropertySymbols(source).length > 0) this.#reject('has symbol keys');
    return Object.keys(source);
  }

  #count(key: string, value: unknown): void {
    this.#keys += 1;
    if (this.#keys > this.#limits.maxKeys) this.#reject(`has more than ${this.#limits.maxKeys} keys in all`);
    if (key === '__proto__') this.#reject('has a forbidden key');
    if (
      key === 'constructor' &&
      typeof value === 'object' &&
      value !== null &&
      Object.hasOwn(value, 'prototype')
    ) {
      this.#reject('has a forbidden key');
    }
  }

  #string(value: string): string {
    if (value.length > this.#limits.maxBytes) this.#reject('is too large');
    this.#spend(sizeOf(value));
    return value;
  }

  #number(value: number): number {
    if (!Number.isFinite(value)) this.#reject('is not a finite number');
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
      this.#reject('is an integer too large to be exact; send it as a string');
    }
    this.#spend(String(value).length);
    // JSON knows one zero.
    return value === 0 ? 0 : value;
  }

  #spend(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#limits.maxBytes) {
      throw new Rejected(`the arguments are over ${this.#limits.maxBytes} bytes`);
    }
  }

  #reject(what: string, key?: string): never {
    const names = this.#path.map((frame) => frame.keys[frame.next - 1]).filter((name) => name !== undefined);
    if (key !== undefined && names.at(-1) !== key) names.push(key);
    throw new Rejected(`${describePath(names)} ${what}`);
  }
}

/** Bytes of a string in JSON. */
function sizeOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}

function put(target: MutableJson[] | MutableJsonObject, key: string, value: MutableJson): void {
  if (Array.isArray(target)) target.push(value);
  else target[key] = value;
}

/** A path of keys for a message: bounded, and `the arguments` for the root. */
function describePath(names: readonly string[]): string {
  if (names.length === 0) return 'the arguments';
  const shown = names.slice(0, 8).map((name) => safeName(name));
  return `${shown.join('.')}${names.length > 8 ? '…' : ''}`;
}
