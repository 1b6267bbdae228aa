import { createRedactor } from '../events/redaction.ts';
import { stripControl } from '../tools/safe-text.ts';

/** Bytes that are told, and those that are kept: more, so that no half of a secret stands where the others begin. */
const TOLD_BYTES = 2_048;
const KEPT_BYTES = 2 * TOLD_BYTES;
/** A shorter value of the environment is no secret, and would mask half of what is said. */
const MIN_SECRET_CHARS = 8;

/** The end of what a program wrote to its standard error: it often says there why it ends. */
export interface LastWords {
  add(chunk: Uint8Array): void;
  /** One line without control characters and secrets; empty for nothing. */
  text(): string;
}

/** Listens to a program that was given `values` in its environment. */
export function createLastWords(values: readonly string[]): LastWords {
  const redactor = createRedactor({ secrets: values.filter(({ length }) => length >= MIN_SECRET_CHARS) });
  let end = Buffer.alloc(0);
  return {
    add(chunk) {
      // A copy: a view would keep all that was read with it.
      end = Buffer.from(Buffer.concat([end, chunk]).subarray(-KEPT_BYTES));
    },
    text() {
      const line = stripControl(end.toString('utf8'))
        .trim()
        .replaceAll(/\s*\n\s*/g, ' | ');
      const told = Buffer.from(redactor.text(line), 'utf8').subarray(-TOLD_BYTES);
      // The first character may have been cut.
      return told.toString('utf8').replace(/^\uFFFD+/, '');
    },
  };
}
