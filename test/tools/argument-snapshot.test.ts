import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/ledger/content.ts';
import { DEFAULT_LIMITS, type Limits } from '../../src/limits.ts';
import {
  cloneArguments,
  cloneJson,
  hashArguments,
  snapshotArguments,
} from '../../src/tools/argument-snapshot.ts';

const limits: Limits['arguments'] = DEFAULT_LIMITS.arguments;

function accepted(value: unknown): JsonObject {
  const snapshot = snapshotArguments(value, limits);
  if (snapshot.type === 'rejected') throw new TypeError(snapshot.reason);
  return snapshot.args;
}

function reasonFor(value: unknown, bounds = limits): string {
  const snapshot = snapshotArguments(value, bounds);
  return snapshot.type === 'rejected' ? snapshot.reason : 'accepted';
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? { a: value } : [value];
  return value;
}

function isDeepFrozen(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return Object.isFrozen(value) && Object.values(value).every(isDeepFrozen);
}

const plainObject = fc.dictionary(
  fc.string().filter((key) => key !== '__proto__' && key !== 'constructor'),
  fc.jsonValue({ maxDepth: 4 }),
  { maxKeys: 6, noNullPrototype: true },
);

describe('TR-03 snapshots', () => {
  it('TR-03 equal what JSON makes of plain arguments and are deep-frozen', () => {
    fc.assert(
      fc.property(plainObject, (value) => {
        fc.pre(reasonFor(value) === 'accepted');
        const args = accepted(value);
        expect(args).toEqual(JSON.parse(JSON.stringify(value)));
        expect(isDeepFrozen(args)).toBe(true);
      }),
    );
  });

  it('TR-03 share nothing with their source', () => {
    const source = { list: [{ a: 1 }] };
    const args = accepted(source);
    source.list.push({ a: 2 });
    const [first] = source.list;
    if (first !== undefined) first.a = 9;
    expect(args).toEqual({ list: [{ a: 1 }] });
  });

  it('TR-03 an implementation gets its own clone, and changing it changes nothing else', () => {
    const args = accepted({ list: [{ a: 1 }], text: 'x' });
    const clone = cloneArguments(args);
    clone['text'] = 'changed';
    (clone['list'] as unknown[]).push('more');
    expect(args).toEqual({ list: [{ a: 1 }], text: 'x' });
    expect(cloneArguments(args)).toEqual({ list: [{ a: 1 }], text: 'x' });
    expect(cloneArguments(args)).not.toBe(cloneArguments(args));
  });

  it('TR-03 reject cycles, naming the path', () => {
    const loop: Record<string, unknown> = { inner: { list: [] } };
    (loop['inner'] as { list: unknown[] }).list.push(loop);
    expect(reasonFor(loop)).toBe('inner.list.0 refers back to what holds it');
  });

  it('TR-03 copy a value that stands twice without being a cycle', () => {
    const shared = { a: 1 };
    expect(accepted({ x: shared, y: shared })).toEqual({ x: { a: 1 }, y: { a: 1 } });
  });

  it('TR-03 reject accessors without invoking them', () => {
    let invoked = 0;
    const getter = () => {
      invoked += 1;
      return 'value';
    };
    const inObject = Object.defineProperty({}, 'secret', { get: getter, enumerable: true });
    const inArray = Object.defineProperty([1], 0, { get: getter, enumerable: true });
    expect(reasonFor(inObject)).toBe('secret is an accessor');
    expect(reasonFor({ list: inArray })).toBe('list.0 is an accessor');
    expect(invoked).toBe(0);
  });

  it('TR-03 reject proxies without running their traps', () => {
    let trapped = 0;
    const trap = <T>(value: T) => {
      trapped += 1;
      return value;
    };
    const proxy = new Proxy(
      {},
      {
        get: () => trap(1),
        ownKeys: () => trap([]),
        getPrototypeOf: () => trap(null),
        has: () => trap(true),
      },
    );
    expect(reasonFor({ proxy })).toBe('proxy is a proxy');
    expect(trapped).toBe(0);
  });

  it.each<[string, unknown, RegExp]>([
    ['a date', { at: new Date(0) }, /at is not a plain object/],
    ['a map', { m: new Map() }, /m is not a plain object/],
    ['a class instance', { c: new (class Box {})() }, /c is not a plain object/],
    ['an array of a subclass', { l: new (class List extends Array {})() }, /l is not a plain object/],
    ['a function', { f: () => 1 }, /f is of type function/],
    ['a bigint', { n: 1n }, /n is of type bigint/],
    ['a symbol', { s: Symbol('x') }, /s is of type symbol/],
    ['a symbol key', { [Symbol('k')]: 1 }, /symbol keys/],
    ['NaN', { n: Number.NaN }, /n is not a finite number/],
    ['infinity', JSON.parse('{"n":1e400}'), /n is not a finite number/],
    ['an integer beyond 2^53', JSON.parse('{"id":12345678901234567890}'), /id is an integer too large/],
    ['a hole', { l: new Array(3) }, /l has holes/],
    ['undefined in an array', { l: [undefined] }, /l.0 is of type undefined/],
    ['a named property of an array', { l: Object.assign([1], { x: 1 }) }, /l has holes or named properties/],
    ['the key __proto__', JSON.parse('{"a":{"__proto__":{"admin":true}}}'), /forbidden key/],
    ['constructor.prototype', JSON.parse('{"constructor":{"prototype":{"admin":true}}}'), /forbidden key/],
  ])('TR-03 reject %s', (_, value, reason) => {
    expect(reasonFor(value)).toMatch(reason);
  });

  it.each([null, 1, 'text', true, undefined, [], [{}]])('TR-03 reject %j, which is no object', (value) => {
    expect(reasonFor(value)).not.toBe('accepted');
  });

  it('accept a constructor key that reaches no prototype, and objects without prototype', () => {
    expect(accepted({ constructor: 'x' })).toEqual({ constructor: 'x' });
    expect(accepted(Object.assign(Object.create(null), { a: 1 }))).toEqual({ a: 1 });
  });

  it('leave out undefined properties and know one zero', () => {
    expect(Object.keys(accepted({ a: undefined, b: 1 }))).toEqual(['b']);
    expect(Object.is(accepted({ z: -0 })['z'], 0)).toBe(true);
  });
});

