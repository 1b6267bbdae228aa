/** What providers write into error bodies, by what it means. Codes are compared whole, in lower case. */

export const OVERFLOW_CODES: ReadonlySet<string> = new Set([
  'context_length_exceeded',
  'context_window_exceeded',
  'model_context_window_exceeded',
  'exceed_context_size_error',
  'context_exceeded',
  'prompt_too_long',
  'input_too_long',
]);

export const OVERFLOW_TEXTS: readonly RegExp[] = [
  /maximum (?:context|prompt|model|allowed input) length/i,
  /context (?:length|window|size|limit)[^.]{0,60}(?:exceed|overflow|only|reached)/i,
  /(?:exceed|over|longer|larger|greater|beyond|reached)[^.]{0,80}context (?:length|window|size|limit)/i,
  /configured context size|context the overflows/i,
  /(?:prompt|input|request) (?:is |was )?too long|prompt exceeds (?:the )?(?:max|length)/i,
  /input token count|input tokens exceed|too many (?:input )?tokens|token limit exceeded/i,
  /exceed\w* (?:the )?(?:model(?:'s)? )?(?:token limit|maximum number of tokens|max(?:imum)? tokens)/i,
  /range of input length should be/i,
  /reduce the length of (?:the|your) (?:messages|prompt|input)/i,
  /tokens[^.]{0,40}too large for model|body too large for .{0,80}max size: \d+ tokens/i,
  /`?inputs`? (?:tokens|must have (?:less|fewer) than)/i,
];

/** A limit over time speaks of tokens too, and is no overflow. */
export const RATE_TEXT = /rate.?limit|per (?:min|minute|hour|day)\b|too many requests|\b[TR]P[MD]\b|quota/i;

export const TOO_LARGE_FOR_RATE = /(?:request|input)[^.]{0,40}too large[^.]*(?:per min|\bTPM\b)/i;

export const FILTER_CODES: ReadonlySet<string> = new Set([
  'content_filter',
  'content_policy_violation',
  'content_policy',
  'data_inspection_failed',
  'datainspectionfailed',
  'moderation',
  'moderation_blocked',
  'responsibleaipolicyviolation',
  'sensitive_words_detected',
  'prohibited_content',
]);

export const FILTER_TEXT =
  /moderation|\bflagged\b|data.?inspection|content (?:management )?polic|content filter|safety (?:system|filter)|inappropriate content|content exists risk/i;

export const TOOL_USE_FAILED_CODES: ReadonlySet<string> = new Set(['tool_use_failed']);

export const QUOTA_CODES: ReadonlySet<string> = new Set([
  'insufficient_quota',
  'exceeded_current_quota_error',
  'billing_not_active',
  'billing_hard_limit_reached',
  'billing_error',
  'insufficient_balance',
  'insufficient_user_quota',
  'insufficient_credits',
  'arrearage',
]);

export const QUOTA_TEXT =
  /insufficient (?:quota|balance|credit|funds)|(?:current|monthly|your) quota|\bbilling\b|credit balance|balance is (?:too low|insufficient)|payment required|(?:out of|no) credits/i;

export const AUTH_CODES: ReadonlySet<string> = new Set([
  'invalid_api_key',
  'incorrect_api_key_provided',
  'authentication_error',
  'invalid_authentication_error',
  'permission_error',
  'permission_denied',
  'unauthenticated',
  'unauthorized',
  'api_key_invalid',
  'invalidapikey',
]);

/** Some providers answer 400 to a wrong key. */
export const AUTH_TEXT = /api.?key (?:is )?(?:not valid|invalid|expired)|(?:incorrect|invalid) api.?key/i;

export const RATE_CODES: ReadonlySet<string> = new Set([
  'rate_limit_exceeded',
  'rate_limit_error',
  'rate_limit_reached_error',
  'rate_limited',
  'rate_limit',
  'too_many_requests',
  'resource_exhausted',
  'throttling',
  'throttlingexception',
  'limit_requests',
]);

export const OVERLOAD_CODES: ReadonlySet<string> = new Set([
  'overloaded',
  'overloaded_error',
  'engine_overloaded_error',
  'server_overloaded',
  'unavailable',
  'service_unavailable',
  'service_unavailable_error',
  'serviceunavailable',
  'insufficient_system_resource',
  'no_capacity',
]);

export const OVERLOAD_TEXT =
  /overloaded|(?:over|at|no|out of) capacity|temporarily unavailable|server (?:is )?busy/i;

/** A server that fails on our own history answers 500, and would again. */
export const OWN_HISTORY_TEXT =
  /failed to parse (?:tool|the tool|function|input|messages|arguments)|tool.?call arguments|jinja|template (?:error|exception|render)|raise_exception/i;

export const SERVER_CODES: ReadonlySet<string> = new Set([
  'server_error',
  'api_error',
  'internal_error',
  'internal_server_error',
  'internalservererror',
  'internal',
  'upstream_error',
]);

export const SERVER_TEXT =
  /internal (?:server )?error|server (?:had an )?error|(?:try|retry) (?:again|your request)|upstream|timed? ?out|temporar/i;

export const INVALID_CODES: ReadonlySet<string> = new Set([
  'invalid_request_error',
  'invalid_request',
  'invalid_argument',
  'not_found_error',
  'model_not_found',
  'badrequesterror',
  'unsupported_parameter',
  'validation_error',
]);

/** Errors of the system below HTTP. */
export const NETWORK_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_CLOSED',
  'UND_ERR_DESTROYED',
  'UND_ERR_ABORTED',
]);

export const TLS_CODE = /^(?:ERR_TLS_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_SSL_|EPROTO$)/;
