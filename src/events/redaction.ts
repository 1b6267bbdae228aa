import { SwarmError } from '../errors.ts';
import type { JsonValue } from '../ledger/content.ts';
import { findShapes, MAX_HEAD_CHARS, type SecretRange, tailEnd } from './secret-patterns.ts';

/** What stands in place of a secret. */
export const MASK = '[redacted]';

/** Nesting beyond this is masked whole: no honest payload has it, and a walk must not exhaust the stack. */
const MAX_DEPTH = 200;

/** Keys, written without case, `-` and `_`, whose text values are secrets whatever they look like. */
const SECRET_KEYS = new Set([
  ...['authorization', 'proxyauthorization', 'cookie', 'setcookie', 'xapikey', 'apikey', 'accesskey'],
  ...['secretkey', 'secretaccesskey', 'privatekey', 'signingkey', 'accesstoken', 'authtoken', 'refreshtoken'],
  ...['idtoken', 'sessiontoken', 'clientsecret', 'secret', 'password', 'passwd', 'passphrase', 'nkeyseed'],
]);

/** A text that arrives in pieces; what comes out, joined, holds no secret that lay across two of them. */
export interface RedactionStream {
  /** Takes the next piece and gives what is safe to show by now. Holds back the last 256 characters or more. */
  push(piece: string): string;
  /** Gives the rest. The stream may then be used anew. */
  flush(): string;
}

/** Masks secrets. Time is linear in the length of the text. */
export interface Redactor {
  text(text: string): string;
  /**
   * A copy in which every string, key names included, went through `text`, and the strings under keys such as
   * `password` are masked whole. `onMasked` gets the JSON pointer of each value that changed.
   */
  value<T extends JsonValue>(value: T, onMasked?: (pointer: string) => void): T;
  stream(): RedactionStream;
}

/** Options of {@link createRedactor}. */
export interface RedactorOptions {
  /** Exact texts to mask wherever they occur, also JSON-escaped or URI-encoded; at least 4 characters each. */
  readonly secrets?: readonly string[];
  /** Also masks what has the shape of a key, token, password or private key. Default true. */
  readonly shapes?: boolean;
}

/**
 * Makes a {@link Redactor}.
 * @throws SwarmError 'invalid-definition' for a secret under 4 characters: masking it would blank all text
 */
export function createRedactor(options: RedactorOptions = {}): Redactor {
  const secrets = spellings(options.secrets ?? []);
  const shapes = options.shapes ?? true;
  const find = (text: string, from: number): SecretRange[] => {
    const ranges = shapes ? findShapes(text, from) : [];
    for (const secret of secrets) pushOccurrences(ranges, text, secret);
    return ranges;
  };
  const text = (input: string) => {
    if (secrets.length === 0 && isPlain(input)) return input;
    const ranges = find(input, 0);
    return ranges.length === 0 ? input : maskBetween(input, merged(ranges), 0, input.length);
  };
  const key = rememberedKeys(text);
  const longest = Math.max(MAX_HEAD_CHARS, ...secrets.map((secret) => secret.length));
  return {
    text,
    // The walk keeps the shape: objects stay objects, arrays arrays, strings strings.
    value: <T extends JsonValue>(value: T, onMasked?: (pointer: string) => void) =>
      redactValue(value, { text, key, onMasked }) as T,
    stream: () => createStream(find, longest),
  };
}

/** Longest text that is no secret by its length alone, unless it assigns or addresses something. */
const MAX_PLAIN_CHARS = 12;
const ASSIGNS = /[:=/]/;
/** Ids and hashes of the runtime, which no shape of a secret matches. */
const PLAIN = /^(?:(?:s|r|op)-)?[0-9a-z]{1,64}(?:\.\d{1,6})*(?:\.[a-z]{1,8})?$/;

/** True for most strings of an event, at a tenth of the cost of looking for every shape. Errs towards looking. */
function isPlain(text: string): boolean {
  if (text.length <= MAX_PLAIN_CHARS) return !ASSIGNS.test(text);
  return text.length <= 128 && PLAIN.test(text);
}

const defaultRedactor = createRedactor();

/** `text` with everything masked that has the shape of a secret. */
export function redactSecrets(text: string): string {
  return defaultRedactor.text(text);
}

function spellings(secrets: readonly string[]): readonly string[] {
  const all = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < 4) {
      throw new SwarmError('invalid-definition', 'a secret to mask has fewer than 4 characters');
    }
    all.add(secret).add(JSON.stringify(secret).slice(1, -1)).add(encodeURIComponent(secret.toWellFormed()));
  }
  return [...all];
}

function pushOccurrences(ranges: SecretRange[], text: string, secret: string): void {
  let at = text.indexOf(secret);
  while (at >= 0) {
    ranges.push({ start: at, end: at + secret.length, head: at });
    at = text.indexOf(secret, at + 1);
  }
}

/** Ordered, with overlaps joined. Ranges that only touch stay apart: each gets its own mask. */
function merged(ranges: readonly SecretRange[]): readonly { start: number; end: number }[] {
  const joined: { start: number; end: number }[] = [];
  for (const { start, end } of [...ranges].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = joined.at(-1);
    if (last !== undefined && start < last.end) last.end = Math.max(last.end, end);
    else joined.push({ start, end });
  }
  return joined;
}

/** `text[from, to)` with each range masked once; the mask of a range that began before `from` was given. */
function maskBetween(
  text: string,
  ranges: readonly { start: number; end: number }[],
  from: number,
  to: number,
): string {
  let out = '';
  let at = from;
  for (const { start, end } of ranges) {
    if (end <= at) continue;
    if (start >= to) break;
    if (start >= at) out += text.slice(at, start) + MASK;
    at = end;
  }
  return at < to ? out + text.slice(at, to) : out;
}

