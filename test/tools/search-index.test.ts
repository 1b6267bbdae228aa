import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSearchIndex, type SearchableTool } from '../../src/tools/search-index.ts';

const NO_PARAMETERS = { type: 'object', properties: {} };

function tool(name: string, description: string, more: Partial<SearchableTool> = {}): SearchableTool {
  return { name, description, inputSchema: NO_PARAMETERS, ...more };
}

const CATALOGUE: readonly SearchableTool[] = [
  tool('files__read_file', 'Reads the contents of a file.', {
    group: 'files',
    inputSchema: { properties: { path: { description: 'Where the file lies' } } },
  }),
  tool('files__write_file', 'Writes text to a file.', { group: 'files' }),
  tool('files__list_directory', 'Lists the entries of a directory.', { group: 'files' }),
  tool('drive__read_file', 'Downloads a document from the cloud drive.', { group: 'drive' }),
  tool('github__create_issue', 'Opens an issue in a repository.', { group: 'github', aliases: ['file_bug'] }),
  tool('getWeather', 'Current conditions and forecast for a city.', {
    inputSchema: { properties: { unit: { enum: ['celsius', 'fahrenheit'] } } },
  }),
  tool('mindmap', 'Draws a tree of ideas.'),
  tool('send_mail', 'Sends an email message to a person.'),
  tool('translate_text', 'Turns a text into another language.'),
  tool('trends__toutiao', '\u83b7\u53d6\u4eca\u65e5\u5934\u6761\u70ed\u699c\u3002'),
];
const index = createSearchIndex(CATALOGUE);
const namesFor = (query: string, limit?: number): readonly string[] =>
  index.rank(query, limit === undefined ? {} : { limit }).map(({ name }) => name);

describe('exact names', () => {
  it.each([
    'files__write_file',
    'FILES__WRITE_FILE',
    'filesWriteFile',
    'files-write-file',
    ' `files__write_file` ',
  ])('TS-18 %s ranks first and alone at limit 1', (query) => {
    expect(index.rank(query, { limit: 1 })).toEqual([
      { name: 'files__write_file', score: expect.any(Number), exact: true },
    ]);
  });

  it('put both tools of one bare name first', () => {
    const [first, second, ...rest] = index.rank('ReadFile', { limit: 20 });
    expect([first?.name, second?.name]).toEqual(['drive__read_file', 'files__read_file']);
    expect([first?.exact, second?.exact]).toEqual([true, true]);
    expect(rest.some(({ exact }) => exact)).toBe(false);
  });

  it('include aliases', () => {
    expect(index.rank('File Bug')[0]).toMatchObject({ name: 'github__create_issue', exact: true });
  });

  it('prefer the name as written over another case, style, alias or bare name of others', () => {
    const tools = ['other__get', 'g.e.t', 'GET', 'get'].map((name) => tool(name, 'Does it.'));
    const ranked = createSearchIndex([...tools, tool('zero', 'Does it.', { aliases: ['get'] })]).rank('get');
    expect(ranked.map(({ name }) => name)).toEqual(['get', 'GET', 'g.e.t', 'zero', 'other__get']);
  });

  it('resolve to the closest form only', () => {
    expect(index.resolve('read_file')).toEqual(['drive__read_file', 'files__read_file']);
    expect(index.resolve('files__read_file')).toEqual(['files__read_file']);
    expect(index.resolve('get_weather')).toEqual(['getWeather']);
    expect(index.resolve('file')).toEqual([]);
  });

  it('that stand in a longer query come before other matches, but are not exact', () => {
    const [first] = index.rank('list the weather files with send_mail in the directory');
    expect(first).toMatchObject({ name: 'send_mail', exact: false });
  });
});

