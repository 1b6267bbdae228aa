import { createSearchIndex, type SearchableTool, type ToolSearchIndex } from '../src/tools/search-index.ts';
import { parseSelect } from '../src/tools/search-query.ts';
import type { RetrievalData } from './retrieval-data.ts';

const RESULTS = 5;

/** The share of tools that are found under a form of their name, in percent. */
export interface NameCheck {
  readonly form: string;
  readonly foundPercent: number;
}

function bareName({ name }: SearchableTool): string {
  const separator = name.indexOf('__');
  return separator >= 0 ? name.slice(separator + 2) : name.slice(name.lastIndexOf('.') + 1);
}

function wordsOf(name: string): readonly string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '');
}

function camelCase(name: string): string {
  const [first = '', ...rest] = wordsOf(name).map((word) => word.toLowerCase());
  return first + rest.map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`).join('');
}

const STYLES: readonly ((name: string) => string)[] = [
  (name) => name.toUpperCase(),
  (name) => name.toLowerCase(),
  camelCase,
  (name) => wordsOf(name).join('_').toLowerCase(),
  (name) => wordsOf(name).join('-').toLowerCase(),
];

type Check = (index: ToolSearchIndex, tool: SearchableTool) => boolean;

/** True if the tool is an exact result; all results of that form are, and stand before the others. */
function isExact(index: ToolSearchIndex, tool: SearchableTool, query: string): boolean {
  const ranked = index.rank(query, { limit: Number.POSITIVE_INFINITY });
  const at = ranked.findIndex(({ name }) => name === tool.name);
  return at >= 0 && ranked.slice(0, at + 1).every(({ exact }) => exact);
}

/** The tool is among the first results of a text that holds its name, where the name can be told. */
function isMentioned(index: ToolSearchIndex, tool: SearchableTool, wrap: (name: string) => string): boolean {
  const bare = bareName(tool);
  const isTelling = index.rank(bare, { limit: 2 }).filter(({ exact }) => exact).length === 1;
  const name = isTelling ? bare : tool.name;
  return index.rank(wrap(name), { limit: RESULTS }).some((ranked) => ranked.name === tool.name);
}

const UNSPACED_RUN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]{4,12}/u;

const CHECKS: readonly { readonly form: string; readonly check: Check }[] = [
  {
    form: 'canonical name',
    check: (index, tool) => index.rank(tool.name, { limit: 1 })[0]?.name === tool.name,
  },
  { form: 'bare name', check: (index, tool) => isExact(index, tool, bareName(tool)) },
  {
    form: 'other case styles',
    check: (index, tool) => STYLES.every((style) => isExact(index, tool, style(tool.name))),
  },
  {
    form: 'select: list',
    check: (index, tool) => {
      const names = parseSelect(`select: ${tool.name}, no-such-tool`) ?? [];
      return names.flatMap((name) => index.resolve(name)).join() === tool.name;
    },
  },
  {
    form: 'name in Chinese',
    check: (index, tool) => isMentioned(index, tool, (name) => `请帮我使用 ${name} 来处理这个文件`),
  },
  {
    form: 'name in Japanese',
    check: (index, tool) => isMentioned(index, tool, (name) => `${name}を使ってこの作業をしてください`),
  },
  {
    form: 'own words of a CJK description',
    check: (index, tool) => {
      const words = UNSPACED_RUN.exec(tool.description)?.[0];
      if (words === undefined) return true;
      return index.rank(words, { limit: RESULTS }).some(({ name }) => name === tool.name);
    },
  },
];

/** Looks every tool of the catalogues up under every form of its name. */
export function checkNames(data: RetrievalData): readonly NameCheck[] {
  const indexes = Array.from(data.catalogues.values(), (tools) => ({
    tools,
    index: createSearchIndex(tools),
  }));
  const total = indexes.reduce((sum, { tools }) => sum + tools.length, 0);
  return CHECKS.map(({ form, check }) => {
    const found = indexes.map(({ tools, index }) => tools.filter((tool) => check(index, tool)).length);
    return { form, foundPercent: (100 * found.reduce((sum, count) => sum + count, 0)) / total };
  });
}

/** How many queries are ordered otherwise when the catalogue is given backwards, or asked a second time. */
export function countUnstable(data: RetrievalData): number {
  let unstable = 0;
  const order = (index: ToolSearchIndex, query: string): string =>
    JSON.stringify(index.rank(query, { limit: 20 }));
  const indexes = new Map(
    Array.from(data.catalogues, ([name, tools]) => {
      return [name, [createSearchIndex(tools), createSearchIndex(tools.toReversed())]] as const;
    }),
  );
  for (const { query, catalogue } of [...data.sets.values()].flat()) {
    const [forwards, backwards] = indexes.get(catalogue) ?? [];
    if (forwards === undefined || backwards === undefined) continue;
    const first = order(forwards, query);
    if (order(backwards, query) !== first || order(forwards, query) !== first) unstable += 1;
  }
  return unstable;
}
