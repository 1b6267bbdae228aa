import { SwarmError } from '../errors.ts';
import { isRecord } from './provider-json.ts';

const NEWLINE = 10;
const RETURN = 13;

/** How the bytes of an event stream are treated on their way to the provider package. */
export interface LineOptions {
  readonly maxBytes: number;
  readonly maxLineBytes: number;
  /** Keeps a `data:` line if it returns true for what stands behind the colon. */
  readonly lineFilter?: (data: string) => boolean;
}

/** Takes the pieces of one stream in order. */
export interface LineGate {
  /** What can be passed on with this piece; nothing while a line is not complete. */
  take(chunk: Uint8Array): Uint8Array | undefined;
  /** What is left when the stream ends in the middle of a line. */
  rest(): Uint8Array | undefined;
}

/**
 * Passes on whole lines and holds the rest back until its line ends. Lines are read only where a filter wants
 * them or where arguments of a call stand as an object; everything else passes as the bytes it came in.
 * `take` throws SwarmError 'response-too-large' for a line or a response over its bound.
 */
export function createLineGate(options: LineOptions): LineGate {
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  let total = 0;
  const hold = (rest: Uint8Array) => {
    if (rest.byteLength === 0) return;
    heldBytes += rest.byteLength;
    if (heldBytes > options.maxLineBytes)
      throw tooLarge(`a line is longer than ${options.maxLineBytes} bytes`);
    held.push(rest);
  };
  const release = (head: Uint8Array): Uint8Array => {
    if (heldBytes === 0) return head;
    const lines = Buffer.concat([...held, head]);
    held = [];
    heldBytes = 0;
    return lines;
  };
  return {
    take(chunk) {
      total += chunk.byteLength;
      if (total > options.maxBytes) throw tooLarge(`a response is longer than ${options.maxBytes} bytes`);
      const end = endOfLines(chunk);
      if (end === 0) {
        hold(chunk);
        return undefined;
      }
      const lines = release(end === chunk.byteLength ? chunk : chunk.subarray(0, end));
      hold(chunk.subarray(end));
      return treat(lines, options.lineFilter);
    },
    rest: () => (heldBytes === 0 ? undefined : treat(release(new Uint8Array()), options.lineFilter)),
  };
}

/** Bytes up to the last line break. A few servers break lines with a carriage return alone. */
function endOfLines(chunk: Uint8Array): number {
  const end = chunk.lastIndexOf(NEWLINE) + 1;
  return end > 0 ? end : chunk.lastIndexOf(RETURN) + 1;
}

function tooLarge(message: string): SwarmError {
  return new SwarmError('response-too-large', message);
}

function treat(lines: Uint8Array, filter: LineOptions['lineFilter']): Uint8Array {
  const bytes = Buffer.from(lines.buffer, lines.byteOffset, lines.byteLength);
  if (filter === undefined && !mayHoldObjectArguments(bytes)) return lines;
  const text = bytes
    .toString('utf8')
    .split('\n')
    .map((line) => treatLine(line, filter))
    .filter((line) => line !== undefined)
    .join('\n');
  return Buffer.from(text, 'utf8');
}

/** A text that only quotes such a key has its quotes escaped, so it does not match. */
function mayHoldObjectArguments(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(ARGUMENTS_KEY); at !== -1; at = bytes.indexOf(ARGUMENTS_KEY, at)) {
    at += ARGUMENTS_KEY.length;
    let next = bytes[at];
    while (next !== undefined && (next === COLON || next === SPACE)) next = bytes[++at];
    if (next === BRACE) return true;
  }
  return false;
}

const ARGUMENTS_KEY = Buffer.from('"arguments"');
const [COLON, SPACE, BRACE] = [58, 32, 123];

function treatLine(line: string, filter: LineOptions['lineFilter']): string | undefined {
  const data = /^data: ?(.*?)\r?$/s.exec(line)?.[1];
  if (data === undefined) return line;
  if (filter !== undefined && data !== '[DONE]' && !filter(data)) return undefined;
  if (!data.includes('"arguments"')) return line;
  const chunk = parsed(data);
  return chunk !== undefined && stringifyArguments(chunk) ? `data: ${JSON.stringify(chunk)}` : line;
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    // Not ours to judge: the package reports it.
    return undefined;
  }
}

/** Turns arguments that are objects into the text they should have been; true if there were any. */
function stringifyArguments(chunk: unknown): boolean {
  let changed = false;
  for (const choice of listOf(chunk, 'choices')) {
    for (const call of listOf(isRecord(choice) ? choice['delta'] : undefined, 'tool_calls')) {
      const target = isRecord(call) ? call['function'] : undefined;
      if (isRecord(target) && isRecord(target['arguments'])) {
        Object.assign(target, { arguments: JSON.stringify(target['arguments']) });
        changed = true;
      }
    }
  }
  return changed;
}

function listOf(value: unknown, key: string): readonly unknown[] {
  const list = isRecord(value) ? value[key] : undefined;
  return Array.isArray(list) ? list : [];
}
