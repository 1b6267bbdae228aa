import { stripVTControlCharacters } from 'node:util';

/** A text that a terminal shows and does not obey: models and files may hold escape sequences. */
export function printable(text: string): string {
  return (
    stripVTControlCharacters(text)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
      .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '\ufffd')
  );
}

/** A text on one line, cut to `max` characters. */
export function oneLine(text: string, max = 100): string {
  const line = printable(text).replace(/\s+/g, ' ').trim();
  return line.length <= max ? line : `${line.slice(0, max - 1).toWellFormed()}…`;
}
