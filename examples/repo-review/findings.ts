// What the stand-in for a model makes of what the tools have shown. Pure: nothing here knows the folder.
import type { ListedFile } from './folder.ts';
import type { ReadText } from './tool-results.ts';

const SOURCE =
  /\.(c|cc|cpp|cs|ex|go|h|hpp|java|js|jsx|kt|lua|m|mjs|cjs|php|pl|py|rb|rs|scala|sh|swift|ts|tsx|vue|zig)$/i;
const GENERATED = /\.(min|generated|d)\.[a-z]+$/i;
const TEST_FOLDER = /(^|\/)(tests?|__tests__|specs?)\//i;
const TEST_NAME = /^(tests?[_-].*|.*[._-](tests?|specs?|test-d)|.*Tests?)$/;
/** Names of files that gather others; nobody tests them by that name. */
const ENTRY = /^(index|mod|main|lib|__init__|setup|config|.*\.config)$/;

function stemOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1).replace(/\.[^.]+$/, '');
}

function isTest(path: string): boolean {
  return TEST_NAME.test(stemOf(path));
}

/** Source files people wrote, tests left out. */
export function sourcesOf(files: readonly ListedFile[]): readonly ListedFile[] {
  return files.filter(
    ({ path }) => SOURCE.test(path) && !GENERATED.test(path) && !isTest(path) && !TEST_FOLDER.test(path),
  );
}

/** Tests of a listing, and the sources that no test is named after. */
export function testsOf(files: readonly ListedFile[]) {
  const tests = files.filter(({ path }) => SOURCE.test(path) && isTest(path));
  const tested = new Set(
    tests.map(({ path }) =>
      stemOf(path)
        .replace(/^tests?[_-]/, '')
        .replace(/([._-](tests?|specs?|test-d)|Tests?)$/, ''),
    ),
  );
  const untested = sourcesOf(files).filter(
    ({ path }) => !ENTRY.test(stemOf(path)) && !tested.has(stemOf(path)),
  );
  return { tests, untested };
}

/** The files that tell most: the README, the longest source, what describes the package. */
export function worthReading(files: readonly ListedFile[]): readonly string[] {
  const readme = files.find(({ path }) => isReadme(path));
  const longest = longestOf(sourcesOf(files));
  const manifest = files.find(({ path }) =>
    /^(package\.json|pyproject\.toml|Cargo\.toml|go\.mod|pom\.xml)$/.test(path),
  );
  const picked = [readme, longest, manifest].flatMap((file) => (file === undefined ? [] : [file.path]));
  // A folder without any of them still has a first file.
  return picked.length > 0 ? picked : files.slice(0, 1).map(({ path }) => path);
}

export function isReadme(path: string): boolean {
  return /^readme(\.[a-z]+)?$/i.test(path);
}

/** The first of those with the most lines. */
export function longestOf(files: readonly ListedFile[]): ListedFile | undefined {
  return files.reduce<ListedFile | undefined>(
    (longest, file) => (longest === undefined || file.lines > longest.lines ? file : longest),
    undefined,
  );
}

/** The longest line of a text, and the one that is indented deepest; lines from 1. */
export function shapeOf({ text }: ReadText) {
  const longest = { line: 0, chars: -1 };
  const deepest = { line: 0, columns: -1 };
  for (const [index, line] of text.split('\n').entries()) {
    const columns = (/^\s*/.exec(line)?.[0] ?? '').replaceAll('\t', '    ').length;
    if (line.length > longest.chars) Object.assign(longest, { line: index + 1, chars: line.length });
    if (line.trim() !== '' && columns > deepest.columns) Object.assign(deepest, { line: index + 1, columns });
  }
  return { longest, deepest };
}
