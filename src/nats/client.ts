import {
  type Authenticator,
  type ConnectionOptions,
  connect,
  headers as createHeaders,
  createInbox,
  credsAuthenticator,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  nkeyAuthenticator,
  type Subscription,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from '@nats-io/transport-node';
import { type Clock, sleep, systemClock } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import { createRedactor, type Redactor } from '../events/redaction.ts';
import { NATS_LIMITS } from '../limits.ts';
import {
  type NatsAuth,
  type NatsOptions,
  type ResolvedNatsOptions,
  resolveNatsOptions,
  secretsOf,
} from './connection-options.ts';
import { messageOf, natsError } from './nats-error.ts';

/** How a connection is. */
export interface NatsClientState {
  readonly type: 'connecting' | 'connected' | 'down' | 'closed';
  /** What is wrong, without secrets. A refused permission shows here while connected. */
  readonly message?: string;
}

/** What the server says of itself. */
export interface NatsServerFacts {
  readonly version: string;
  /** Level of its JetStream API; 0 for a server that has none to tell. */
  readonly apiLevel: number;
  /** Bytes of a message with its headers. */
  readonly maxPayload: number;
}

/** Headers of a message, one value each. */
export type NatsHeaders = Readonly<Record<string, string>>;

/** A message that arrived. */
export interface NatsMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  header(name: string): string | undefined;
  /** Code of a status message of the server, 0 for none. */
  readonly status: number;
  /** Answers it; false where nobody waits for an answer or the connection is gone. */
  respond(payload: Uint8Array): boolean;
  /** Subject that an answer goes to. */
  readonly reply: string | undefined;
}

/** Something that listens until it is closed, over reconnects too. */
export interface NatsSubscription {
  close(): void;
  /** Closes it, and resolves when all is heard that the server sent before that, for a bounded time. Never rejects. */
  drain(): Promise<void>;
}

interface Listening {
  readonly subject: string;
  readonly take: (message: NatsMessage) => void;
  readonly group: string | undefined;
  live: Subscription | undefined;
}

/**
 * One connection. It starts at once and goes on for ever: nothing waits for the server, and nothing is sent while it
 * is away, as the client would keep all of that in memory and throw it away when it is back.
 */
