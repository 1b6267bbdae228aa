/**
 * Characters that a reader does not see or that change how others are read: C0 and C1 controls, bidi controls,
 * zero-width and filler characters, tag characters, variation selectors. Line feed, tab and the emoji
 * presentation selector stay.
 */
const UNSEEN =
  /[[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u{FFF9}-\u{FFFB}]--[\n\t\u{FE0F}]]/gv;

const LINE_ENDS = /\r\n?|[\u0085\u2028\u2029]/g;

/** Default cap of {@link safeText}, in UTF-16 code units. */
const MAX_TEXT_CHARS = 1_024;
/** Default cap of {@link safeName}, in UTF-16 code units. */
const MAX_NAME_CHARS = 64;

/**
 * Untrusted text made fit for a prompt: unseen characters removed, line ends unified, lone surrogates replaced,
 * at most `maxChars` (default 1,024) UTF-16 code units with an ellipsis where it was cut.
 */
export function safeText(text: string, maxChars: number = MAX_TEXT_CHARS): string {
  return cutChars(stripUnseen(text, maxChars), maxChars);
}

/** As `UNSEEN`, but for carriage returns and the joiners that several scripts are written with. */
const UNSEEN_IN_DATA =
  /[[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u{FFF9}-\u{FFFB}]--[\n\r\t\u{FE0F}\u{200C}\u{200D}]]/gv;

/** Untrusted data of any length, fit for a prompt: unseen characters removed, line ends and letters as they were. */
export function safeData(text: string): string {
  return text.replace(UNSEEN_IN_DATA, '').toWellFormed();
}

/** Characters with which a name could end what it stands in: a quotation, a code span, a tag. */
const DELIMITERS = /["`<>]/g;

/**
 * An untrusted name made fit to be shown inside a line of a prompt: as {@link safeText}, without quotes, backticks and
 * angle brackets, and every run of white space is one space. A name of letters, digits and `_.:-` stays what it is. At
 * most `maxChars` (default 64) UTF-16 code units.
 */
export function safeName(name: string, maxChars: number = MAX_NAME_CHARS): string {
  const bare = stripUnseen(name, maxChars).replace(DELIMITERS, '').replace(/\s+/gu, ' ');
  return cutChars(bare.trim(), maxChars);
}

/** True if `text` holds characters that {@link safeText} would remove, whatever its length. */
export function hasUnseen(text: string): boolean {
  return text.search(UNSEEN) !== -1 || !text.isWellFormed();
}

/**
 * Untrusted text made fit for a terminal: escape sequences (CSI, OSC with their payload, DCS and the like),
 * carriage returns, every other control and every unseen character removed. Line feed and tab stay.
 */
export function stripControl(text: string): string {
  return text.replace(ESCAPE_SEQUENCES, '').replace(LINE_ENDS, '\n').replace(UNSEEN, '').toWellFormed();
}

const ESC = '(?:\\u001B';
// String controls (OSC, DCS, SOS, PM, APC) run to their terminator; where it is missing, to the next escape or the end
// of the line, so that an open one hides no more than that.
const STRING_BODY = '[^\\n\\u0007\\u001B\\u009C]*(?:\\u0007|\\u001B\\\\|\\u009C)?';
const ESCAPE_SEQUENCES = new RegExp(
  [
    `${ESC}[\\]PX^_]|[\\u009D\\u0090\\u0098\\u009E\\u009F])${STRING_BODY}`,
    `${ESC}\\[|\\u009B)[0-?]*[ -/]*[@-~]?`,
    '\\u001B[ -/]*[0-~]?',
  ].join('|'),
  'g',
);

/** `text`, or its beginning with an ellipsis: at most `maxChars` code units, no surrogate pair split. */
export function cutChars(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  if (maxChars < 1) return '';
  let end = maxChars - 1;
  const last = text.charCodeAt(end - 1);
  if (last >= 0xd800 && last <= 0xdbff) end -= 1;
  return `${text.slice(0, end)}…`;
}

function stripUnseen(text: string, maxChars: number): string {
  // A hostile text may be megabytes of invisible characters: look at no more than can matter.
  const head = text.slice(0, Math.max(maxChars * 8, 4_096));
  return head.replace(LINE_ENDS, '\n').replace(UNSEEN, '').toWellFormed();
}