/** A secret whose beginning was dropped from the buffer: it goes on at `at`. */
interface OpenSecret {
  readonly tail: RegExp;
  readonly at: number;
}

/**
 * The buffer holds what was shown already (as context, `carry` characters) and what was not. A secret is
 * recognised by its first `carry` characters, so what lies further back can be shown: it cannot become part
 * of one. A secret longer than that is masked at once and swallowed for as long as its tail goes on.
 */
function createStream(find: (text: string, from: number) => SecretRange[], carry: number): RedactionStream {
  let buffer = '';
  let shown = 0;
  let open: OpenSecret[] = [];
  // 1 once the front was dropped: the first character then only tells whether a word begins behind it.
  let from = 0;

  const allRanges = () => [
    ...open.map(
      ({ tail, at }): SecretRange => ({ start: at, end: tailEnd(buffer, tail, at), head: 0, tail }),
    ),
    ...find(buffer, from),
  ];

  const forget = (ranges: readonly SecretRange[]) => {
    const drop = shown - carry - 1;
    if (drop <= 0) return;
    open = ranges.flatMap(({ start, end, head, tail }) =>
      tail !== undefined && head <= drop && end === buffer.length
        ? [{ tail, at: Math.max(0, start - drop) }]
        : [],
    );
    buffer = buffer.slice(drop);
    shown -= drop;
    from = 1;
  };

  return {
    push(piece) {
      buffer += piece;
      if (buffer.length - carry <= shown) return '';
      const found = allRanges();
      const ranges = merged(found);
      const straddling = ranges.find(
        ({ start, end }) => start < buffer.length - carry && end > buffer.length - carry,
      );
      const cut = straddling?.end ?? buffer.length - carry;
      const out = maskBetween(buffer, ranges, shown, cut);
      shown = cut;
      forget(found);
      return out;
    },
    flush() {
      const out = maskBetween(buffer, merged(allRanges()), shown, buffer.length);
      buffer = '';
      shown = 0;
      open = [];
      from = 0;
      return out;
    },
  };
}

interface Walk {
  readonly text: (text: string) => string;
  readonly key: (name: string) => ShownKey;
  readonly onMasked: ((pointer: string) => void) | undefined;
}

/** Where a value lies, from the inside out: most paths are never asked for, so none is written before. */
interface Place {
  readonly above: Place | undefined;
  readonly key: string;
  readonly depth: number;
}

function redactValue(value: JsonValue, walk: Walk, place?: Place): JsonValue {
  if (typeof value === 'string') return noted(value, walk.text(value), walk, place);
  if (typeof value !== 'object' || value === null) return value;
  if ((place?.depth ?? 0) >= MAX_DEPTH) return noted(value, MASK, walk, place);
  if (isList(value)) return value.map((item, index) => redactItem(item, walk, place, String(index)));
  const copy: Record<string, JsonValue> = {};
  for (const [key, item] of Object.entries(value)) {
    const { shownAs, isSecret } = walk.key(key);
    const isMasked = isSecret && typeof item === 'string' && item !== '';
    const shown = isMasked ? noted(item, MASK, walk, inside(place, key)) : redactItem(item, walk, place, key);
    // Assigning to this one name would set the prototype instead.
    if (key === '__proto__') Object.defineProperty(copy, key, { ...PLAIN_PROPERTY, value: shown });
    else copy[shownAs] = shown;
  }
  return copy;
}

/** Most items are plain: where they lie is written down only for those that are not. */
function redactItem(item: JsonValue, walk: Walk, above: Place | undefined, key: string): JsonValue {
  if (typeof item === 'object' && item !== null) return redactValue(item, walk, inside(above, key));
  if (typeof item !== 'string') return item;
  const shown = walk.text(item);
  return shown === item ? item : noted(item, shown, walk, inside(above, key));
}

const PLAIN_PROPERTY = { enumerable: true, configurable: true, writable: true };

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** What becomes of a key, and of a text under it. */
interface ShownKey {
  readonly shownAs: string;
  readonly isSecret: boolean;
}

/** Keys are remembered up to here: those of events are few, those of foreign data are cut off at a bound. */
const MAX_KNOWN_KEYS = 1_000;
const MAX_KNOWN_CHARS = 64;

function rememberedKeys(text: (text: string) => string): (name: string) => ShownKey {
  const known = new Map<string, ShownKey>();
  return (name) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const key = { shownAs: text(name), isSecret: isSecretKey(name) };
    if (known.size < MAX_KNOWN_KEYS && name.length <= MAX_KNOWN_CHARS) known.set(name, key);
    return key;
  };
}

function isSecretKey(name: string): boolean {
  return name.length < 40 && SECRET_KEYS.has(name.toLowerCase().replaceAll(/[-_]/g, ''));
}

function inside(above: Place | undefined, key: string): Place {
  return { above, key, depth: (above?.depth ?? 0) + 1 };
}

function noted(before: JsonValue, after: string, walk: Walk, place: Place | undefined): string {
  if (before !== after) walk.onMasked?.(pointerOf(place, walk));
  return after;
}

function pointerOf(place: Place | undefined, walk: Walk): string {
  if (place === undefined) return '';
  const token = walk.text(place.key).replaceAll('~', '~0').replaceAll('/', '~1');
  return `${pointerOf(place.above, walk)}/${token}`;
}
