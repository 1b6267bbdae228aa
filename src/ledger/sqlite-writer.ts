import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { type FaultReport, reportOf, sqliteFault } from './sqlite-fault.ts';
import { openForWriting } from './sqlite-file.ts';
import { decodeGroup, encodeResults } from './sqlite-messages.ts';
import { SqliteOperations } from './sqlite-operations.ts';

/** What the thread is started with. */
export interface WriterThreadData {
  readonly path: string;
  /** Time to wait for another process that writes. */
  readonly busyMs: number;
}

/** One group each way, as text: all of it is one transaction. */
export type ToWriter = { readonly type: 'group'; readonly group: string } | { readonly type: 'close' };

/** After `failed` and `closed` the thread ends. */
export type FromWriter =
  | { readonly type: 'done'; readonly results: string; readonly commitMs: number }
  | { readonly type: 'failed'; readonly fault: FaultReport }
  | { readonly type: 'closed' };

/** Pages in the log that were not written back, from which on they are. */
const CHECKPOINT_PAGES = 4_000;
/** Groups between two looks at the log, which is a read of its own. One group is at most some 300 pages. */
const GROUPS_PER_LOOK = 4;

interface Writer {
  readonly database: DatabaseSync;
  readonly operations: SqliteOperations;
  readonly logSize: StatementSync;
}

// The shape is given by who starts the thread.
const { path, busyMs } = workerData as WriterThreadData;
let writer: Writer | undefined;
let groups = 0;

parentPort?.on('message', (message: ToWriter) => {
  try {
    if (message.type === 'group') runGroup(message.group);
    else close();
  } catch (cause) {
    fail(cause);
  }
});

function runGroup(group: string): void {
  writer ??= open();
  const begun = performance.now();
  const results = encodeResults(writer.operations.runGroup(decodeGroup(group)));
  answer({ type: 'done', results, commitMs: performance.now() - begun });
  groups += 1;
  if (groups % GROUPS_PER_LOOK === 0) checkpoint(writer);
}

function open(): Writer {
  const database = openForWriting(path, busyMs);
  return {
    database,
    operations: new SqliteOperations(database, path),
    logSize: database.prepare('PRAGMA wal_checkpoint(NOOP)'),
  };
}

/** After the answer, so that no commit waits for it. What a reader still needs is written back another time. */
function checkpoint({ database, logSize }: Writer): void {
  const { log = 0, checkpointed = 0 } = logSize.get() ?? {};
  const waiting = Number(log) - Number(checkpointed);
  if (waiting >= CHECKPOINT_PAGES) database.exec('PRAGMA wal_checkpoint(PASSIVE)');
}

function close(): void {
  // What another process still reads stays in the log; that is not worth a wait.
  writer?.database.exec('PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)');
  writer?.database.close();
  answer({ type: 'closed' });
  parentPort?.close();
}

/** A failed commit may have left anything on the disk: nothing more is done through this connection. */
function fail(cause: unknown): void {
  const fault = reportOf(sqliteFault(cause, `a write to ${path} failed`));
  try {
    writer?.database.close();
  } finally {
    answer({ type: 'failed', fault });
    parentPort?.close();
  }
}

function answer(message: FromWriter): void {
  parentPort?.postMessage(message);
}
