import { SwarmError } from '../errors.ts';
import { redactSecrets } from '../events/redaction.ts';

/** Names of the client's errors that say: the server had something against it. */
const REJECTIONS = new Set([
  'PermissionViolationError',
  'AuthorizationError',
  'UserAuthenticationExpiredError',
  'InvalidArgumentError',
  'InvalidSubjectError',
  'JetStreamApiError',
  'StreamNotFoundError',
]);

/** An error of the client as one of ours. What came from the server is text of a stranger: bounded, without secrets. */
export function natsError(error: unknown, doing: string): SwarmError {
  if (error instanceof SwarmError) return error;
  const code = isRejection(error) ? 'nats-rejected' : 'nats-unavailable';
  return new SwarmError(code, `${doing}: ${messageOf(error)}`, { cause: error });
}

/** A request wraps what became of it, once. */
function isRejection(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return REJECTIONS.has(error.name) || (error.cause instanceof Error && REJECTIONS.has(error.cause.name));
}

/** What an error says, fit for a log. */
export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return redactSecrets(text.replaceAll(/\s+/g, ' ').slice(0, 300));
}