export class NatsClient implements AsyncDisposable {
  readonly #options: ResolvedNatsOptions;
  readonly #clock: Clock;
  readonly #redactor: Redactor;
  readonly #closed = new AbortController();
  readonly #watchers = new Set<() => void>();
  readonly #listening = new Set<Listening>();
  #connection: NatsConnection | undefined;
  #state: NatsClientState = { type: 'connecting' };
  /** Aborts when what is under way on the connection is lost. */
  #life = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: NatsOptions | string, clock: Clock = systemClock) {
    this.#options = resolveNatsOptions(options);
    this.#clock = clock;
    this.#redactor = createRedactor({ secrets: secretsOf(this.#options.auth) });
    this.#running = this.#run();
  }

  get state(): NatsClientState {
    return this.#state;
  }

  /** Servers without secrets, for a log. */
  get address(): string {
    return this.#options.servers.join(',');
  }

  /** Undefined while it is not connected. */
  get server(): NatsServerFacts | undefined {
    const info = this.#state.type === 'connected' ? this.#connection?.info : undefined;
    if (info === undefined) return undefined;
    return { version: info.version, apiLevel: info.api_lvl ?? 0, maxPayload: info.max_payload };
  }

  /** Calls back at every change of state until the result is called. */
  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => void this.#watchers.delete(changed);
  }

  /**
   * Resolves once it is connected.
   * @throws SwarmError 'nats-unavailable' when the signal aborts or the client is closed first
   */
  async connected(signal: AbortSignal): Promise<void> {
    while (this.#state.type !== 'connected') {
      if (signal.aborted || this.#state.type === 'closed') throw this.#unavailable();
      await new Promise<void>((resolve) => {
        const done = () => {
          forget();
          signal.removeEventListener('abort', done);
          resolve();
        };
        const forget = this.watch(done);
        signal.addEventListener('abort', done, { once: true });
      });
    }
  }

  /** Aborts when the connection of this moment is lost. */
  get life(): AbortSignal {
    return this.#life.signal;
  }

  /**
   * The connection of the client library.
   * @throws SwarmError 'nats-unavailable' while there is none
   */
  live(): NatsConnection {
    if (this.#state.type !== 'connected' || this.#connection === undefined) throw this.#unavailable();
    return this.#connection;
  }

  /** A subject for answers that nobody else uses. */
  inbox(): string {
    return createInbox(this.#options.inboxPrefix);
  }

  /** @throws SwarmError 'nats-unavailable' while it is not connected, 'nats-rejected' for a message over the server's bound */
  publish(
    subject: string,
    payload: Uint8Array,
    options: { headers?: NatsHeaders; reply?: string } = {},
  ): void {
    const { headers, reply } = options;
    try {
      this.live().publish(subject, payload, {
        ...(headers === undefined ? {} : { headers: headersOf(headers) }),
        ...(reply === undefined ? {} : { reply }),
      });
    } catch (error) {
      throw natsError(error, `publishing on ${subject}`);
    }
  }

  /**
   * The first answer to a message.
   * @throws SwarmError 'nats-unavailable' without an answer in time, 'nats-rejected'
   */
  async request(
    subject: string,
    payload: Uint8Array,
    options: {
      readonly timeoutMs?: number;
      readonly signal?: AbortSignal;
      readonly headers?: NatsHeaders;
    } = {},
  ): Promise<NatsMessage> {
    const { timeoutMs = NATS_LIMITS.requestMs, signal, headers } = options;
    const gone = Promise.withResolvers<never>();
    const life = this.life;
    const onGone = () => gone.reject(this.#unavailable());
    life.addEventListener('abort', onGone, { once: true });
    signal?.addEventListener('abort', onGone, { once: true });
    try {
      const answer = this.live().request(subject, payload, {
        timeout: timeoutMs,
        ...(headers === undefined ? {} : { headers: headersOf(headers) }),
      });
      answer.catch(() => undefined);
      return messageFrom(await Promise.race([answer, gone.promise]));
    } catch (error) {
      throw natsError(error, `asking ${subject}`);
    } finally {
      life.removeEventListener('abort', onGone);
      signal?.removeEventListener('abort', onGone);
    }
  }

  /** Listens from now on, also while it is not connected: what is published meanwhile is not heard. */
  subscribe(subject: string, take: (message: NatsMessage) => void, group?: string): NatsSubscription {
    const listening: Listening = { subject, take, group, live: undefined };
    this.#listening.add(listening);
    if (this.#connection !== undefined) this.#listen(this.#connection, listening);
    return {
      close: () => {
        this.#listening.delete(listening);
        listening.live?.unsubscribe();
      },
      drain: () => {
        this.#listening.delete(listening);
        return this.#drained(listening.live?.drain());
      },
    };
  }

  /** Resolves when the server has taken all that was published before. @throws SwarmError 'nats-unavailable' */
  async flush(): Promise<void> {
    try {
      await this.live().flush();
    } catch (error) {
      throw natsError(error, 'flushing');
    }
  }

  /** Sends what it holds, for a bounded time, and ends. Idempotent; never rejects. */
  async close(): Promise<void> {
    if (!this.#closed.signal.aborted) {
      const connection = this.#connection;
      const canDrain = this.#state.type === 'connected' && connection !== undefined;
      this.#closed.abort();
      await this.#drained(canDrain ? connection.drain() : undefined);
      await connection?.close().catch(() => undefined);
      this.#change({ type: 'closed' });
    }
    await this.#running;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #drained(end: Promise<void> | undefined): Promise<void> {
    const timeUp = new AbortController();
    // A server that stands still would be waited for for ever.
    await Promise.race([end?.catch(() => undefined), sleep(this.#clock, NATS_LIMITS.drainMs, timeUp.signal)]);
    timeUp.abort();
  }

  async #run(): Promise<void> {
    for (let tries = 0; !this.#closed.signal.aborted; tries += 1) {
      try {
        const connection = await connect(connectOptions(this.#options));
        if (this.#closed.signal.aborted) return await connection.close();
        tries = 0;
        this.#attach(connection);
        await this.#follow(connection);
        this.#connection = undefined;
      } catch (error) {
        this.#change({ type: 'down', message: messageOf(error) });
      }
      const longest = Math.min(NATS_LIMITS.maxReconnectMs, NATS_LIMITS.reconnectMs * 2 ** tries);
      await sleep(this.#clock, longest * (0.75 + Math.random() / 4), this.#closed.signal);
    }
  }

  #attach(connection: NatsConnection): void {
    this.#connection = connection;
    for (const listening of this.#listening) this.#listen(connection, listening);
    this.#change({ type: 'connected' });
  }

  /** Watches a connection to its end. */
  async #follow(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status()) {
      switch (status.type) {
        case 'disconnect':
          this.#change({ type: 'down', message: 'the connection was lost' });
          break;
        case 'reconnect':
          this.#change({ type: 'connected' });
          break;
        case 'error':
          // A refused publish is told here and nowhere else.
          this.#change({ ...this.#state, message: messageOf(status.error) });
          break;
        default:
      }
    }
    const end = await connection.closed();
    if (end instanceof Error) this.#change({ type: 'down', message: messageOf(end) });
  }

  #listen(connection: NatsConnection, listening: Listening): void {
    const { subject, group } = listening;
    listening.live = connection.subscribe(subject, {
      ...(group === undefined ? {} : { queue: group }),
      callback: (error, message) => {
        if (error === null) listening.take(messageFrom(message));
        else this.#change({ ...this.#state, message: messageOf(error) });
      },
    });
  }

  #change(state: NatsClientState): void {
    if (this.#state.type === 'closed') return;
    const wasConnected = this.#state.type === 'connected';
    const { message } = state;
    this.#state = message === undefined ? state : { ...state, message: this.#redactor.text(message) };
    if (wasConnected && state.type !== 'connected') {
      const ended = this.#life;
      // Whoever hears of the end can wait for that of the next one.
      this.#life = new AbortController();
      ended.abort();
    }
    for (const changed of [...this.#watchers]) changed();
  }

  #unavailable(): SwarmError {
    const { type, message } = this.#state;
    const why = message === undefined ? '' : `: ${message}`;
    return new SwarmError('nats-unavailable', `the NATS connection to ${this.address} is ${type}${why}`);
  }
}

/**
 * Opens a connection to NATS. Returns at once and goes on trying for ever; nothing waits for it but what says so.
 * @throws SwarmError 'invalid-definition', 'nats-insecure'
 */
export function connectNats(options: NatsOptions | string = {}): NatsClient {
  return new NatsClient(options);
}

function connectOptions(options: ResolvedNatsOptions): ConnectionOptions {
  const { servers, auth, tls, name, inboxPrefix } = options;
  return {
    servers: [...servers],
    name,
    inboxPrefix,
    timeout: NATS_LIMITS.connectMs,
    maxReconnectAttempts: -1,
    reconnectTimeWait: NATS_LIMITS.reconnectMs,
    reconnectJitter: NATS_LIMITS.reconnectMs,
    pingInterval: NATS_LIMITS.pingMs,
    maxPingOut: 2,
    waitOnFirstConnect: false,
    // A stack for each request, in case it fails, is a twentieth of the work of a turn; errors of ours have one.
    noAsyncTraces: true,
    // A password that is being changed on the server is no reason to give up.
    ignoreAuthErrorAbort: true,
    ...(auth === undefined ? {} : { authenticator: authenticatorOf(auth) }),
    ...(tls === undefined ? {} : { tls }),
  };
}

function authenticatorOf(auth: NatsAuth): Authenticator {
  if ('token' in auth) return tokenAuthenticator(auth.token);
  if ('password' in auth) return usernamePasswordAuthenticator(auth.user, auth.password);
  const encode = (text: string) => new TextEncoder().encode(text);
  return 'nkeySeed' in auth
    ? nkeyAuthenticator(encode(auth.nkeySeed))
    : credsAuthenticator(encode(auth.credentials));
}

function headersOf(headers: NatsHeaders): MsgHdrs {
  const set = createHeaders();
  for (const [name, value] of Object.entries(headers)) set.set(name, value);
  return set;
}

function messageFrom(message: Msg): NatsMessage {
  return {
    subject: message.subject,
    data: message.data,
    header: (name) => (message.headers?.has(name) === true ? message.headers.get(name) : undefined),
    status: message.headers?.code ?? 0,
    respond: (payload) => respondTo(message, payload),
    reply: message.reply,
  };
}

function respondTo(message: Msg, payload: Uint8Array): boolean {
  try {
    return message.respond(payload);
  } catch {
    return false;
  }
}
