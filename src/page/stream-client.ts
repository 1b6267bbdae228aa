import type { RunEvent } from '../events/event-schemas.ts';

/** A transition of a live machine, as far as the page reads it. */
export interface Move {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly event: string;
  readonly at: number;
  readonly final?: true;
  readonly illegal?: true;
  readonly fault?: true;
}

/** What the server says first. */
export interface Hello {
  /** Its clock, in milliseconds since the epoch. */
  readonly now: number;
  /** Place in the ledger after which it began; more than 0 where history was left out. */
  readonly start: number;
  readonly head: number;
  readonly controls: boolean;
  readonly canFork: boolean;
  readonly hasToken: boolean;
  readonly content: boolean;
  readonly instances: readonly { readonly id: string; readonly kind: string; readonly state: string }[];
}

/** Transitions in order. */
export interface MoveBatch {
  readonly moves: readonly Move[];
  /** How many before them were too many for the server to keep. */
  readonly dropped: number;
  /** What is live after them, where some were dropped. */
  readonly instances?: Hello['instances'];
}

/** Takes what a stream brings. */
export interface StreamHandlers {
  hello(hello: Hello): void;
  facts(events: readonly RunEvent[]): void;
  moves(batch: MoveBatch): void;
  ready(): void;
  /** So many facts were no longer kept when this page came to them. */
  missed(facts: number): void;
  /** Why the server itself may be behind; undefined when it no longer is. */
  trouble(words: string | undefined): void;
  /** Undefined = connected. */
  state(trouble: 'lost' | 'refused' | undefined): void;
}

/** A connection that comes back by itself, where it was cut. */
export interface StreamClient {
  /** Begins anew: another token, or other history. */
  restart(from?: number): void;
}

const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 5_000;

/** Opens the stream. `EventSource` sends no token, so the few lines of the format are read here. */
export function openStream(handlers: StreamHandlers, headers: () => Record<string, string>): StreamClient {
  let lastId = '';
  let from: number | undefined;
  let current = new AbortController();

  const run = async (signal: AbortSignal) => {
    for (let pauseMs = FIRST_RETRY_MS; !signal.aborted; pauseMs = Math.min(pauseMs * 2, MAX_RETRY_MS)) {
      try {
        const begin = from === undefined ? '' : `?after=${from}`;
        const resume = lastId === '' ? {} : { 'Last-Event-ID': lastId };
        const response = await fetch(`/api/stream${lastId === '' ? begin : ''}`, {
          headers: { ...headers(), ...resume },
          signal,
        });
        if (response.status === 401) return handlers.state('refused');
        if (response.ok && response.body !== null) {
          handlers.state(undefined);
          await readMessages(response.body, (message) => {
            pauseMs = FIRST_RETRY_MS;
            deliver(message, handlers);
            if (message.id !== '') lastId = message.id;
          });
        }
      } catch {
        // Cut off, or nobody there: the state below says so, and the loop tries again.
      }
      if (signal.aborted) return;
      handlers.state('lost');
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };

  void run(current.signal);
  return {
    restart(start) {
      current.abort();
      current = new AbortController();
      lastId = '';
      from = start;
      void run(current.signal);
    },
  };
}

interface Message {
  readonly event: string;
  readonly id: string;
  readonly data: string;
}

async function readMessages(
  body: ReadableStream<Uint8Array>,
  take: (message: Message) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += decoder.decode(value, { stream: true });
    const blocks = rest.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) take(parseMessage(block));
  }
}

function parseMessage(block: string): Message {
  const message = { event: '', id: '', data: '' };
  for (const line of block.split('\n')) {
    const at = line.indexOf(': ');
    const field = line.slice(0, at);
    if (field === 'event' || field === 'id' || field === 'data') message[field] = line.slice(at + 2);
  }
  return message;
}

/** The server is our own, of the same package: its messages have the shapes above. */
function deliver({ event, data }: Message, handlers: StreamHandlers): void {
  switch (event) {
    case 'hello':
      handlers.hello(JSON.parse(data) as Hello);
      return;
    case 'facts':
      handlers.facts(JSON.parse(data) as readonly RunEvent[]);
      return;
    case 'moves':
      handlers.moves(JSON.parse(data) as MoveBatch);
      return;
    case 'ready':
      handlers.ready();
      return;
    case 'missed':
      handlers.missed((JSON.parse(data) as { facts: number }).facts);
      return;
    case 'trouble':
      handlers.trouble((JSON.parse(data) as { words: string | null }).words ?? undefined);
      return;
    default:
      return;
  }
}
