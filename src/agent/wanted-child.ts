import { type Clock, sleep } from '../clock.ts';

/** Time between two looks whether somebody waits for a child that is at work. */
const LOOK_MS = 5_000;

/**
 * Tells once nobody waits for a child any more: its parent could not reach the worker that has it, and ended without
 * it. A ledger that cannot say so now is asked again. Ends with `signal`, and never rejects.
 */
export async function whenUnwanted(
  clock: Clock,
  signal: AbortSignal,
  { isWanted, tell }: { isWanted(): Promise<boolean>; tell(): void },
): Promise<void> {
  while (await sleep(clock, LOOK_MS, signal)) {
    if (await isWanted().catch(() => true)) continue;
    tell();
    return;
  }
}