describe('ranking by words', () => {
  it.each([
    ['a word of the name', 'directory', 'files__list_directory'],
    ['an inflection', 'translating texts', 'translate_text'],
    ['a word for the same thing', 'folder', 'files__list_directory'],
    ['a narrower word', 'is it going to rain', 'getWeather'],
    ['the beginning of a word', 'transl', 'translate_text'],
    ['a word inside a name', 'somemap mindmapping', 'mindmap'],
    ['a mistyped word', 'wether forcast', 'getWeather'],
    ['a compound in two words', 'mind map', 'mindmap'],
    ['a value of a parameter', 'fahrenheit', 'getWeather'],
    ['a word of the group', 'github', 'github__create_issue'],
    ['characters of a description without spaces', '\u4eca\u65e5\u5934\u6761', 'trends__toutiao'],
    ['another language', '\u5929\u6c14', 'getWeather'],
    ['a name within Chinese', '\u8bf7\u7528 send_mail \u53d1\u9001', 'send_mail'],
    ['a name within Japanese', 'getWeather\u3092\u4f7f\u3063\u3066', 'getWeather'],
  ])('finds %s', (_, query, expected) => {
    expect(namesFor(query)[0]).toBe(expected);
  });

  it('puts a match in the name before the same match in the description', () => {
    const tools = [tool('alpha_one', 'Handles invoices.'), tool('invoices_two', 'Handles alphas.')];
    const ranked = createSearchIndex(tools).rank('invoices');
    expect(ranked.map(({ name }) => name)).toEqual(['invoices_two', 'alpha_one']);
  });

  it('puts the word itself before its synonyms, prefixes and corrections', () => {
    const tools = ['folder', 'directory', 'folders', 'folderize', 'flder'].map((word) =>
      tool(`x_${word}`, word),
    );
    const ranked = createSearchIndex(tools).rank('folder', { limit: 20 });
    expect(['x_folder', 'x_folders']).toContain(ranked[0]?.name);
    expect(ranked.at(-1)?.score).toBeLessThan(ranked[0]?.score ?? 0);
  });

  it('weighs a word common in any question less than the others', () => {
    const tools = [tool('alpha', 'A list.'), tool('beta', 'A flamingo.'), tool('gamma', 'A third.')];
    const ranked = createSearchIndex(tools).rank('list flamingo');
    expect(ranked.map(({ name }) => name)).toEqual(['beta', 'alpha']);
  });

  it('reads 8,192 characters of a description', () => {
    const long = (chars: number) => `${'filler '.repeat(2_000).slice(0, chars)} needle.`;
    const built = createSearchIndex([tool('near', long(8_000)), tool('far', long(9_000))]);
    expect(built.rank('needle').map(({ name }) => name)).toEqual(['near']);
  });

  it('corrects only what no tool says', () => {
    const tools = [tool('one', 'about formats'), tool('two', 'about forests')];
    expect(
      createSearchIndex(tools)
        .rank('formats')
        .map(({ name }) => name),
    ).toEqual(['one']);
  });

  it('leaves out what matches less than 0.4 times as well as the best', () => {
    const ranked = index.rank('read the contents of a file', { limit: 20 });
    const best = ranked[0]?.score ?? 0;
    expect(ranked.every(({ score }) => score >= 0.4 * best)).toBe(true);
    const uncut = createSearchIndex(CATALOGUE, { cut: false }).rank('read the contents of a file', {
      limit: 20,
    });
    expect(uncut.length).toBeGreaterThan(ranked.length);
  });

  it('gives 5 results unless asked for another number, and none for 0', () => {
    const many = createSearchIndex(Array.from({ length: 30 }, (_, at) => tool(`file_${at}`, 'A file.')));
    expect(many.rank('file')).toHaveLength(5);
    expect(many.rank('file', { limit: 12 })).toHaveLength(12);
    expect(many.rank('file', { limit: Number.POSITIVE_INFINITY })).toHaveLength(30);
    expect(many.rank('file', { limit: 0 })).toEqual([]);
    expect(many.rank('file', { limit: Number.NaN })).toHaveLength(5);
  });

  it.each(['', '   ', '?!', '\ud800', 'qqqqzzzz', '\u0000'])('TS-17 finds nothing for %j', (query) => {
    expect(index.rank(query)).toEqual([]);
  });

  it('finds nothing in an empty catalogue', () => {
    expect(createSearchIndex([]).rank('file')).toEqual([]);
  });
});

