import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { type Clock, systemClock } from '../clock.ts';
import { NATS_LIMITS } from '../limits.ts';
import type { NatsClient } from './client.ts';
import { faultIn, readJson, rejection } from './jet-stream-api.ts';
import { OWNER_STREAM } from './ledger-streams.ts';
import type { LedgerSubjects } from './ledger-subjects.ts';
import { createStreamReader, type StreamReader } from './stream-reader.ts';
import { readLastOfEach } from './subject-messages.ts';

/** Signs of life in one lease. */
const BEATS = 6;
/** Share of the lease after which an owner that was not heard lets go by itself, before anybody may take over. */
const SELF_FENCE = 2 / 3;

/** Time a farewell stays; the shortest the server knows. */
const GONE_MS = 1_000;

export interface LedgerOwnerOptions {
  readonly client: NatsClient;
  readonly subjects: LedgerSubjects;
  readonly leaseMs: number;
  /** Called when this owner was not heard of for so long that others may take its sessions. */
  onExpired(): void;
  readonly clock?: Clock;
}

/**
 * What a process is known by while it owns sessions. It gives a sign of life from time to time, which the server
 * forgets after the lease. That others may take over is all that follows from it: who may write is decided by the
 * ledger alone.
 */
export class LedgerOwner {
  /** Process id, host and a random part. */
  readonly token: string;
  readonly #options: LedgerOwnerOptions;
  readonly #clock: Clock;
  readonly #reader: StreamReader;
  /** When the newest sign of life that the server has was sent. */
  #heardAt: number | undefined;
  #beating: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #forget: (() => void) | undefined;
  #isEnded = false;

  constructor(options: LedgerOwnerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#reader = createStreamReader(options.client, OWNER_STREAM);
    const host = hostname().replaceAll(/[^A-Za-z0-9-]/g, '-');
    this.token = `${process.pid}-${randomBytes(8).toString('hex')}-${host}`.slice(0, 64);
  }

  /** Resolves once the server knows that this owner lives. @throws SwarmError 'nats-unavailable', 'nats-rejected' */
  async begin(): Promise<void> {
    const { client, leaseMs } = this.#options;
    if (!this.#isHeard()) await this.#beat();
    if (this.#timer !== undefined || this.#isEnded) return;
    // Timers of the machine: the lease runs in real time on the server.
    this.#timer = setInterval(() => this.#tick(), leaseMs / BEATS);
    this.#timer.unref();
    this.#forget = client.watch(() => {
      if (client.state.type === 'connected') this.#tick();
    });
  }

  /** Whether another owner lives. @throws SwarmError 'nats-unavailable', 'nats-rejected' */
  async isAlive(token: string): Promise<boolean> {
    const sign = await this.#reader.last(this.#options.subjects.owner(token));
    return sign !== undefined && sign.data.byteLength > 0;
  }

  /** All owners that live. @throws SwarmError 'nats-unavailable', 'nats-rejected' */
  async alive(): Promise<ReadonlySet<string>> {
    const { client, subjects } = this.#options;
    const signs = await readLastOfEach(client, OWNER_STREAM, subjects.owners());
    const isAlive = signs.filter((sign) => Number(sign.header('Nats-Msg-Size') ?? 0) > 0);
    const prefix = subjects.owners().length - 1;
    return new Set(isAlive.map(({ subject }) => subject.slice(prefix)));
  }

  /** Tells that it is over, for a bounded time: others need not wait for the lease then. Never rejects. */
  async end(): Promise<void> {
    this.#isEnded = true;
    clearInterval(this.#timer);
    this.#forget?.();
    await this.#beating?.catch(() => undefined);
    if (this.#heardAt !== undefined) await this.#leave().catch(() => undefined);
    this.#reader.close();
  }

  /** A server that is away for a moment is waited for: everybody else would have to wait for the whole lease. */
  async #leave(): Promise<void> {
    const timeUp = new AbortController();
    const timer = this.#clock.setTimeout(() => timeUp.abort(), NATS_LIMITS.drainMs);
    try {
      await this.#options.client.connected(timeUp.signal);
      await this.#tell(new Uint8Array(), GONE_MS);
    } finally {
      this.#clock.clearTimeout(timer);
    }
  }

  #tick(): void {
    const { client, onExpired } = this.#options;
    if (this.#heardAt !== undefined && !this.#isHeard()) {
      this.#heardAt = undefined;
      onExpired();
    }
    // The next one comes soon; what is wrong shows by the lease.
    if (client.state.type === 'connected') this.#beat().catch(() => undefined);
  }

  #isHeard(): boolean {
    const { leaseMs } = this.#options;
    return this.#heardAt !== undefined && this.#clock.monotonicMs() - this.#heardAt < leaseMs * SELF_FENCE;
  }

  #beat(): Promise<void> {
    this.#beating ??= this.#sign().finally(() => {
      this.#beating = undefined;
    });
    return this.#beating;
  }

  async #sign(): Promise<void> {
    const sentAt = this.#clock.monotonicMs();
    const sign = Buffer.from(JSON.stringify({ v: 1, at: this.#clock.now() }), 'utf8');
    await this.#tell(sign, this.#options.leaseMs);
    this.#heardAt = sentAt;
  }

  async #tell(sign: Uint8Array, ttlMs: number): Promise<void> {
    const { client, subjects } = this.#options;
    const headers = { 'Nats-TTL': `${Math.max(1, Math.round(ttlMs / 1_000))}s` };
    const timeoutMs = Math.min(NATS_LIMITS.requestMs, this.#options.leaseMs / 2);
    const answer = await client.request(subjects.owner(this.token), sign, { headers, timeoutMs });
    const fault = faultIn(readJson(answer.data));
    if (fault !== undefined) throw rejection('giving a sign of life', fault);
  }
}
