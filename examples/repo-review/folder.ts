// A folder under review: what is in it, and the text of its files.
import { opendir, realpath, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isSkippedFolder, type Refusal, readTextFile, type TextFile } from './text-files.ts';

/** Entries of all folders that are looked at, files that are read, and bytes of them. */
const MAX_ENTRIES = 50_000;
const MAX_FILES = 5_000;
const MAX_TOTAL_BYTES = 128 * 1024 * 1024;
/** Files read at once. */
const READERS = 16;

/** A text file of the folder. The path has slashes and begins in the folder. */
export interface ListedFile {
  readonly path: string;
  readonly lines: number;
  readonly bytes: number;
}

/** What a folder holds, as far as it was looked at. */
interface Survey {
  /** By path, those of upper folders first. */
  readonly files: readonly ListedFile[];
  /** What was left out, by reason. */
  readonly leftOut: Readonly<Partial<Record<Refusal | 'folder' | 'link', number>>>;
  /** False where a bound ended it. */
  readonly isComplete: boolean;
}

/** A folder under review. */
export interface Folder {
  readonly name: string;
  /** Made at the first call and kept: pages of one listing fit each other. */
  survey(signal: AbortSignal): Promise<Survey>;
  read(path: string, signal: AbortSignal): Promise<TextFile>;
}

/** Opens a folder. Throws what the file system throws, or that it is no folder. */
export async function openFolder(path: string): Promise<Folder> {
  const root = await realpath(path);
  if (!(await stat(root)).isDirectory()) throw new Error(`${path} is no folder`);
  let kept: Promise<Survey> | undefined;
  return {
    name: basename(root) || root,
    survey(signal) {
      kept ??= takeSurvey(root, signal).catch((error: unknown) => {
        kept = undefined;
        throw error;
      });
      return kept;
    },
    read: (file, signal) => readTextFile(root, file, signal),
  };
}

/** Lines of a text; a line end at its end begins no further one. */
export function linesOf(text: string): readonly string[] {
  const lines = text.split(/\r\n|\n|\r/);
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

async function takeSurvey(root: string, signal: AbortSignal): Promise<Survey> {
  const found = await findFiles(root, signal);
  const leftOut: Partial<Record<Refusal | 'folder' | 'link', number>> = { ...found.leftOut };
  const files: ListedFile[] = [];
  let [bytes, at] = [0, 0];
  while (at < found.paths.length && files.length < MAX_FILES && bytes < MAX_TOTAL_BYTES) {
    const paths = found.paths.slice(at, at + Math.min(READERS, MAX_FILES - files.length));
    at += paths.length;
    const read = await Promise.all(paths.map((path) => readTextFile(root, path, signal)));
    for (const [index, file] of read.entries()) {
      if (file.type === 'refused') leftOut[file.why] = (leftOut[file.why] ?? 0) + 1;
      else {
        bytes += file.bytes;
        files.push({ path: paths[index] ?? '', lines: linesOf(file.text).length, bytes: file.bytes });
      }
    }
  }
  return { files, leftOut, isComplete: found.isComplete && at >= found.paths.length };
}

/** Upper folders first, so that a bound cuts off what lies deepest. */
async function findFiles(root: string, signal: AbortSignal) {
  const paths: string[] = [];
  const leftOut = { folder: 0, link: 0, unreadable: 0 };
  let entries = 0;
  let level: readonly string[] = [''];
  while (level.length > 0 && entries < MAX_ENTRIES) {
    const next: string[] = [];
    for (const folder of level) {
      if (entries >= MAX_ENTRIES) break;
      const listed = await listFolder(join(root, folder), MAX_ENTRIES - entries, signal);
      if (listed === undefined) leftOut.unreadable += 1;
      for (const { name, kind } of listed ?? []) {
        entries += 1;
        const path = folder === '' ? name : `${folder}/${name}`;
        if (kind === 'link') leftOut.link += 1;
        else if (kind === 'file') paths.push(path);
        else if (isSkippedFolder(name)) leftOut.folder += 1;
        else next.push(path);
      }
    }
    level = next;
  }
  return { paths, leftOut, isComplete: entries < MAX_ENTRIES };
}

interface Entry {
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'link';
}

/** At most so many entries, by name; undefined for a folder that cannot be read. */
async function listFolder(path: string, max: number, signal: AbortSignal) {
  const entries: Entry[] = [];
  try {
    for await (const entry of await opendir(path)) {
      signal.throwIfAborted();
      const { name } = entry;
      if (entry.isSymbolicLink()) entries.push({ name, kind: 'link' });
      else if (entry.isDirectory()) entries.push({ name, kind: 'folder' });
      else if (entry.isFile()) entries.push({ name, kind: 'file' });
      if (entries.length >= max) break;
    }
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}
