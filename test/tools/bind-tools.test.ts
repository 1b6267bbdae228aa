import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isSwarmError } from '../../src/errors.ts';
import { type BindOptions, bindTools } from '../../src/tools/bind-tools.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { replayName } from '../../src/tools/tool-names.ts';
import { boundNamed, toolNamed } from './bound-tool.ts';

const bindNames = (names: readonly string[], options?: BindOptions) =>
  bindTools(
    names.map((name) => toolNamed(name)),
    options,
  );

function codeOf(run: () => unknown): string {
  try {
    run();
    return 'accepted';
  } catch (error) {
    return isSwarmError(error) ? error.code : String(error);
  }
}

describe('names in a binding', () => {
  it('refuses two tools of one name', () => {
    expect(codeOf(() => bindNames(['read', 'write', 'read']))).toBe('duplicate-tool');
    expect(() => bindNames(['read', 'read'])).toThrow(/named read/);
  });

  it.each(['tool_search', 'Tool_Search', 't00l_search'])('refuses the reserved name %s', (name) => {
    expect(codeOf(() => bindNames([name], { reservedNames: ['tool_search'] }))).toBe('reserved-tool-name');
  });

  it.each([
    ['read_file', 'Read_File'],
    ['list', '1ist'],
    ['log', 'l0g'],
    ['LIST', 'LlST'],
    ['modern', 'modem'],
    ['view', 'vievv'],
  ])('refuses %s beside %s, which looks alike', (one, other) => {
    expect(codeOf(() => bindNames([one, other]))).toBe('look-alike-tool-name');
    expect(codeOf(() => bindNames([other, one]))).toBe('look-alike-tool-name');
  });

  it.each([
    ['read', 'reads'],
    ['get_1', 'get_2'],
    ['read-file', 'write-file'],
    ['a_b', 'ab'],
  ])('accepts %s beside %s', (one, other) => {
    expect(codeOf(() => bindNames([one, other]))).toBe('accepted');
  });

  it('refuses what defineTool did not make', () => {
    expect(codeOf(() => bindTools([{ name: 'x' } as Tool]))).toBe('invalid-definition');
    expect(codeOf(() => bindTools([{ ...toolNamed('x'), name: 'a b\u202e' }]))).toBe('invalid-definition');
  });

  it('names the tool whose schema cannot be used', () => {
    expect(() => bindTools([toolNamed('good'), toolNamed('bad', { inputSchema: z.string() })])).toThrow(
      /tool bad/,
    );
  });
});

describe('wire names', () => {
  const WIRE = /^[a-zA-Z0-9_-]{1,64}$/;

  it('keep a usable name and alias the rest by a hash', () => {
    const names = ['read_file', 'x'.repeat(64), 'files.read', 'x'.repeat(65), 'a:b'];
    const wire = bindNames(names).tools.map((bound) => bound.definition.name);
    expect(wire.slice(0, 2)).toEqual(names.slice(0, 2));
    expect(wire[2]).toMatch(/^files_read_[0-9a-f]{8}$/);
    expect(wire[3]).toMatch(/^x{55}_[0-9a-f]{8}$/);
    expect(wire[4]).toMatch(/^a_b_[0-9a-f]{8}$/);
  });

  it('find their tool again, by either name', () => {
    const binding = bindNames(['files.read', 'write']);
    const [read] = binding.tools;
    expect(binding.byWireName(read?.definition.name ?? '')).toBe(read);
    expect(binding.byName('files.read')).toBe(read);
    expect(binding.byWireName('files.read')).toBeUndefined();
    expect(binding.byName('gone')).toBeUndefined();
    expect(binding.byName('constructor')).toBeUndefined();
  });

  it('are what history is replayed under', () => {
    for (const name of ['read', 'files.read', 'x'.repeat(65)]) {
      expect(boundNamed(name).definition.name).toBe(replayName(name));
    }
  });

  it('refuse a tool that takes the alias of another for its name', () => {
    const alias = replayName('files.read');
    for (const names of [
      [alias, 'files.read'],
      ['files.read', alias],
    ]) {
      expect(codeOf(() => bindNames(names))).toBe('look-alike-tool-name');
    }
  });

  it('are valid and distinct for any set of names', () => {
    const name = fc.stringMatching(/^[a-z.:_-]{1,80}$/);
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 8 }), (names) => {
        fc.pre(codeOf(() => bindNames(names)) === 'accepted');
        const wire = bindNames(names).tools.map((bound) => bound.definition.name);
        for (const one of wire) expect(one).toMatch(WIRE);
        expect(new Set(wire).size).toBe(names.length);
      }),
    );
  });
});

describe('definitions in a binding', () => {
  it('are frozen and carry cleaned, bounded descriptions', () => {
    const { definition } = boundNamed('probe', {
      description: `Reads\u202e${'\u200b'}.${'x'.repeat(2_000)}`,
    });
    expect(Object.isFrozen(definition)).toBe(true);
    expect(Object.isFrozen(definition.inputSchema)).toBe(true);
    expect(definition.description).toMatch(/^Reads\.x+…$/);
    expect(definition.description).toHaveLength(1_024);
  });

  it('take another bound for descriptions', () => {
    const [bound] = bindTools([toolNamed('probe', { description: 'x'.repeat(2_000) })], {
      maxDescriptionChars: 3_000,
    }).tools;
    expect(bound?.definition.description).toHaveLength(2_000);
  });

  it('count the characters a provider gets', () => {
    const bound = boundNamed('probe');
    expect(bound.schemaChars).toBe(JSON.stringify(bound.definition).length);
  });

  it('keep the order of the tools', () => {
    expect(bindNames(['c', 'a', 'b']).tools.map((bound) => bound.name)).toEqual(['c', 'a', 'b']);
  });
});

describe('hashes of a binding', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'number' } } };
  const hashOf = (options: Parameters<typeof boundNamed>[1], name = 'probe') =>
    boundNamed(name, options).schemaHash;

  it('follow name, description and schema', () => {
    const base = hashOf({ inputSchema: schema });
    expect(hashOf({ inputSchema: schema })).toBe(base);
    expect(hashOf({ inputSchema: schema }, 'other')).not.toBe(base);
    expect(hashOf({ inputSchema: schema, description: 'Other.' })).not.toBe(base);
    expect(hashOf({ inputSchema: { ...schema, required: ['a'] } })).not.toBe(base);
  });

  it('ignore the order of keys', () => {
    const { a, b } = schema.properties;
    expect(hashOf({ inputSchema: { properties: { b, a }, type: 'object' } })).toBe(
      hashOf({ inputSchema: schema }),
    );
  });

  it('see a change that the model does not', () => {
    const base = hashOf({ inputSchema: schema, description: 'Same.' });
    expect(hashOf({ inputSchema: { ...schema, not: { required: ['a'] } }, description: 'Same.' })).not.toBe(
      base,
    );
    expect(hashOf({ inputSchema: schema, description: 'Same.\u200b' })).not.toBe(base);
  });

  it('of the whole ignore the order of the tools', () => {
    expect(bindNames(['a', 'b']).hash).toBe(bindNames(['b', 'a']).hash);
    expect(bindNames(['a', 'b']).hash).not.toBe(bindNames(['a']).hash);
    expect(bindNames([]).hash).toMatch(/^[0-9a-f]{64}$/);
  });
});
