import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SwarmError } from '../errors.ts';
import { sqliteFault } from './sqlite-fault.ts';

const TOKEN = /^\d{1,10}-[0-9a-f]{16}$/;
const SQLITE_BUSY = 5;
const MAX_ATTEMPTS = 10;

/** What a process is known by while it owns sessions of a ledger file. */
export interface Owner {
  /** The process id and a random part. */
  readonly token: string;
  end(): void;
}

/**
 * Makes an owner of sessions: one that lives as long as it keeps a lock on a file of its own, which the
 * operating system drops at the moment the process ends, however it ends. So there is no heartbeat to miss, no
 * process id to confuse with a later one or with one of another container, and a stopped process stays alive.
 * @throws SwarmError 'ledger-unavailable'
 */
export function createOwner(path: string): Owner {
  try {
    sweepDead(path);
    return makeOwner(path);
  } catch (cause) {
    throw sqliteFault(cause, `no session of ${path} can be owned`);
  }
}

function makeOwner(path: string): Owner {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const token = `${process.pid}-${randomBytes(8).toString('hex')}`;
    const file = fileOf(path, token);
    const lock = lockFile(file);
    // A sweep of another process may have come between making the file and locking it.
    if (lock !== undefined && existsSync(file)) return { token, end: () => endLock(lock, file) };
    lock?.close();
  }
  throw new SwarmError('ledger-unavailable', `files beside ${path} vanish as they are made`);
}

/** Whether the process behind a token of a lease is still there. */
export function isOwnerAlive(path: string, token: string): boolean {
  if (!TOKEN.test(token)) return false;
  const file = fileOf(path, token);
  return existsSync(file) && isLocked(file);
}

/** The process id in a token, for people. */
export function processOf(token: string): string {
  return token.split('-')[0] ?? token;
}

function isLocked(file: string): boolean {
  let probe: DatabaseSync | undefined;
  try {
    // A shared lock is enough to ask, and those who ask do not hinder each other.
    probe = new DatabaseSync(file, { readOnly: true });
    probe.exec('SELECT count(*) FROM sqlite_schema');
    return false;
  } catch (cause) {
    // Gone between two looks counts as dead; what cannot be asked counts as alive.
    return isBusy(cause) || existsSync(file);
  } finally {
    probe?.close();
  }
}

function isBusy(cause: unknown): boolean {
  return cause instanceof Error && 'errcode' in cause && cause.errcode === SQLITE_BUSY;
}

function fileOf(path: string, token: string): string {
  return `${path}-owner-${token}`;
}

/** `undefined` while another process has a lock on it. */
function lockFile(file: string): DatabaseSync | undefined {
  const database = new DatabaseSync(file);
  try {
    // No journal beside it: nothing is ever written.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return database;
  } catch (cause) {
    database.close();
    if (isBusy(cause)) return undefined;
    throw cause;
  }
}

function endLock(lock: DatabaseSync, file: string): void {
  // Removed under the lock, so that nobody can take it for the file of another.
  rmSync(file, { force: true });
  lock.close();
}

/** Owners that were killed leave their file. Only who holds the lock of a file may remove it. */
function sweepDead(path: string): void {
  const prefix = `${basename(path)}-owner-`;
  for (const name of readdirSync(dirname(path))) {
    if (!name.startsWith(prefix) || !TOKEN.test(name.slice(prefix.length))) continue;
    const file = join(dirname(path), name);
    const lock = lockFile(file);
    if (lock !== undefined) endLock(lock, file);
  }
}
