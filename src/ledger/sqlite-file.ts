import { closeSync, existsSync, mkdirSync, openSync, readSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SwarmError } from '../errors.ts';
import { sqliteFault } from './sqlite-fault.ts';

/** Marks the file as a ledger of this project: `swm1`. */
export const APPLICATION_ID = 0x73776d31;
/** Version of the tables below. A file with a higher one is left alone. */
export const SCHEMA_VERSION = 1;

const HEADER_BYTES = 100;
const MAGIC = 'SQLite format 3\u0000';
const OLDEST_SQLITE = [3, 51, 3] as const;

/** How far readers of the whole file are, by name. Made where it is missing: files had none at first. */
const CURSORS = 'CREATE TABLE IF NOT EXISTS cursors (name TEXT PRIMARY KEY, pos INTEGER NOT NULL) STRICT';

/**
 * `events` only grows at its end: `prior` links a record to the one before it in its session. So appends of many
 * sessions dirty few pages, which is what a commit costs, and a reader near the head touches a few rows only. An
 * index would dirty a page for each session. That the links hold is what the hash chain shows.
 */
const SCHEMA = `
  CREATE TABLE sessions (
    sid INTEGER PRIMARY KEY,
    session TEXT NOT NULL UNIQUE,
    root TEXT NOT NULL,
    parent TEXT,
    agent TEXT NOT NULL
  ) STRICT;
  CREATE INDEX sessions_root ON sessions (root);
  CREATE TABLE events (
    pos INTEGER PRIMARY KEY,
    sid INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    prior INTEGER NOT NULL,
    hash TEXT NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
  CREATE TABLE heads (
    sid INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    seq INTEGER NOT NULL DEFAULT 0,
    hash TEXT NOT NULL DEFAULT '${'0'.repeat(64)}',
    pos INTEGER NOT NULL DEFAULT 0,
    opened_at REAL NOT NULL DEFAULT 0,
    updated_at REAL NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE leases (sid INTEGER PRIMARY KEY, owner TEXT NOT NULL) STRICT;
  CREATE TABLE turns (
    sid INTEGER NOT NULL,
    turn TEXT NOT NULL,
    opened INTEGER NOT NULL,
    closed INTEGER NOT NULL,
    PRIMARY KEY (sid, turn)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX turns_open ON turns (sid) WHERE closed = 0;
  CREATE TABLE operations (
    sid INTEGER NOT NULL,
    operation TEXT NOT NULL,
    phase TEXT NOT NULL,
    PRIMARY KEY (sid, operation, phase)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE inbox (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    reply TEXT,
    UNIQUE (session, id)
  ) STRICT;
  ${CURSORS};
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/**
 * @throws SwarmError 'sqlite-unsuitable' below 3.51.3: two connections of such a version may corrupt a file
 * when they write and checkpoint at one moment
 */
export function assertSuitableSqlite(version: string): void {
  const parts = version.split('.').map(Number);
  for (const [index, least] of OLDEST_SQLITE.entries()) {
    const part = parts[index] ?? 0;
    if (part > least) return;
    if (part < least || Number.isNaN(part)) {
      throw new SwarmError(
        'sqlite-unsuitable',
        `SQLite ${version} may corrupt a ledger, ${OLDEST_SQLITE.join('.')} is the oldest that does not`,
      );
    }
  }
}

export function sqliteVersion(): string {
  const database = new DatabaseSync(':memory:');
  try {
    return String(database.prepare('SELECT sqlite_version() AS version').get()?.['version']);
  } finally {
    database.close();
  }
}

/**
 * Makes sure that a ledger is at `path`: makes one where nothing or an empty file is. A file that holds
 * anything else is looked at, never written to.
 * @throws SwarmError 'ledger-foreign', 'ledger-newer-schema', 'ledger-corrupt', 'ledger-unavailable'
 */
export function prepareFile(path: string): void {
  try {
    if (!existsSync(path)) mkdirSync(dirname(path), { recursive: true });
    if (readHeader(path) !== undefined) return;
    // The mode holds for the files SQLite puts beside it, too: what a session says is for its user only.
    closeSync(openSync(path, 'a', 0o600));
    const database = new DatabaseSync(path);
    try {
      create(database);
    } finally {
      database.close();
    }
  } catch (cause) {
    throw sqliteFault(cause, `the ledger ${path} cannot be opened`);
  }
}

function create(database: DatabaseSync): void {
  database.exec('PRAGMA busy_timeout = 30000; PRAGMA synchronous = FULL');
  // Two processes may be here at once; the second finds the tables of the first.
  database.exec('BEGIN EXCLUSIVE');
  const tables = database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get();
  if (tables?.['tables'] === 0) database.exec(SCHEMA);
  database.exec('COMMIT');
  database.exec('PRAGMA journal_mode = WAL');
}

/** A connection that only reads. Call {@link prepareFile} first. */
export function openForReading(path: string): DatabaseSync {
  return connect(path, true, 'PRAGMA busy_timeout = 5000');
}

/** The one connection of a process that writes. It checkpoints when told to, so that no commit waits for it. */
export function openForWriting(path: string, busyMs: number): DatabaseSync {
  const settings = `
    PRAGMA busy_timeout = ${Math.min(busyMs, 2 ** 31 - 1)};
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA cache_size = -4000;
    ${CURSORS};
  `;
  return connect(path, false, settings);
}

function connect(path: string, readOnly: boolean, settings: string): DatabaseSync {
  readHeader(path);
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly });
    database.exec(`${settings}; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;`);
    // The header on disk may be older than the log beside it.
    checkVersion(path, numberOf(database, 'user_version'));
    return database;
  } catch (cause) {
    database?.close();
    throw sqliteFault(cause, `the ledger ${path} cannot be opened`);
  }
}

function numberOf(database: DatabaseSync, pragma: 'user_version'): number {
  return Number(database.prepare(`PRAGMA ${pragma}`).get()?.[pragma]);
}

/** The marks of the file, read without SQLite, which would touch what lies beside it. Nothing for no file. */
function readHeader(path: string): Buffer | undefined {
  if (!existsSync(path)) return undefined;
  const header = Buffer.alloc(HEADER_BYTES);
  const file = openSync(path, 'r');
  let length = 0;
  try {
    length = readSync(file, header, 0, HEADER_BYTES, 0);
  } finally {
    closeSync(file);
  }
  if (length === 0) return undefined;
  const foreign = length < HEADER_BYTES || header.toString('latin1', 0, MAGIC.length) !== MAGIC;
  // Offsets of the SQLite file format: application id at 68, user version at 60.
  if (foreign || header.readUInt32BE(68) !== APPLICATION_ID) {
    throw new SwarmError('ledger-foreign', `${path} is not a ledger of this project`);
  }
  checkVersion(path, header.readUInt32BE(60));
  return header;
}

function checkVersion(path: string, version: number): void {
  if (version <= SCHEMA_VERSION) return;
  throw new SwarmError(
    'ledger-newer-schema',
    `${path} has the schema ${version}, this version knows ${SCHEMA_VERSION}`,
  );
}
