import { RESPONSE_LIMITS } from '../limits.ts';

const REDACTED = '[redacted]';

/** Shapes of secrets that stand in provider messages, whoever they belong to. */
const SECRET_SHAPES: readonly (readonly [RegExp, string])[] = [
  // Credentials, query and fragment of an address; the rest of it says where things went wrong.
  [/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@"'<>]*@/gi, '$1'],
  [/\b(https?:\/\/[^\s"'<>?#]+)[?#][^\s"'<>]*/gi, '$1'],
  [/\b(bearer|basic)\s+[A-Za-z0-9._~+/=*-]{4,}/gi, `$1 ${REDACTED}`],
  [/(\bapi[-_ ]?key\b[^:=\n]{0,24}[:=]\s*["']?)[^\s"',;]{4,}/gi, `$1${REDACTED}`],
  [
    /(\b(?:authorization|proxy-authorization|x-[a-z-]*key|cookie|password|secret|(?:access|auth|refresh|id)[-_]?token)["']?\s*[:=]\s*["']?)(?!bearer |basic )[^\s"',;]{4,}/gi,
    `$1${REDACTED}`,
  ],
  [
    /\b(?:sk|pk|rk|gsk|xai|hf|ghp|gho|nvapi|pplx|csk|fw|tgp|r8)[-_](?=[A-Za-z_-]*[\d*])[A-Za-z0-9*_-]{6,}/g,
    REDACTED,
  ],
  [/\bAIza[A-Za-z0-9_-]{20,}|\bAKIA[A-Z0-9]{12,}|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_.-]+/g, REDACTED],
];

/** Characters that move a cursor, hide text or turn its direction. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: removing them is the point
const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+/g;

/** What must not appear in a message: values known to be secret, and the texts of the request. */
export interface Confidential {
  readonly secrets: readonly string[];
  /** Read only when there is something to scrub. */
  readonly promptTexts?: () => Iterable<string>;
}

/**
 * `text` of a provider made fit for events, logs and terminals: without keys, headers, parts of the prompt or
 * credentials of an address, on one line, at most `maxChars` characters long.
 */
export function scrub(
  text: string,
  confidential: Confidential,
  maxChars: number = RESPONSE_LIMITS.maxMessageChars,
): string {
  // What lies far behind the cut is never shown, so it is not looked at.
  let clean = text.slice(0, maxChars * 8);
  for (const secret of confidential.secrets) {
    if (secret.length < MIN_SECRET_CHARS) continue;
    clean = clean.replaceAll(secret, REDACTED).replaceAll(encodeURIComponent(secret), REDACTED);
  }
  for (const [shape, replacement] of SECRET_SHAPES) clean = clean.replace(shape, replacement);
  clean = withoutPrompt(clean, confidential.promptTexts?.() ?? []);
  clean = clean.replace(INVISIBLE, ' ').replace(/\s+/g, ' ').trim();
  return clean.length <= maxChars ? clean : `${clean.slice(0, maxChars - 1).toWellFormed()}…`;
}

/** Shorter values are words like `true` that headers share with any text. */
const MIN_SECRET_CHARS = 6;

/** Every run of twice this many characters that a message shares with the prompt is found. */
const PROBE_CHARS = 24;

/**
 * `message` without what it quotes of the request. Probes of the message are looked up in each text, so the
 * cost is the size of the prompt times the number of probes, and is paid for failures only.
 */
function withoutPrompt(message: string, texts: Iterable<string>): string {
  let clean = message;
  for (const text of texts) {
    if (text.length < PROBE_CHARS) continue;
    for (let at = 0; at + PROBE_CHARS <= clean.length; ) {
      const found = text.indexOf(clean.slice(at, at + PROBE_CHARS));
      if (found === -1) {
        at += PROBE_CHARS;
        continue;
      }
      const [start, end] = sharedRun(clean, at, text, found);
      clean = `${clean.slice(0, start)}[prompt]${clean.slice(end)}`;
      at = start + '[prompt]'.length;
    }
  }
  return clean;
}

function sharedRun(message: string, at: number, text: string, found: number): [number, number] {
  let start = at;
  let end = at + PROBE_CHARS;
  const offset = found - at;
  while (start > 0 && start + offset > 0 && message[start - 1] === text[start - 1 + offset]) start--;
  while (end < message.length && end + offset < text.length && message[end] === text[end + offset]) end++;
  return [start, end];
}
