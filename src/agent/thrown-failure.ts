import { SwarmError } from '../errors.ts';
import type { Failure } from '../ledger/records.ts';

/** A thrown fault as the failure of a run. */
export function failureOf(error: unknown): Failure {
  if (error instanceof SwarmError) return { kind: error.code, message: error.message };
  return {
    kind: 'machine-fault',
    message: error instanceof Error ? error.message : 'something else was thrown',
  };
}
