import { z } from 'zod';
import { sleep, systemClock } from '../clock.ts';
import { NATS_LIMITS } from '../limits.ts';
import type { NatsClient } from './client.ts';
import { faultIn, readJson } from './jet-stream-api.ts';

/** Time beyond that of the next look for which the server keeps the sign of whoever looks. */
const LATE_MS = 2_000;

/** What a worker looks for from time to time. */
export interface ScanOptions {
  readonly client: NatsClient;
  /** Of the sign that one of the pool is looking. */
  readonly subject: string;
  /** Time between two looks, in whole seconds. Default 5,000. */
  readonly everyMs?: number;
  /** Ends it. */
  readonly signal: AbortSignal;
  look(): Promise<unknown>;
}

/**
 * Looks every 5 s for what sleeps and has something to do: one worker of a pool, for as long as it lives, as it knows
 * what is open and reads only what was written since. The others look whether its sign is there still, which it leaves
 * to them when it fails. Never rejects.
 */
export async function scanTurns(options: ScanOptions): Promise<void> {
  const { client, signal, look, everyMs = NATS_LIMITS.scanMs } = options;
  const sign = new LookingSign(options, everyMs + LATE_MS);
  // Workers that start together come one after the other.
  const pauseMs = everyMs * (1 + Math.random() / 4);
  while (await sleep(systemClock, sign.isOurs ? everyMs : pauseMs, signal)) {
    if (client.state.type !== 'connected') continue;
    try {
      await sign.renew();
      if (sign.isOurs) await look();
    } catch {
      // The next look, here or elsewhere, finds the same; what fails here for ever may do elsewhere.
      sign.giveUp();
    }
  }
}

const storedSchema = z.object({ seq: z.int().positive() });

/** The sign of the worker that looks. The server forgets it when it is not renewed in time. */
class LookingSign {
  readonly #options: Pick<ScanOptions, 'client' | 'subject'>;
  readonly #ttlMs: number;
  /** Of our sign in its stream; 0 where it is not ours. */
  #sequence = 0;

  constructor(options: Pick<ScanOptions, 'client' | 'subject'>, ttlMs: number) {
    this.#options = options;
    this.#ttlMs = ttlMs;
  }

  get isOurs(): boolean {
    return this.#sequence > 0;
  }

  /** Whoever comes first when the server has forgotten it takes it. */
  giveUp(): void {
    this.#sequence = 0;
  }

  /** Makes it ours again, or for the first time where nobody has it. @throws SwarmError 'nats-unavailable' */
  async renew(): Promise<void> {
    const expected = this.#sequence;
    this.#sequence = 0;
    const headers = {
      'Nats-TTL': `${Math.round(this.#ttlMs / 1_000)}s`,
      'Nats-Expected-Last-Subject-Sequence': String(expected),
    };
    const { client, subject } = this.#options;
    const answer = readJson(
      (await client.request(subject, Buffer.from('{"v":1}', 'utf8'), { headers })).data,
    );
    if (faultIn(answer) === undefined) this.#sequence = storedSchema.safeParse(answer).data?.seq ?? 0;
    // It was forgotten, or somebody else has it by now.
    else if (expected > 0) await this.renew();
  }
}
