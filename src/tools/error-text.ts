import { redactSecrets } from '../events/redaction.ts';
import type { Limits } from '../limits.ts';
import { toPlainJson } from './plain-json.ts';
import { cutChars } from './safe-text.ts';

/** Causes that an error text follows. */
const MAX_CAUSES = 4;

/**
 * What a model, a record and an event are told of an error: its message and those of its causes, no stack, secrets
 * masked, at most `limits.tools.maxErrorChars` characters with an ellipsis. Takes anything that can be thrown.
 */
export function errorText(error: unknown, limits: Pick<Limits, 'tools'>): string {
  const { maxErrorChars } = limits.tools;
  // Masking before the cut: half a secret has no shape to be known by. Masking is linear, but a bound on what is
  // looked at keeps a hostile message of many megabytes cheap.
  const text = describe(error).slice(0, maxErrorChars * 16);
  return cutChars(redactSecrets(text), maxErrorChars);
}

function describe(error: unknown): string {
  try {
    if (!(error instanceof Error)) return describeValue(error);
    const texts: string[] = [];
    let next: unknown = error;
    while (next instanceof Error && texts.length <= MAX_CAUSES) {
      texts.push(describeOne(next));
      next = next.cause;
    }
    if (next !== undefined && !(next instanceof Error)) texts.push(describeValue(next));
    // A wrapper often repeats the message of what it wraps.
    return texts.filter((text, index) => !texts[index - 1]?.includes(text)).join('; caused by: ');
  } catch {
    return 'an error that cannot be read';
  }
}

function describeOne(error: Error): string {
  const message = String(error.message);
  const name = String(error.name);
  const head =
    message === '' ? name : name === 'Error' || name === 'SwarmError' ? message : `${name}: ${message}`;
  if (!(error instanceof AggregateError)) return head;
  const all = error.errors
    .slice(0, MAX_CAUSES)
    .map((one) => (one instanceof Error ? describeOne(one) : describeValue(one)));
  return `${head} (${all.join('; ')})`;
}

function describeValue(value: unknown): string {
  if (typeof value === 'string') return value === '' ? 'an empty error' : value;
  if (value === undefined) return 'an unknown error';
  if (
    typeof value === 'object' &&
    value !== null &&
    'message' in value &&
    typeof value.message === 'string'
  ) {
    return value.message;
  }
  return JSON.stringify(toPlainJson(value));
}