describe('stability', () => {
  const queries = ['read a file', 'read_file', 'opne issue', '\u5929\u6c14', 'send mail to person', 'folder'];
  const orderOf = (tools: readonly SearchableTool[]): string => {
    const built = createSearchIndex(tools);
    return JSON.stringify(queries.map((query) => built.rank(query, { limit: 20 })));
  };

  it('TS-20 ranks alike for any order of registration', () => {
    const expected = orderOf(CATALOGUE);
    const shuffled = fc.shuffledSubarray([...CATALOGUE], { minLength: CATALOGUE.length });
    fc.assert(
      fc.property(shuffled, (tools) => {
        expect(orderOf(tools)).toBe(expected);
      }),
      { numRuns: 20 },
    );
  });

  it('ranks alike however often and after whatever it is asked', () => {
    const words = fc.constantFrom(
      'read',
      'file',
      'wether',
      'folder',
      'mindmap',
      'ttranslate',
      '\u5929\u6c14',
    );
    fc.assert(
      fc.property(fc.array(words, { maxLength: 6 }), fc.array(words, { maxLength: 6 }), (before, after) => {
        const asked = createSearchIndex(CATALOGUE);
        asked.rank(before.join(' '));
        expect(asked.rank(after.join(' '))).toEqual(createSearchIndex(CATALOGUE).rank(after.join(' ')));
      }),
      { numRuns: 30 },
    );
  });

  it('is not changed by later edits of the tools', () => {
    const edited = { ...tool('alpha', 'About apples.') };
    const built = createSearchIndex([edited, tool('beta', 'About pears.')]);
    Object.assign(edited, { description: 'About oranges.' });
    expect(built.rank('apples').map(({ name }) => name)).toEqual(['alpha']);
    expect(built.rank('oranges')).toEqual([]);
  });
});

describe('hostile input', () => {
  it('TS-03 gives only names of the catalogue, each once, whatever is asked', () => {
    const known = new Set(CATALOGUE.map(({ name }) => name));
    const query = fc.oneof(fc.string({ unit: 'binary' }), fc.lorem(), fc.constantFrom(...known, '__proto__'));
    fc.assert(
      fc.property(fc.array(query, { maxLength: 5 }), fc.nat({ max: 30 }), (parts, limit) => {
        const names = namesFor(parts.join(' '), limit);
        expect(names.every((name) => known.has(name))).toBe(true);
        expect(new Set(names).size).toBe(names.length);
        expect(names.length).toBeLessThanOrEqual(limit);
      }),
    );
  });

  it('is found where names are those of object members', () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
    const built = createSearchIndex(names.map((name) => tool(name, `The ${name} tool.`)));
    for (const name of names) expect(built.rank(name, { limit: 1 })[0]).toMatchObject({ name, exact: true });
    expect(built.resolve('valueOf')).toEqual([]);
  });

  it('of 10 million characters costs no more than its bounded part', () => {
    const huge = 'weather '.repeat(1_250_000);
    const built = createSearchIndex([
      tool('huge', huge, {
        group: huge,
        aliases: Array.from({ length: 100_000 }, (_, at) => `a${at}`),
        inputSchema: { properties: { [huge]: { description: huge } } },
      }),
      tool(huge, 'A name too long.'),
      tool('small', 'A forecast.'),
    ]);
    const start = performance.now();
    expect(built.rank(huge).length).toBeGreaterThan(0);
    expect(built.resolve(huge)).toEqual([]);
    expect(built.rank('forecast')[0]?.name).toBe('small');
    expect(performance.now() - start).toBeLessThan(2_000);
  });

  it('keeps one of two tools with one name', () => {
    const built = createSearchIndex([tool('same', 'About pears.'), tool('same', 'About apples.')]);
    expect(built.rank('same').map(({ name }) => name)).toEqual(['same']);
  });
});
