/** Where a text stops being JSON. */
export interface JsonFault {
  /** Index of the first character that cannot be part of JSON; the length of the text if it merely ends too early. */
  readonly offset: number;
  /** What had to stand there. */
  readonly expected: string;
}

type Expecting = 'value' | 'first-item' | 'key' | 'first-key' | 'colon' | 'next' | 'end';

const EXPECTED: { readonly [K in Expecting]: string } = {
  value: 'a value',
  'first-item': 'a value or "]"',
  key: 'a property name in double quotes',
  'first-key': 'a property name in double quotes or "}"',
  colon: '":"',
  next: '"," or the closing bracket',
  end: 'nothing more',
};

const SPACE = /[ \t\n\r]*/y;
const LITERAL = /(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)(?![\w.+-])/y;

/**
 * The first fault of a text that `JSON.parse` refuses, or undefined for JSON. The platform's own message quotes the
 * text, and argument values must not leak into messages. Iterative, linear in the length.
 */
export function findJsonFault(text: string): JsonFault | undefined {
  const scan = new Scan(text);
  let fault: JsonFault | undefined;
  while (fault === undefined && !scan.done) fault = scan.step();
  return fault;
}

/**
 * Whether brackets or a quote of `text` are open at its end: then it was cut, and closing it would make up what the
 * model did not say. Counts through faults, so it may call a faulty text open that a reader would not.
 */
export function isOpenJson(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '{' || char === '[') depth += 1;
    else if (char === '}' || char === ']') depth -= 1;
    else if (char === '"') {
      at = endOfString(text, at);
      if (at === -1) return true;
    }
  }
  return depth > 0;
}

/** Index of the quote that closes the string which opens at `start`, or -1. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const char = text[at];
    if (char === '\\') at += 1;
    else if (char === '"') return at;
  }
  return -1;
}

class Scan {
  readonly #text: string;
  readonly #closers: ('}' | ']')[] = [];
  #at = 0;
  #expecting: Expecting = 'value';
  done = false;

  constructor(text: string) {
    this.#text = text;
  }

  /** Reads one token, or gives the fault that stands in its place. */
  step(): JsonFault | undefined {
    this.#at += this.#lengthOf(SPACE);
    const char = this.#text[this.#at];
    const closer = this.#closers.at(-1);
    const mayClose = this.#expecting === 'next' || this.#expecting.startsWith('first-');
    if (char !== undefined && char === closer && mayClose) {
      this.#closers.pop();
      return this.#move(1, this.#afterValue());
    }
    switch (this.#expecting) {
      case 'value':
      case 'first-item':
        return this.#value(char);
      case 'key':
      case 'first-key':
        return char === '"' ? this.#string('colon') : this.#fault();
      case 'colon':
        return char === ':' ? this.#move(1, 'value') : this.#fault();
      case 'next':
        if (char === ',') return this.#move(1, closer === '}' ? 'key' : 'value');
        return this.#fault(`"," or "${closer}"`);
      case 'end':
        this.done = char === undefined;
        return this.done ? undefined : this.#fault();
    }
  }

  #value(char: string | undefined): JsonFault | undefined {
    if (char === '"') return this.#string(this.#afterValue());
    if (char === '{' || char === '[') {
      this.#closers.push(char === '{' ? '}' : ']');
      return this.#move(1, char === '{' ? 'first-key' : 'first-item');
    }
    const length = this.#lengthOf(LITERAL);
    return length > 0 ? this.#move(length, this.#afterValue()) : this.#fault();
  }

  #string(next: Expecting): JsonFault | undefined {
    for (let at = this.#at + 1; at < this.#text.length; at += 1) {
      const char = this.#text[at];
      if (char === '"') return this.#move(at + 1 - this.#at, next);
      if (char === '\\') {
        const length = escapeLength(this.#text, at);
        if (length === 0) return { offset: at, expected: 'a known escape after the backslash' };
        at += length - 1;
      } else if (char !== undefined && char < ' ')
        return { offset: at, expected: 'control characters escaped' };
    }
    return { offset: this.#text.length, expected: 'the closing double quote' };
  }

  #afterValue(): Expecting {
    return this.#closers.length === 0 ? 'end' : 'next';
  }

  #move(length: number, next: Expecting): undefined {
    this.#at += length;
    this.#expecting = next;
  }

  #fault(expected: string = EXPECTED[this.#expecting]): JsonFault {
    return { offset: this.#at, expected };
  }

  #lengthOf(pattern: RegExp): number {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text)?.[0].length ?? 0;
  }
}

function escapeLength(text: string, at: number): number {
  const char = text[at + 1];
  if (char === 'u') return /^[0-9a-fA-F]{4}$/.test(text.slice(at + 2, at + 6)) ? 6 : 0;
  return char !== undefined && '"\\/bfnrt'.includes(char) ? 2 : 0;
}
