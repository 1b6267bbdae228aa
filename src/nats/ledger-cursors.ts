import { z } from 'zod';
import { SwarmError } from '../errors.ts';
import type { GuardedPublisher } from './guarded-publish.ts';
import type { LedgerSubjects } from './ledger-subjects.ts';
import { jsonOf, type SequencedMessage, type StreamReader } from './stream-reader.ts';

const cursorSchema = z.object({ v: z.literal(1), position: z.number() });

export interface LedgerCursorOptions {
  readonly reader: StreamReader;
  readonly publisher: GuardedPublisher;
  readonly subjects: LedgerSubjects;
  readonly withinMs: number;
}

/** Places that readers of a ledger left, each the furthest of all that were left under its name. */
export class LedgerCursors {
  readonly #options: LedgerCursorOptions;

  constructor(options: LedgerCursorOptions) {
    this.#options = options;
  }

  /** @throws SwarmError 'nats-unavailable', 'nats-rejected', 'ledger-corrupt' */
  async find(name: string): Promise<number | undefined> {
    const { reader, subjects } = this.#options;
    const message = await reader.last(subjects.cursor(name));
    return message === undefined ? undefined : positionIn(message);
  }

  /** @throws SwarmError 'ledger-unavailable', and what `find` throws */
  async move(name: string, position: number): Promise<void> {
    const { reader, publisher, subjects, withinMs } = this.#options;
    const subject = subjects.cursor(name);
    const payload = Buffer.from(JSON.stringify({ v: 1, position }), 'utf8');
    for (;;) {
      const known = await reader.last(subject);
      if (known !== undefined && positionIn(known) >= position) return;
      const isOwn = (message: SequencedMessage) => Buffer.from(message.data).equals(payload);
      const batch = {
        subject,
        expected: known?.sequence ?? 0,
        messages: [{ payload, headers: {} }],
        isOwn,
      };
      const outcome = await publisher.publish(batch, withinMs);
      if (outcome.type === 'stored') return;
      if (outcome.type === 'overtaken') continue;
      const cause = outcome.type === 'unknown' ? { cause: outcome.cause } : {};
      throw new SwarmError('ledger-unavailable', `the place of ${name} could not be stored`, cause);
    }
  }
}

function positionIn(message: SequencedMessage): number {
  const parsed = cursorSchema.safeParse(jsonOf(message));
  if (parsed.success) return parsed.data.position;
  throw new SwarmError('ledger-corrupt', `${message.subject}: found no place of a reader`);
}
