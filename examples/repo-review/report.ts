// The report of the stand-in for a model, made of what the tools have shown and of nothing else.
import { isReadme, longestOf, shapeOf, sourcesOf, testsOf } from './findings.ts';
import type { ListedFile } from './folder.ts';
import { type MergedReview, mergeReviews, type PartReview } from './part-review.ts';
import type { Listing, ReadText, ToolResults } from './tool-results.ts';

/** Places that one finding names. */
const MAX_NAMED = 5;

/** One and several of what was left out. */
const LEFT_OUT: Readonly<Record<string, readonly [string, string]>> = {
  folder: [
    'folder of dependencies, builds or version control',
    'folders of dependencies, builds or version control',
  ],
  link: ['link', 'links'],
  binary: ['binary file', 'binary files'],
  'too-large': ['file over 1 MiB', 'files over 1 MiB'],
  secret: ['file that looks like a secret', 'files that look like secrets'],
  missing: ['entry that went away', 'entries that went away'],
  unreadable: ['unreadable entry', 'unreadable entries'],
};

/** Writes the report. `name` is what the folder is called. */
export function writeReport(name: string, results: ToolResults): string {
  const [first] = results.listings;
  if (first === undefined) {
    return `# Review of ${name}\n\nIt could not be listed.\n\n${listed(results.complaints)}`;
  }
  const files = results.listings.flatMap((listing) => listing.files);
  const merged = mergeReviews(results.reviews, results.complaints);
  const findings = findingsOf(files, merged);
  return [
    `# Review of ${name}`,
    sizeOf(first),
    findings.length === 0
      ? '## Findings\n\nNone.'
      : `## Findings\n\n${findings.map((finding, index) => `${index + 1}. ${finding}`).join('\n')}`,
    `## First\n\n${adviceOf(files, merged)}`,
  ].join('\n\n');
}

function sizeOf({ total, leftOut, isComplete }: Listing): string {
  const said = Object.entries(leftOut)
    .filter(([, count]) => count > 0)
    .map(([why, many]) => `${many} ${LEFT_OUT[why]?.[many === 1 ? 0 : 1] ?? why}`);
  const size = `${count(total.files, 'text file')}, ${count(total.lines, 'line')}, ${count(total.bytes, 'byte')}.`;
  return [
    total.files === 0 ? 'No text files.' : size,
    ...(said.length === 0 ? [] : [`Left out: ${said.join(', ')}.`]),
    ...(isComplete ? [] : ['The folder holds more than was looked at.']),
  ].join(' ');
}

function findingsOf(files: readonly ListedFile[], merged: MergedReview): readonly string[] {
  return [
    ...markersIn(merged),
    ...untestedIn(files),
    ...longestIn(files, merged),
    ...(files.length === 0 || files.some(({ path }) => isReadme(path)) ? [] : ['No README.']),
    ...merged.findings.filter(({ path }) => path === '').map(({ text }) => text),
    ...merged.missing,
  ];
}

function markersIn({ leftForLater }: MergedReview): readonly string[] {
  const { lines, files, byWord, places } = leftForLater;
  if (lines === 0) return [];
  const words = byWord.filter((one) => one.count > 0);
  const counts = words
    .map((one) => `${one.count} ${one.word}`)
    .sort(byWordName)
    .join(', ');
  const named = places.map(({ path, line, text }) => `${path}:${line} \`${text.slice(0, 80)}\``);
  return [`Left for later in ${count(files, 'file')}: ${counts}.${nested(named, lines)}`];
}

function byWordName(a: string, b: string): number {
  return a.slice(a.indexOf(' ')) < b.slice(b.indexOf(' ')) ? -1 : 1;
}

function untestedIn(files: readonly ListedFile[]): readonly string[] {
  const { tests, untested } = testsOf(files);
  const sources = sourcesOf(files).length;
  if (sources === 0) return [];
  if (tests.length === 0) return [`No tests for ${count(sources, 'source file')}.`];
  if (untested.length === 0) return [];
  const bySize = [...untested].sort((a, b) => b.lines - a.lines);
  const named = bySize.map(({ path, lines }) => `${path} (${count(lines, 'line')})`);
  return [
    `${untested.length} of ${count(sources, 'source file')} have no test named after them.${nested(named, untested.length)}`,
  ];
}

function longestIn(files: readonly ListedFile[], { findings }: MergedReview): readonly string[] {
  const longest = longestOf(sourcesOf(files));
  if (longest === undefined) return [];
  const head = `Longest source file: ${longest.path}, ${count(longest.lines, 'line')}.`;
  const said = findings.find(({ path }) => path === longest.path);
  return [said === undefined ? head : `${head} ${said.text}`];
}

function adviceOf(files: readonly ListedFile[], { leftForLater }: MergedReview): string {
  const [marked] = leftForLater.places;
  if (marked !== undefined) return `Settle ${marked.path}:${marked.line}, or open an issue for it.`;
  const [untested] = [...testsOf(files).untested].sort((a, b) => b.lines - a.lines);
  if (untested !== undefined) return `Write a test for ${untested.path}.`;
  return files.length === 0 ? 'Put something into it.' : 'Nothing presses.';
}

/** Places that a reviewer hands on. */
const MAX_PLACES = 20;

/** What a reviewer hands in: its counts, and what it saw in the longest source file that it read. */
export function reviewOf({ listings, matches, read, complaints }: ToolResults): PartReview {
  const files = listings.flatMap((listing) => listing.files);
  const { lines, files: marked, byWord } = matches?.total ?? { lines: 0, files: 0, byWord: {} };
  const longest = longestOf(sourcesOf(files));
  const text = read.find(({ path }) => path === longest?.path);
  return {
    summary: `${count(files.length, 'file')}, ${count(lines, 'line')} left for later.`,
    leftForLater: {
      lines,
      files: marked,
      byWord: Object.entries(byWord).map(([word, times]) => ({ word, count: times })),
      places: (matches?.matches ?? []).slice(0, MAX_PLACES),
    },
    findings: [
      ...(text === undefined || text.text === '' ? [] : [shapeIn(text)]),
      ...complaints.map((complaint) => ({ path: '', line: 0, text: complaint })),
    ].slice(0, MAX_PLACES),
  };
}

function shapeIn(text: ReadText): PartReview['findings'][number] {
  const { longest, deepest } = shapeOf(text);
  return {
    path: text.path,
    line: longest.line,
    text:
      `Its longest line is ${longest.line} (${count(longest.chars, 'character')}), ` +
      `its deepest ${deepest.line} (${count(deepest.columns, 'column')}).`,
  };
}

function nested(named: readonly string[], total: number): string {
  const shown = named.slice(0, MAX_NAMED).map((one) => `\n   - ${one}`);
  const more = total - shown.length;
  return `${shown.join('')}${more > 0 ? `\n   - and ${more} more` : ''}`;
}

function listed(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join('\n');
}

function count(amount: number, thing: string): string {
  return `${amount.toLocaleString('en')} ${thing}${amount === 1 ? '' : 's'}`;
}
