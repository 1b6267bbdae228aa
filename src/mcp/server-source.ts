import type { Clock } from '../clock.ts';
import { canonicalJson } from '../ledger/canonical-json.ts';
import type { Tool } from '../tools/tool.ts';
import type { OpenToolSource } from '../tools/tool-source.ts';
import { type Connection, connectServer, type Handshake, type ListedTool } from './connection.ts';
import type { McpFault, ServerSpec } from './server-options.ts';
import { type ServerLink, serverTool } from './server-tool.ts';

/** Lists in one sync: one that changes while it is read is read again, but not for ever. */
const MAX_ROUNDS = 3;

/**
 * One server as a source of tools. It acts only when a turn asks, between two steps: then it is started if it is not
 * running and its pause is over, and listed if its list may have changed. Nothing runs meanwhile, so no server, however
 * often it dies or says that it changed, costs more than one try a step.
 */
export class ServerSource implements OpenToolSource, ServerLink {
  readonly name: string;
  readonly #spec: ServerSpec;
  readonly #clock: Clock;
  readonly #handshake: Handshake = { isLegacy: false };
  #revision = 0;
  #tools: readonly Tool<unknown>[] = [];
  /** Each tool with what it was made of: one that is listed as before stays the same object. */
  #made: ReadonlyMap<string, { readonly from: string; readonly tool: Tool<unknown> | undefined }> = new Map();
  #connection: Connection | undefined;
  #connectedAtMs = 0;
  #isStale = false;
  #failures = 0;
  #retryAtMs = Number.NEGATIVE_INFINITY;
  /** The sync under way: whoever asks meanwhile waits for the same. */
  #syncing: Promise<void> | undefined;
  readonly #closing = new AbortController();

  constructor(name: string, spec: ServerSpec, clock: Clock) {
    this.name = name;
    this.#spec = spec;
    this.#clock = clock;
  }

  get revision(): number {
    return this.#revision;
  }

  get connection(): Connection | undefined {
    return this.#connection;
  }

  tools(): readonly Tool<unknown>[] {
    return this.#tools;
  }

  async settle(): Promise<void> {
    if (this.#closing.signal.aborted || this.#spec.tools?.length === 0) return;
    this.#syncing ??= this.#sync().finally(() => {
      this.#syncing = undefined;
    });
    await this.#syncing;
  }

  lost(connection: Connection): void {
    if (connection !== this.#connection) return;
    this.#connection = undefined;
    if (this.#nowMs() - this.#connectedAtMs >= this.#spec.limits.steadyMs) this.#failures = 0;
    this.#pause();
    this.#offer([]);
    this.#tell('lost', endOf(connection));
    // Over HTTP there is something left to close.
    void connection.close().catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    // A handshake under way is given up, and nothing of it is left.
    await this.#syncing?.catch(() => undefined);
    const connection = this.#connection;
    this.#connection = undefined;
    this.#offer([]);
    await connection?.close();
  }

  async #sync(): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      if (this.#connection !== undefined && !this.#isStale) return;
      if (this.#closing.signal.aborted || this.#nowMs() < this.#retryAtMs) return;
      const connection = this.#connection ?? (await this.#connect());
      if (connection === undefined) return;
      this.#isStale = false;
      await this.#list(connection);
    }
  }

  async #connect(): Promise<Connection | undefined> {
    let connection: Connection | undefined;
    try {
      connection = await connectServer(this.#spec, {
        handshake: this.#handshake,
        signal: this.#closing.signal,
        events: {
          onListChanged: () => {
            this.#isStale = true;
          },
          onLost: () => {
            if (connection !== undefined) this.lost(connection);
          },
        },
      });
    } catch (error) {
      // It is tried again; until then it offers nothing, which is what a turn sees.
      this.#pause();
      this.#tell('not-connected', error);
      return undefined;
    }
    if (!connection.isOpen) {
      this.#pause();
      this.#tell('lost', endOf(connection));
      return undefined;
    }
    this.#connection = connection;
    this.#connectedAtMs = this.#nowMs();
    this.#isStale = true;
    return connection;
  }

  async #list(connection: Connection): Promise<void> {
    let listed: readonly ListedTool[];
    try {
      listed = await connection.list(this.#closing.signal);
    } catch (error) {
      if (connection.faultOf(error) === 'disconnected') this.lost(connection);
      if (connection !== this.#connection) return;
      // It runs and does not tell: what it offered before stands.
      this.#isStale = true;
      this.#pause();
      this.#tell('not-listed', error);
      return;
    }
    if (connection !== this.#connection) return;
    this.#take(listed);
  }

  #take(listed: readonly ListedTool[]): void {
    const { tools: selected, limits } = this.#spec;
    const wanted = selected === undefined ? listed : listed.filter(({ name }) => selected.includes(name));
    const made = new Map<string, { readonly from: string; readonly tool: Tool<unknown> | undefined }>();
    for (const one of wanted.slice(0, limits.maxTools)) {
      // The same name twice: the first one counts.
      if (!made.has(one.name)) made.set(one.name, this.#make(one));
    }
    this.#made = made;
    this.#offer([...made.values()].flatMap(({ tool }) => tool ?? []));
  }

  #make(listed: ListedTool) {
    const before = this.#made.get(listed.name);
    let from = '';
    try {
      from = canonicalJson(listed);
      if (before?.from === from) return before;
      return { from, tool: serverTool(this.#spec, listed, this) };
    } catch (error) {
      // No tool can be made of it: its schema is no bounded plain JSON.
      this.#tell('unusable-tool', error);
      return { from, tool: undefined };
    }
  }

  #offer(tools: readonly Tool<unknown>[]): void {
    const isSame = tools.length === this.#tools.length && tools.every((tool, at) => tool === this.#tools[at]);
    if (isSame) return;
    this.#tools = tools;
    this.#revision += 1;
  }

  #pause(): void {
    const { backoffMs, maxBackoffMs } = this.#spec.limits;
    this.#retryAtMs = this.#nowMs() + Math.min(maxBackoffMs, backoffMs * 2 ** this.#failures);
    this.#failures += 1;
  }

  #tell(type: McpFault['type'], cause: unknown): void {
    const { name, onFault } = this.#spec;
    // That it ends is what was asked for.
    if (this.#closing.signal.aborted) return;
    const message = cause instanceof Error ? cause.message : String(cause);
    try {
      onFault?.({ server: name, type, message, cause });
    } catch {
      // Whoever only looks on changes nothing.
    }
  }

  #nowMs(): number {
    return this.#clock.monotonicMs();
  }
}

function endOf(connection: Connection): string {
  const words = connection.lastWords();
  return `the connection ended${words === '' ? '' : `; it wrote last: ${words}`}`;
}
