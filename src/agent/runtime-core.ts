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
import { delegationTools } from './delegations.ts';
import { followHandoff, openBeyond } from './handoff-chain.ts';
import { checkedHooks, checkOptions } from './option-checks.ts';
import { PoolDesk } from './pool-desk.ts';
import type { OtherDefinition, RuntimeOptions } from './runtime-options.ts';
import type { SessionActor } from './session-actor.ts';
import { createSessionRegistry, type SessionRegistry } from './session-registry.ts';

/** What a registry holds. */
export type AnyDefinition = AnyAgent | OtherDefinition;

const CLOSED = 'the runtime was closed; the turn is open in the ledger and can be resumed';

/** What one runtime owns in this process, and the order in which it gives it back. */
export class RuntimeCore {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly limits: Limits;
  /** The registry: agents, graphs and swarms by name. */
  readonly definitions: ReadonlyMap<string, AnyDefinition>;
  readonly agents: ReadonlyMap<string, AnyAgent>;
  readonly hookRunner: HookRunner;
  readonly lifecycle: LifecycleHost;
  readonly registry: SessionRegistry;
  readonly sources: OpenSources;
  /** Where runs are given to, if they are. */
  readonly pool: PoolDesk | undefined;
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
    this.definitions = registryOf(options.agents ?? {});
    this.agents = agentsOf(this.definitions);
    this.hookRunner = createHookRunner({ clock: this.clock, timeouts: this.limits.timeouts });
    this.lifecycle = this.#createLifecycle();
    this.sources = createOpenSources(this.clock);
    this.pool =
      options.pool === undefined
        ? undefined
        : new PoolDesk(options.pool, { clock: this.clock, mailbox: this.limits.mailbox });
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
      pool: this.pool,
      registry: this.registry,
      ways: { followHandoff, openBeyond, toolsOf: delegationTools },
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
    // What was committed is to arrive even where no turn is waited for; what cannot is there the next time.
    await outbox?.close({ drainMs: Math.max(drainMs, this.limits.events.drainMs) });
    await this.#options.pool?.close();
    await ledger?.close();
  }

  /** Lets turns finish for a while, then leaves those that did not open in the ledger. */
  async #drain(drainMs: number): Promise<void> {
    const idle = () => Promise.all(this.registry.all().map((actor) => actor.settled()));
    const early = new AbortController();
    if (drainMs > 0) await Promise.race([idle(), sleep(this.clock, drainMs, early.signal)]);
    early.abort();
    for (const actor of this.registry.all()) actor.detach(CLOSED);
    // A turn that hands over, or asks, as it is told to leave leaves another session at work.
    for (let busy = this.#busy(); busy.length > 0; busy = this.#busy()) {
      for (const actor of busy) actor.detach(CLOSED);
      await idle();
    }
  }

  #busy(): readonly SessionActor[] {
    return this.registry.all().filter((actor) => actor.isBusy);
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
    this.#openOutbox = createOutbox({ ledger, sinks, clock: this.clock, limits: this.limits.events });
    return this.#openOutbox;
  }
}

/** @throws SwarmError 'invalid-definition' for an entry that is no definition or has another name */
function registryOf(given: NonNullable<RuntimeOptions['agents']>): ReadonlyMap<string, AnyDefinition> {
  for (const [name, one] of Object.entries(given)) {
    if (!isAgent(one) && one?.kind !== 'graph' && one?.kind !== 'swarm') {
      throw new SwarmError('invalid-definition', `agents.${name} is no agent, graph or swarm`);
    }
    if (one.name !== name) {
      throw new SwarmError('invalid-definition', `agents.${name} is the ${one.kind} ${one.name}`);
    }
  }
  return new Map(Object.entries(given));
}

function agentsOf(definitions: ReadonlyMap<string, AnyDefinition>): ReadonlyMap<string, AnyAgent> {
  const agents = new Map<string, AnyAgent>();
  for (const one of definitions.values()) if (isAgent(one)) agents.set(one.name, one);
  // Sessions of agents that work in a graph are decided on by name as well.
  for (const one of definitions.values()) {
    const { supervisor } = isAgent(one) ? {} : one;
    for (const agent of isAgent(one)
      ? []
      : [...one.agents, ...(supervisor === undefined ? [] : [supervisor])]) {
      if (!agents.has(agent.name)) agents.set(agent.name, agent);
    }
  }
  return agents;
}
