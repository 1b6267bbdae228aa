import { StringDecoder } from 'node:string_decoder';

/** One stream of this process that code of the user may print to. */
export interface GuardedStream {
  write(chunk: string | Uint8Array, ...rest: readonly unknown[]): boolean;
}

/** Characters of a line without an end that are kept before they are shown as they are. */
const MAX_OPEN_LINE = 64 * 1024;

/**
 * Takes what tools and modules print themselves, line by line, so that it neither breaks into a live view nor
 * stands between JSON lines. Gives back how to end it; what stands without a line end is then handed out.
 */
export function guardOutput(
  streams: readonly GuardedStream[],
  onLine: (line: string) => void,
): { flush(): void; restore(): void } {
  const guards = streams.map((stream) => guardStream(stream, onLine));
  return {
    flush: () => guards.forEach((guard) => void guard.flush()),
    restore: () => guards.forEach((guard) => void guard.restore()),
  };
}

function guardStream(stream: GuardedStream, onLine: (line: string) => void) {
  const original = stream.write;
  const decoder = new StringDecoder('utf8');
  let open = '';
  const take = (text: string) => {
    const lines = `${open}${text}`.split('\n');
    open = lines.pop() ?? '';
    for (const line of lines) onLine(line);
    if (open.length > MAX_OPEN_LINE) flush();
  };
  const flush = () => {
    if (open !== '') onLine(open);
    open = '';
  };
  stream.write = (chunk, ...rest) => {
    take(typeof chunk === 'string' ? chunk : decoder.write(Buffer.from(chunk)));
    const done = rest.at(-1);
    if (typeof done === 'function') process.nextTick(() => done());
    return true;
  };
  return {
    flush,
    restore() {
      flush();
      stream.write = original;
    },
  };
}
