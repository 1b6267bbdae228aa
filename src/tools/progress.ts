import type { Clock } from '../clock.ts';
import { redactSecrets } from '../events/redaction.ts';
import type { Limits } from '../limits.ts';
import { safeText } from './safe-text.ts';

/**
 * Progress lines of one call: at most one in `progressIntervalMs` (others are dropped),
 * `maxProgressEvents` and `maxProgressChars` in all, secrets and control characters removed.
 */
export function createProgress(
  clock: Clock,
  limits: Limits['tools'],
  emit: (text: string) => void,
): (text: string) => void {
  let events = 0;
  let chars = 0;
  let nextAtMs = Number.NEGATIVE_INFINITY;
  return (text) => {
    const now = clock.monotonicMs();
    if (now < nextAtMs || events >= limits.maxProgressEvents || chars >= limits.maxProgressChars) return;
    const line = safeText(redactSecrets(String(text))).slice(0, limits.maxProgressChars - chars);
    events += 1;
    chars += line.length;
    nextAtMs = now + limits.progressIntervalMs;
    emit(line);
  };
}
