/** Characters that JSON leaves as they are and a terminal might act on, or a reader not see. */
const UNSAFE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** A value as one line of JSON that is safe to look at: controls and bidi characters are written as `\uXXXX`. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value).replace(UNSAFE, (character) =>
    // In UTF-16, as JSON escapes it: what is beyond the first plane takes two.
    [...Array(character.length).keys()]
      .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
