/** A stretch of text that is a secret: `[start, end)` in characters. */
export interface SecretRange {
  readonly start: number;
  readonly end: number;
  /** Where the words begin that tell it is one. */
  readonly head: number;
  /** What may follow when the text goes on behind `end`; absent where the secret is complete. */
  readonly tail?: RegExp;
}

/**
 * One shape of secret. `head` is a bounded expression whose group `s` is where the secret begins; `tail` is
 * what it goes on with, greedily. That form keeps matching linear: a head looks at no more than
 * {@link MAX_HEAD_CHARS} characters and nothing follows a tail that could make it fail and back up.
 */
interface SecretShape {
  readonly head: string;
  readonly tail?: string;
  readonly flags?: string;
}

/** No head needs more than this many characters to be recognised. */
export const MAX_HEAD_CHARS = 256;

const NOT_IN_WORD = '(?<![A-Za-z0-9])';
const QUOTE = '\\\\{0,3}["\']?';
const GAP = '[ \\t]{0,4}';
const ASSIGNED = `${QUOTE}${GAP}[:=]${GAP}${QUOTE}`;
const SCHEME_WORD = '(?:bearer|basic|token)[ \\t]{1,8}';
const SCHEME = `(?:${SCHEME_WORD})?`;
/** What an unquoted or quoted value may hold. */
const VALUE = '[^\\s"\',;&)}[\\]\\\\]';

const NAMED_KEYS = [
  'proxy-authorization|authorization|x-api-key|x-auth-token',
  'api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|signing[_-]?key',
  'access[_-]?token|auth[_-]?token|refresh[_-]?token|id[_-]?token|session[_-]?token|bot[_-]?token',
  'client[_-]?secret|secret[_-]?access[_-]?key|password|passwd|passphrase',
].join('|');

const QUERY_KEYS = [
  'key|api_?key|access_token|token|sig|signature',
  'x-amz-signature|x-amz-security-token|x-goog-signature',
].join('|');

const PREFIXED_KEYS = [
  'gsk_|xai-|hf_|gh[oprsu]_|github_pat_|glpat-|npm_|pypi-|xox[abeoprs]-|AIza|ya29\\.|r8_|nvapi-|pplx-',
  'tgp_v1_|dop_v1_|shpat_|SG\\.|[prs]k_(?:live|test)_',
].join('|');

const PEM_BODY = '[A-Za-z0-9+/=\\s\\\\:,._]*';

const SHAPES: readonly SecretShape[] = [
  { head: `${NOT_IN_WORD}(?<s>sk-[A-Za-z0-9_-]{10})`, tail: '[A-Za-z0-9_-]*' },
  { head: `${NOT_IN_WORD}(?<s>(?:${PREFIXED_KEYS})[A-Za-z0-9_-]{16})`, tail: '[A-Za-z0-9_.-]*' },
  { head: `${NOT_IN_WORD}(?<s>A[KS]IA[A-Z0-9]{16})`, tail: '[A-Z0-9]*' },
  // Seeds of NATS keys: base32, 58 characters.
  { head: `${NOT_IN_WORD}(?<s>S[ACNOUX][A-Z2-7]{54})`, tail: '[A-Z2-7]*' },
  // Signed tokens and other base64 of a JSON object.
  { head: '(?<![A-Za-z0-9_-])(?<s>eyJ[A-Za-z0-9_-]{16})', tail: '[A-Za-z0-9_.-]*' },
  {
    head: `${NOT_IN_WORD}bearer[ \\t]{1,8}(?<s>[A-Za-z0-9._~+/=-]{16})`,
    tail: '[A-Za-z0-9._~+/=-]*',
    flags: 'i',
  },
  {
    head: `${NOT_IN_WORD}(?:${NAMED_KEYS})${ASSIGNED}${SCHEME}(?!${SCHEME_WORD})(?<s>${VALUE}{4})`,
    tail: `${VALUE}*`,
    flags: 'i',
  },
  // Everyday words: only where code or a query assigns them, or a quoted key holds them.
  {
    head: `${NOT_IN_WORD}(?:secret|token|pwd)(?:${QUOTE}${GAP}=${GAP}${QUOTE}|\\\\{0,3}["']${GAP}:${GAP}${QUOTE})(?<s>${VALUE}{4})`,
    tail: `${VALUE}*`,
    flags: 'i',
  },
  { head: `[?&](?:${QUERY_KEYS})=(?<s>[^\\s&#"'<>\\\\]{4})`, tail: '[^\\s&#"\'<>\\\\]*', flags: 'i' },
  {
    head: `${NOT_IN_WORD}(?:set-)?cookie${QUOTE}${GAP}:${GAP}${QUOTE}(?<s>[^\\r\\n"'\\\\]{4})`,
    tail: '[^\\r\\n"\'\\\\]*',
    flags: 'i',
  },
  // The user part of a URL, with or without a password.
  { head: '://(?<s>[^\\s/?#@"\'<>\\\\]{1,200})(?=@)' },
  {
    head: '(?<s>-----BEGIN [A-Z0-9 ]{0,40}(?:PRIVATE KEY|NKEY SEED|USER JWT)[A-Z0-9 ]{0,20}-----)',
    tail: `${PEM_BODY}(?:-(?!-{4}END)${PEM_BODY})*(?:-{5}END[A-Z0-9 ]{0,60}-{0,6})?`,
  },
];

interface CompiledShape {
  readonly find: RegExp;
  readonly tail: RegExp | undefined;
}

const COMPILED: readonly CompiledShape[] = SHAPES.map(({ head, tail = '', flags = '' }) => ({
  find: new RegExp(`${head}${tail}`, `dg${flags}`),
  tail: tail === '' ? undefined : new RegExp(tail, `y${flags}`),
}));

/**
 * Every secret of a known shape that begins in `text` at `from` or later, in no order, overlaps included; what
 * stands before `from` is context. Time is linear in the length.
 */
export function findShapes(text: string, from: number): SecretRange[] {
  const ranges: SecretRange[] = [];
  for (const { find, tail } of COMPILED) {
    find.lastIndex = from;
    for (const match of text.matchAll(find)) {
      const start = match.indices?.groups?.['s']?.[0] ?? match.index;
      const end =
        tail === undefined ? start + (match.groups?.['s']?.length ?? 0) : match.index + match[0].length;
      ranges.push({ start, end, head: match.index, ...(tail === undefined ? {} : { tail }) });
    }
  }
  return ranges;
}

/** Where a secret ends that is known to go on at `at`. */
export function tailEnd(text: string, tail: RegExp, at: number): number {
  tail.lastIndex = at;
  return at + (tail.exec(text)?.[0].length ?? 0);
}
