import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, realpath, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SwarmError } from '../errors.ts';
import { artifactRefOf, checkContent, checkRef } from './artifact-content.ts';
import type { ArtifactRef } from './content.ts';

/** Artifacts as files named by their hash, two folders deep. Safe for several processes at once. */
export interface ArtifactFiles {
  /** Durable before it resolves. @throws SwarmError 'artifact-too-large', 'ledger-unavailable' */
  put(bytes: Uint8Array, mediaType: string): Promise<ArtifactRef>;
  /** @throws SwarmError 'artifact-missing', 'artifact-corrupt', 'ledger-unavailable' */
  get(ref: ArtifactRef): Promise<Uint8Array>;
}

// A link in place of a file is never followed, and nothing that is there is opened for writing.
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0);
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

/** `root` is made with the first artifact. */
export function createArtifactFiles(root: string, maxBytes: number): ArtifactFiles {
  return {
    async put(bytes, mediaType) {
      const ref = await artifactRefOf(bytes, mediaType, maxBytes);
      try {
        await store(root, ref, bytes);
      } catch (cause) {
        throw unavailable(`the artifact ${ref.sha256} cannot be written`, cause);
      }
      return ref;
    },
    async get(ref) {
      checkRef(ref);
      const bytes = await load(root, ref);
      if (bytes === undefined)
        throw new SwarmError('artifact-missing', `no artifact ${ref.sha256} is stored`);
      await checkContent(ref, bytes);
      return bytes;
    },
  };
}

async function store(root: string, ref: ArtifactRef, bytes: Uint8Array): Promise<void> {
  const folder = folderOf(root, ref);
  await makeDurably(folder);
  await assertInside(root, ref);
  if (!(await isStored(root, ref))) {
    const draft = join(folder, `.${ref.sha256}.${randomBytes(6).toString('hex')}`);
    try {
      await writeDurably(draft, bytes);
      await rename(draft, join(folder, ref.sha256));
    } catch (cause) {
      await rm(draft, { force: true });
      throw unavailable('write failed', cause);
    }
  }
  // Also where another process put it: its rename may not have reached the disk yet.
  await syncFolder(folder);
}

async function isStored(root: string, ref: ArtifactRef): Promise<boolean> {
  try {
    const bytes = await load(root, ref);
    if (bytes === undefined) return false;
    await checkContent(ref, bytes);
    return true;
  } catch (cause) {
    // Damaged: the good bytes are at hand, so they replace it.
    if (cause instanceof SwarmError && cause.code === 'artifact-corrupt') return false;
    throw cause;
  }
}

async function load(root: string, ref: ArtifactRef): Promise<Uint8Array | undefined> {
  let file: FileHandle | undefined;
  try {
    await assertInside(root, ref);
    file = await open(join(folderOf(root, ref), ref.sha256), READ);
    const { size } = await file.stat();
    // A wrong size is enough to know; a huge file in place of a small one is not read.
    return size === ref.size ? new Uint8Array(await file.readFile()) : new Uint8Array(0);
  } catch (cause) {
    if (hasCode(cause, 'ENOENT')) return undefined;
    if (hasCode(cause, 'ELOOP')) throw corrupt(ref, 'a link in place of a file', cause);
    throw cause instanceof SwarmError
      ? cause
      : unavailable(`the artifact ${ref.sha256} cannot be read`, cause);
  } finally {
    await file?.close();
  }
}

/** A link in place of one of the folders would lead elsewhere. */
async function assertInside(root: string, ref: ArtifactRef): Promise<void> {
  const folder = folderOf(root, ref);
  const expected = folderOf(await realpath(root), ref);
  if ((await realpath(folder)) !== expected) throw corrupt(ref, 'a link in place of a folder');
}

function folderOf(root: string, { sha256 }: ArtifactRef): string {
  return join(root, sha256.slice(0, 2), sha256.slice(2, 4));
}

async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, CREATE, 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes a folder, and the entries of all that were missing above it durable. */
async function makeDurably(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  const top = dirname(first);
  for (let at = dirname(folder); at.length >= top.length; at = dirname(at)) {
    await syncFolder(at);
    if (at === dirname(at)) return;
  }
}

async function syncFolder(folder: string): Promise<void> {
  // A folder cannot be opened on Windows; there a rename is as durable as it gets.
  if (process.platform === 'win32') return;
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function hasCode(cause: unknown, code: string): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === code;
}

function corrupt(ref: ArtifactRef, found: string, cause?: unknown): SwarmError {
  return new SwarmError('artifact-corrupt', `the artifact ${ref.sha256}: found ${found}`, { cause });
}

function unavailable(message: string, cause: unknown): SwarmError {
  return cause instanceof SwarmError ? cause : new SwarmError('ledger-unavailable', message, { cause });
}
