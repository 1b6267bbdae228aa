import { type Clock, sleep, systemClock } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import { createOutbox, type Outbox } from '../events/outbox.ts';
import { type IdSource, randomIds } from '../ids.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { memoryLedger } from '../ledger/memory-ledger.ts';
import { createHookRunner, type HookRunner } from '../lifecycle/hook-runner.ts';
import type { LifecycleHost } from '../lifecycle/lifecycle.ts';
import { createLifecycleHost } from '../lifecycle/lifecycle-host.ts';
import { type Limits, resolveLimits } from '../limits.ts';
import { checkDiscovery } from '../tools/discovery-policy.ts';
import { createOpenSources, type OpenSources } from '../tools/open-sources.ts';
import { type AnyAgent, isAgent } from './define-agent.ts';
import { checkedHooks, checkOptions } from './option-checks.ts';
import type { RuntimeOptions } from './runtime-options.ts';
import { createSessionRegistry, type SessionRegistry } from './session-registry.ts';

/** What one runtime owns in this process, and the order in which it gives it back. */
export class RuntimeCore {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly limits: Limits;
  readonly agents: ReadonlyMap<string, AnyAgent>;
  readonly hookRunner: HookRunner;
  readonly lifecycle: LifecycleHost;
  readonly registry: SessionRegistry;
  readonly sources: OpenSources;
  /** Rejects where the ledger cannot be opened: told to whoever uses the runtime, not to the process. */
  readonly ledger: Promise<Ledger>;
  readonly #options: RuntimeOptions;
  readonly #stopping = new AbortController();
  readonly #outbox: Promise<Outbox | undefined>;
  #openOutbox: Outbox | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: RuntimeOptions) {
    checkOptions('createRuntime', options);
    const hooks = checkedHooks(options.hooks);
    this.#options = options;
    this.clock = options.clock ?? systemClock;
    this.ids = options.ids ?? randomIds;
    this.limits = resolveLimits(options.limits);
    checkDiscovery(options.discovery, 'the runtime');
    this.agents = registryOf(options.agents ?? {});
    this.hookRunner = createHookRunner({ clock: this.clock, timeouts: this.limits.timeouts });
    this.lifecycle = this.#createLifecycle();
    this.sources = createOpenSources(this.clock);
    this.ledger = Promise.resolve(options.ledger ?? memoryLedger({ clock: this.clock, limits: this.limits }));
    this.registry = createSessionRegistry((ledger) => ({
      ledger,
      clock: this.clock,
      ids: this.ids,
      random: options.random ?? Math.random,
      lifecycle: this.lifecycle,
      hookRunner: this.hookRunner,
      hooks,
      permission: options.permission === undefined ? [] : [options.permission],
      discovery: options.discovery,
      capturesRequests: options.captureRequests ?? false,
      limits: this.limits,
      registry: this.registry,
      agents: this.agents,
      sources: this.sources,
      signal: this.#stopping.signal,
    }));
    this.#outbox = this.ledger.then((ledger) => this.#startOutbox(ledger));
    this.#outbox.catch(() => undefined);
  }

  /** Set once the ledger is open and sinks are given. */
  get outbox(): Outbox | undefined {
    return this.#openOutbox;
  }

  /** @throws SwarmError 'runtime-closed' */
  assertOpen(): void {
    if (this.#closing !== undefined) throw new SwarmError('runtime-closed', 'the runtime is closed');
  }

  close(drainMs: number): Promise<void> {
    this.#closing ??= this.#close(drainMs);
    return this.#closing;
  }

  async #close(drainMs: number): Promise<void> {
    const ledger = await this.ledger.catch(() => undefined);
    await this.#drain(drainMs);
    this.#stopping.abort();
    this.lifecycle.stopAll();
    this.hookRunner.close();
    await this.sources.close();
    await this.#options.inspect?.close?.();
    const outbox = await this.#outbox.catch(() => undefined);
    await outbox?.close({ drainMs });
    await ledger?.close();
  }

  /** Lets turns finish for a while, then leaves those that did not open in the ledger. */
  async #drain(drainMs: number): Promise<void> {
    const idle = () => Promise.all(this.registry.all().map((actor) => actor.settled()));
    const early = new AbortController();
    if (drainMs > 0) await Promise.race([idle(), sleep(this.clock, drainMs, early.signal)]);
    early.abort();
    for (const actor of this.registry.all()) {
      actor.detach('the runtime was closed; the turn is open in the ledger and can be resumed');
    }
    await idle();
  }

  #createLifecycle(): LifecycleHost {
    const { machines, inspect } = this.#options;
    const host = createLifecycleHost({
      clock: this.clock,
      ...(machines === undefined ? {} : { machines }),
      wants: (session) => inspect !== undefined || this.registry.hooksOf(session).length > 0,
      observe: (record) => {
        inspect?.observe(record);
        if (record.hook !== undefined) this.hookRunner.observe(this.registry.hooksOf(record.session), record);
      },
    });
    inspect?.attach?.(() => host.registry.snapshot(), host.machines);
    return host;
  }

  #startOutbox(ledger: Ledger): Outbox | undefined {
    const { sinks } = this.#options;
    if (sinks === undefined || sinks.length === 0) return undefined;
    this.#openOutbox = createOutbox({ ledger, sinks, clock: this.clock });
    return this.#openOutbox;
  }
}

/** @throws SwarmError 'invalid-definition' for an entry that is no definition or has another name */
function registryOf(agents: Readonly<Record<string, AnyAgent>>): ReadonlyMap<string, AnyAgent> {
  for (const [name, agent] of Object.entries(agents)) {
    if (!isAgent(agent))
      throw new SwarmError('invalid-definition', `agents.${name} is not made by defineAgent()`);
    if (agent.name !== name)
      throw new SwarmError('invalid-definition', `agents.${name} is the agent ${agent.name}`);
  }
  return new Map(Object.entries(agents));
}
