// The tools of the review. Each result is bounded here, where it is known what may be left out; what goes on is
// named in the result, so that a model can ask for it.
import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { defineTool, type Tool, type ToolContext } from 'swarmwright';
import { z } from 'zod';
import { type Folder, linesOf } from './folder.ts';
import { pageOf } from './page.ts';

/** What the tools need of a run: given to `runtime.run`, never seen by the model. */
export interface ReviewContext {
  readonly folder: Folder;
  /** Where `write_report` writes. */
  readonly out?: string;
}

/** Bytes of one result; well below what the runtime would cut it to. */
const MAX_RESULT_BYTES = 30_000;
/** Characters of a line that is shown as found. */
const MAX_MATCH_CHARS = 200;
const MAX_MATCHES = 100;

const under = z
  .array(z.string())
  .max(200)
  .default([])
  .describe('only paths that begin with one of these, such as `src/`; `./` is what lies in no folder');

/** Whether a path is in a part of the folder; all of them are where no part is named. */
function isUnder(path: string, parts: readonly string[]): boolean {
  if (parts.length === 0) return true;
  return parts.some((part) => (part === './' ? !path.includes('/') : path.startsWith(part)));
}

export const listFiles = defineTool({
  name: 'list_files',
  description:
    'Lists text files with their number of lines, and counts all of them. Dependencies, builds, links, binaries and secrets are left out. Long lists come in pages: go on with `from` = `next`.',
  inputSchema: z.object({
    under,
    from: z.int().min(0).default(0),
  }),
  recovery: 'replay_safe',
  async execute({ under, from }, ctx: ToolContext<ReviewContext>) {
    const { files, leftOut, isComplete } = await ctx.context.folder.survey(ctx.signal);
    const wanted = files.filter(({ path }) => isUnder(path, under));
    const { items, next } = pageOf(wanted, from, { items: 300, bytes: MAX_RESULT_BYTES });
    const sum = (field: 'lines' | 'bytes') => wanted.reduce((total, file) => total + file[field], 0);
    return {
      total: { files: wanted.length, lines: sum('lines'), bytes: sum('bytes') },
      leftOut,
      isComplete,
      files: items,
      ...(next === undefined ? {} : { next }),
    };
  },
});

export const readFile = defineTool({
  name: 'read_file',
  description:
    'Reads lines of a text file. The result begins with a line that says which; then come the lines.',
  inputSchema: z.object({
    path: z.string().describe('as `list_files` shows it'),
    from: z.int().min(1).default(1).describe('first line'),
  }),
  defer: 'always',
  recovery: 'replay_safe',
  async execute({ path, from }, ctx: ToolContext<ReviewContext>) {
    const file = await ctx.context.folder.read(path, ctx.signal);
    // What a tool throws is the result the model sees, as an error.
    if (file.type === 'refused') throw new Error(`${path} is not read: ${file.why}`);
    const lines = linesOf(file.text);
    if (from > Math.max(1, lines.length)) throw new Error(`${path} ends at line ${lines.length}`);
    const { items } = pageOf(lines, from - 1, { items: 400, bytes: MAX_RESULT_BYTES });
    // A single line may be larger than all that fits.
    const text = Buffer.from(items.join('\n')).subarray(0, MAX_RESULT_BYTES).toString('utf8');
    return `${path}: lines ${from} to ${from - 1 + items.length} of ${lines.length}\n${text}`;
  },
});

export const searchFiles = defineTool({
  name: 'search_files',
  description: 'Finds lines of text files that hold one of some words, and counts them. Letter case counts.',
  inputSchema: z.object({
    words: z.array(z.string().min(1).max(100)).min(1).max(10).describe('whole words, no patterns'),
    inComments: z.boolean().default(false).describe('only where a comment sign stands before the word'),
    under,
  }),
  defer: 'always',
  recovery: 'replay_safe',
  async execute({ words, inComments, under: part }, ctx: ToolContext<ReviewContext>) {
    const { folder } = ctx.context;
    const { files: all, isComplete } = await folder.survey(ctx.signal);
    const files = all.filter(({ path }) => isUnder(path, part));
    const patterns = words.map((word) => ({ word, pattern: patternOf(word) }));
    const matches: { path: string; line: number; text: string }[] = [];
    const byWord = new Map(words.map((word) => [word, 0]));
    let [lines, filesWithMatches] = [0, 0];
    for (const [index, { path }] of files.entries()) {
      if (index % 500 === 499) ctx.progress(`searched ${index + 1} of ${files.length} files`);
      const file = await folder.read(path, ctx.signal);
      // Most files hold none of the words.
      if (file.type === 'refused' || !words.some((word) => file.text.includes(word))) continue;
      const found = searchLines(file.text, patterns, inComments);
      if (found.length > 0) filesWithMatches += 1;
      lines += found.length;
      for (const { line, text, words: here } of found) {
        for (const word of here) byWord.set(word, (byWord.get(word) ?? 0) + 1);
        if (matches.length < MAX_MATCHES) matches.push({ path, line, text });
      }
    }
    const { items } = pageOf(matches, 0, { items: MAX_MATCHES, bytes: MAX_RESULT_BYTES });
    const total = { lines, files: filesWithMatches, byWord: Object.fromEntries(byWord) };
    return { total, isComplete, matches: items };
  },
});

/** Lines of a text that hold a word, each with its number from 1 and the words it holds. */
function searchLines(text: string, patterns: readonly Pattern[], inComments: boolean) {
  return linesOf(text).flatMap((line, index) => {
    const from = inComments ? line.search(COMMENT_SIGN) : 0;
    const found = from < 0 ? [] : patterns.filter(({ pattern }) => pattern.test(line.slice(from)));
    if (found.length === 0) return [];
    const shown = line.trim().slice(0, MAX_MATCH_CHARS).toWellFormed();
    return [{ line: index + 1, text: shown, words: found.map(({ word }) => word) }];
  });
}

interface Pattern {
  readonly word: string;
  readonly pattern: RegExp;
}

/** What comments begin with, in most languages. */
const COMMENT_SIGN = /\/\/|#|\/\*|<!--|--|^\s*\*/;

/** A word by itself, whatever signs it is made of. */
function patternOf(word: string): RegExp {
  const literal = word.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
  return new RegExp(`(?<!\\w)${literal}(?!\\w)`);
}

/** The tool that writes the report where the user said; with `mustAsk` only after a person agreed. */
export function writeReport(mustAsk: boolean): Tool<ReviewContext> {
  return defineTool({
    name: 'write_report',
    description: 'Writes the report to the file the user named. Call it once, with the whole report.',
    inputSchema: z.object({ text: z.string().min(1).max(100_000) }),
    needsApproval: mustAsk,
    // The same text in the same file: a crash in the middle is mended by writing it again.
    recovery: 'replay_safe',
    async execute({ text }, ctx: ToolContext<ReviewContext>) {
      const { out } = ctx.context;
      if (out === undefined) throw new Error('the user named no file');
      await writeFile(out, text.endsWith('\n') ? text : `${text}\n`, { signal: ctx.signal });
      return `written to ${basename(out)}`;
    },
  });
}
