import { z } from 'zod';
import type { Run } from '../agent/run.ts';
import { createRedactor, type Redactor } from '../events/redaction.ts';
import { NATS_LIMITS } from '../limits.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';
import type { NatsClient } from './client.ts';
import { type Connection, openConnection } from './connection.ts';
import { createSubjects, type SubjectOptions } from './subjects.ts';

/** Options of {@link publishDeltas}. */
export interface PublishDeltasOptions extends SubjectOptions {
  readonly connection: Connection;
  readonly run: Pick<Run<unknown>, 'id' | 'sessionId' | 'text'>;
  /** Masks secrets. Default: by shape. */
  readonly redactor?: Redactor;
}

const OPTIONS: OptionNames<PublishDeltasOptions> = {
  ns: true,
  subjectRoot: true,
  connection: true,
  run: true,
  redactor: true,
};

/** What became of the deltas of a run. */
export interface DeltaCounts {
  /** Messages that were sent; several deltas go in one. */
  readonly sent: number;
  /** Characters that were not, because the server was away or slow. */
  readonly droppedChars: number;
}

/** One message of text: lossy, and never a fact. `n` counts from 1; one missing was dropped. */
export const deltaSchema = z.object({
  v: z.literal(1),
  session: z.string(),
  run: z.string(),
  n: z.number().int().positive(),
  text: z.string(),
});

/** Deltas of so long go together. */
const TOGETHER_MS = 50;

/**
 * Publishes what the model of a run says while it says it, on a plane of its own: seen live or not at all, kept nowhere.
 * What it says is content, so nothing does this unless it is called. Resolves when the run has nothing more to say; never
 * holds the run up: what cannot be sent is dropped.
 * @throws SwarmError 'invalid-definition', 'nats-insecure'
 */
export async function publishDeltas(options: PublishDeltasOptions): Promise<DeltaCounts> {
  assertOptions('publishDeltas', options, OPTIONS);
  const { run, redactor = createRedactor() } = options;
  const { client, isOwn } = openConnection(options.connection);
  const plane = new DeltaPlane(client, createSubjects(options).delta(run.sessionId, run.id), run);
  const masked = redactor.stream();
  try {
    for await (const piece of run.text()) plane.add(masked.push(piece));
    plane.add(masked.flush());
    plane.send();
    return plane.counts();
  } finally {
    plane.close();
    if (isOwn) await client.close();
  }
}

class DeltaPlane {
  readonly #client: NatsClient;
  readonly #subject: string;
  readonly #run: { readonly id: string; readonly sessionId: string };
  #text = '';
  #number = 0;
  #sent = 0;
  #droppedChars = 0;
  /** Bytes the server has not confirmed to have taken. */
  #onTheWay = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(client: NatsClient, subject: string, run: { readonly id: string; readonly sessionId: string }) {
    this.#client = client;
    this.#subject = subject;
    this.#run = run;
  }

  counts(): DeltaCounts {
    return { sent: this.#sent, droppedChars: this.#droppedChars };
  }

  add(text: string): void {
    if (text === '') return;
    this.#text += text;
    this.#timer ??= setTimeout(() => this.send(), TOGETHER_MS);
  }

  send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#text;
    this.#text = '';
    if (text === '') return;
    this.#number += 1;
    const { id, sessionId } = this.#run;
    const message = { v: 1, session: sessionId, run: id, n: this.#number, text };
    const payload = new TextEncoder().encode(JSON.stringify(message));
    if (this.#onTheWay + payload.length > NATS_LIMITS.maxDeltaBytes || !this.#publish(payload)) {
      this.#droppedChars += text.length;
      return;
    }
    this.#sent += 1;
    this.#onTheWay += payload.length;
    const taken = () => {
      this.#onTheWay -= payload.length;
    };
    this.#client.flush().then(taken, taken);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #publish(payload: Uint8Array): boolean {
    try {
      this.#client.publish(this.#subject, payload);
      return true;
    } catch {
      // No connection, or too large for it: counted by who asked.
      return false;
    }
  }
}
