import type { RunResult } from '../agent/run-result.ts';

/** What the command ends with. */
export const EXIT = { completed: 0, failed: 1, usage: 2, paused: 3, cancelled: 130 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The exit code of a run. */
export function exitCodeOf(result: Pick<RunResult<unknown>, 'status'>): ExitCode {
  return EXIT[result.status];
}
