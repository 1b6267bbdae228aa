import { SwarmError, type SwarmErrorCode } from '../errors.ts';

/** A fault as it crosses from the writer thread. */
export interface FaultReport {
  readonly code: SwarmErrorCode;
  readonly message: string;
}

const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

/**
 * What SQLite or the file system threw, as an error of this project: 'ledger-corrupt' where the file itself is
 * at fault, else 'ledger-unavailable'.
 */
export function sqliteFault(cause: unknown, what: string): SwarmError {
  if (cause instanceof SwarmError) return cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  return new SwarmError(
    isCorruption(cause) ? 'ledger-corrupt' : 'ledger-unavailable',
    `${what}: ${message}`,
    {
      cause,
    },
  );
}

export function reportOf(error: SwarmError): FaultReport {
  return { code: error.code, message: error.message };
}

function isCorruption(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false;
  // A damaged number may be beyond what JavaScript can hold.
  if ('code' in cause && cause.code === 'ERR_OUT_OF_RANGE') return true;
  const code = 'errcode' in cause && typeof cause.errcode === 'number' ? cause.errcode & 0xff : 0;
  return code === SQLITE_CORRUPT || code === SQLITE_NOTADB;
}
