import { redactSecrets } from '../events/redaction.ts';
import { cutChars } from '../tools/safe-text.ts';

/** Characters of a message that are shown among others. */
const MAX_MESSAGE_CHARS = 300;

/** What there is of a failure: its message is no part of every event. */
export interface ShownFailure {
  readonly kind: string;
  readonly detail?: string | undefined;
  readonly message?: string | undefined;
}

/** True where nobody was left to read the answer: nothing is known of the network. */
export function isInterrupted({ kind, detail }: ShownFailure): boolean {
  return kind === 'network' && detail === 'interrupted';
}

/** A failure in the words of one line, without secrets. Its message is cut: providers send whole pages. */
export function failureWords(failure: ShownFailure, maxChars: number = MAX_MESSAGE_CHARS): string {
  if (isInterrupted(failure)) return 'the process ended before the answer came';
  const { kind, message = '' } = failure;
  // What is cut before it is masked could be half a secret.
  const words = cutChars(redactSecrets(message).replace(/\s+/g, ' ').trim(), maxChars);
  return words === '' ? kind : `${kind}: ${words}`;
}

/** What is told of an attempt that brought no answer. */
export function attemptWords(attempt: number, failure: ShownFailure): string {
  return isInterrupted(failure)
    ? `attempt ${attempt} has no answer: its process ended`
    : `attempt ${attempt} failed: ${failureWords(failure)}`;
}