describe('bounds of a snapshot', () => {
  it('hold at exactly 64 levels and not one more', () => {
    expect(reasonFor({ a: nested(63) })).toBe('accepted');
    expect(reasonFor({ a: nested(64) })).toMatch(/over 64 levels deep/);
  });

  it('reject nesting that would overflow any recursion', () => {
    expect(reasonFor({ a: nested(200_000) })).toMatch(/over 64 levels deep/);
    expect(reasonFor(JSON.parse(`{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`))).toMatch(/64 levels/);
  });

  it('count keys over all levels', () => {
    const bounds = { ...limits, maxKeys: 4 };
    expect(reasonFor({ a: { b: 1 }, c: [{ d: 1 }] }, bounds)).toBe('accepted');
    expect(reasonFor({ a: { b: 1 }, c: [{ d: 1, e: 1 }] }, bounds)).toMatch(/more than 4 keys/);
  });

  it('never allow more bytes than the JSON has', () => {
    fc.assert(
      fc.property(plainObject, (value) => {
        fc.pre(reasonFor(value) === 'accepted');
        const bytes = Buffer.byteLength(JSON.stringify(accepted(value)));
        expect(reasonFor(value, { ...limits, maxBytes: bytes - 1 })).not.toBe('accepted');
        // Commas are counted one too many per container.
        expect(reasonFor(value, { ...limits, maxBytes: bytes * 2 + 2 })).toBe('accepted');
      }),
    );
  });

  it('stop shared values that multiply each other', () => {
    let value: unknown = 'x'.repeat(10);
    for (let level = 0; level < 40; level += 1) value = [value, value];
    expect(reasonFor({ value })).toMatch(/over 1048576 bytes/);
  });

  it('stop a sparse array of four billion holes', () => {
    const sparse: unknown[] = [];
    sparse.length = 2 ** 32 - 1;
    expect(reasonFor({ sparse })).toMatch(/too large/);
  });

  it('name hostile keys in bounded visible text', () => {
    const reason = reasonFor({ [`\u202e${'k'.repeat(10_000)}`]: Number.NaN });
    expect(reason.length).toBeLessThan(200);
    expect(reason).not.toContain('\u202e');
  });
});

describe('clones and hashes', () => {
  it('cloneJson copies any JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        fc.pre(!JSON.stringify(value).includes('__proto__'));
        // A JSON value of fast-check is one of ours.
        expect(cloneJson(value as never)).toEqual(value);
      }),
    );
  });

  it('the hash ignores the order of keys and nothing else', () => {
    expect(hashArguments({ a: 1, b: { c: 2, d: 3 } })).toBe(hashArguments({ b: { d: 3, c: 2 }, a: 1 }));
    expect(hashArguments({ a: [1, 2] })).not.toBe(hashArguments({ a: [2, 1] }));
    expect(hashArguments({ a: '1' })).not.toBe(hashArguments({ a: 1 }));
    expect(hashArguments({})).toMatch(/^[0-9a-f]{64}$/);
  });
});
