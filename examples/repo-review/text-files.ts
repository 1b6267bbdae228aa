// What may be read of a folder, and how much of it: text files inside of it, and nothing else.
import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { basename, isAbsolute, relative, resolve, sep } from 'node:path';

/** Bytes of the largest file that is read. */
const MAX_FILE_BYTES = 1024 * 1024;
/** Bytes at the beginning of a file that are looked at for what no text holds. */
const BINARY_PROBE_BYTES = 8_000;

/** Folders that nobody wrote: dependencies, builds, version control. */
const SKIPPED_FOLDERS: ReadonlySet<string> = new Set([
  ...['node_modules', '.git', '.hg', '.svn', 'dist', 'coverage', '.cache', '.venv', '__pycache__'],
]);

/** Files whose text is for nobody's eyes; a model may be far away. */
const SECRET_FILE =
  /^(\.env(?!\.example$|\.sample$)(\..*)?|\.npmrc|\.netrc|id_[a-z0-9]+|.*\.(pem|key|p12|pfx))$/i;

/** Why a file is not read. */
export type Refusal =
  | 'outside'
  | 'skipped'
  | 'secret'
  | 'missing'
  | 'no-file'
  | 'too-large'
  | 'binary'
  | 'unreadable';

/** What became of reading a file. */
export type TextFile =
  | { readonly type: 'text'; readonly text: string; readonly bytes: number }
  | { readonly type: 'refused'; readonly why: Refusal };

export function isSkippedFolder(name: string): boolean {
  return SKIPPED_FOLDERS.has(name);
}

/** Reads a file by its path in the folder `root`, which is a real path. Links count by where they lead. */
export async function readTextFile(root: string, path: string, signal: AbortSignal): Promise<TextFile> {
  signal.throwIfAborted();
  const wanted = resolve(root, path);
  // Before anything is looked at: what lies outside is not even told from what does not exist.
  if (path.includes('\0') || !isInside(root, wanted)) return refuse('outside');
  try {
    const real = await realpath(wanted);
    if (!isInside(root, real)) return refuse('outside');
    const inside = relative(root, real);
    if (inside.split(sep).slice(0, -1).some(isSkippedFolder)) return refuse('skipped');
    if (SECRET_FILE.test(basename(inside))) return refuse('secret');
    return await readRealFile(real);
  } catch (error) {
    signal.throwIfAborted();
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    return refuse(isMissing ? 'missing' : 'unreadable');
  }
}

function isInside(root: string, path: string): boolean {
  const inside = relative(root, path);
  return inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

async function readRealFile(path: string): Promise<TextFile> {
  // A pipe would be waited for, and a link put in its place meanwhile followed.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    if (!(await file.stat()).isFile()) return refuse('no-file');
    const bytes = await readAtMost(file, MAX_FILE_BYTES + 1);
    if (bytes.length > MAX_FILE_BYTES) return refuse('too-large');
    if (bytes.subarray(0, BINARY_PROBE_BYTES).includes(0)) return refuse('binary');
    return { type: 'text', text: bytes.toString('utf8'), bytes: bytes.length };
  } finally {
    await file.close();
  }
}

/** By what arrives, not by the size it is said to have: a file may grow, and those of /proc have none. */
async function readAtMost(file: FileHandle, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  while (length < maxBytes) {
    const chunk = Buffer.allocUnsafe(Math.min(64 * 1024, maxBytes - length));
    const { bytesRead } = await file.read(chunk);
    if (bytesRead === 0) break;
    chunks.push(chunk.subarray(0, bytesRead));
    length += bytesRead;
  }
  return Buffer.concat(chunks, length);
}

function refuse(why: Refusal): TextFile {
  return { type: 'refused', why };
}
