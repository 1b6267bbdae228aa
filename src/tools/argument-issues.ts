import type { z } from 'zod';
import type { JsonObject, JsonValue } from '../ledger/content.ts';
import { cutChars, safeName, safeText } from './safe-text.ts';

/** One thing that is wrong with arguments. */
export interface ArgumentIssue {
  readonly path: readonly (string | number)[];
  /** What is wrong, in words that hold no value of the arguments. */
  readonly problem: string;
}

const MAX_ISSUES = 12;
const MAX_PATH = 8;
const MAX_PROBLEM_CHARS = 200;
const MAX_TEXT_CHARS = 2_000;
const MAX_OPTIONS = 20;

/** The issues as one text: fields and what is wrong with them, bounded. */
export function issuesText(issues: readonly ArgumentIssue[]): string {
  const shown = issues.slice(0, MAX_ISSUES).map(({ path, problem }) => {
    const where = pathText(path);
    return where === '' ? problem : `${where}: ${problem}`;
  });
  const more = issues.length > MAX_ISSUES ? [`and ${issues.length - MAX_ISSUES} more`] : [];
  return cutChars([...new Set(shown), ...more].join('; '), MAX_TEXT_CHARS);
}

/** `items[2].name` */
export function pathText(path: readonly (string | number)[]): string {
  const shown = path.slice(0, MAX_PATH).map((key, index) => {
    if (typeof key === 'number') return `[${key}]`;
    return index === 0 ? safeName(key) : `.${safeName(key)}`;
  });
  return `${shown.join('')}${path.length > MAX_PATH ? '…' : ''}`;
}

/** Fixed values of a schema, as far as they fit. */
export function optionsText(values: readonly unknown[]): string {
  const shown = values.slice(0, MAX_OPTIONS).map((value) => JSON.stringify(value) ?? String(value));
  const more = values.length > MAX_OPTIONS ? ` and ${values.length - MAX_OPTIONS} more` : '';
  return cutChars(
    `expected ${values.length === 1 ? '' : 'one of '}${shown.join(', ')}${more}`,
    MAX_PROBLEM_CHARS,
  );
}

/** What zod found, without the values that the messages of a schema's author may quote. */
export function issuesOfZod(found: readonly z.core.$ZodIssue[], args: JsonObject): readonly ArgumentIssue[] {
  return found.flatMap((issue) => issuesOf(issue, [], args));
}

function issuesOf(
  issue: z.core.$ZodIssue,
  base: readonly (string | number)[],
  args: JsonObject,
): readonly ArgumentIssue[] {
  const path = [...base, ...issue.path.map((key) => (typeof key === 'number' ? key : String(key)))];
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({ path: [...path, key], problem: 'is not a field of this call' }));
    case 'invalid_union':
      return unionIssues(issue, path, args);
    case 'invalid_value':
      return [
        {
          path,
          problem: optionsText(
            issue.values.map((value) => (typeof value === 'bigint' ? String(value) : value)),
          ),
        },
      ];
    default:
      return [{ path, problem: safeProblem(issue, args, path) }];
  }
}

type UnionIssue = Extract<z.core.$ZodIssue, { code: 'invalid_union' }>;

function unionIssues(
  issue: UnionIssue,
  path: readonly (string | number)[],
  args: JsonObject,
): readonly ArgumentIssue[] {
  if (issue.errors.length === 0) {
    const options = 'options' in issue && Array.isArray(issue.options) ? issue.options : [];
    return [{ path, problem: options.length > 0 ? optionsText(options) : 'fits none of its forms' }];
  }
  const branches = issue.errors.map((found) => found.flatMap((one) => issuesOf(one, path, args)));
  return [
    { path, problem: `fits none of its ${branches.length} forms` },
    ...branches.flatMap((found, index) =>
      found.map((one) => ({ path: one.path, problem: `${one.problem} (form ${index + 1})` })),
    ),
  ];
}

function safeProblem(issue: z.core.$ZodIssue, args: JsonObject, path: readonly (string | number)[]): string {
  // zod's own words for an absent field are those for a wrong type.
  const isDefault = issue.code === 'invalid_type' && issue.message.startsWith('Invalid input: expected');
  if (isDefault) return `${isAbsent(args, path) ? 'is required, ' : ''}expected ${issue.expected}`;
  const message = safeText(issue.message, MAX_PROBLEM_CHARS);
  if (!mentionsValue(message, args)) return message;
  return issue.code === 'invalid_type' ? `expected ${issue.expected}` : `is not accepted (${issue.code})`;
}

function isAbsent(args: JsonObject, path: readonly (string | number)[]): boolean {
  let at: unknown = args;
  for (const key of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return true;
    at = (at as { readonly [key: string | number]: unknown })[key];
  }
  return false;
}

/** Whether `text` holds a value of `args` as a word of its own. */
function mentionsValue(text: string, args: JsonObject): boolean {
  const open: JsonValue[] = [args];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === 'object' && next !== null) {
      for (const value of Object.values(next)) open.push(value);
    } else if (typeof next === 'string' || typeof next === 'number') {
      if (hasWord(text, String(next).trim())) return true;
    }
  }
  return false;
}

function hasWord(text: string, word: string): boolean {
  if (word === '' || word.length > text.length) return false;
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    const before = text[at - 1] ?? ' ';
    const after = text[at + word.length] ?? ' ';
    if (!/[\p{L}\p{N}]/u.test(before) && !/[\p{L}\p{N}]/u.test(after)) return true;
  }
  return false;
}
