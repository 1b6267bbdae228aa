import type { MachineSet } from '../../machines/machine-kind.ts';
import type { InspectedRuntime, Inspector } from '../lifecycle/inspector.ts';
import type { InstanceSnapshot } from '../lifecycle/registry.ts';
import { PAGE_LIMITS } from '../limits.ts';
import { ledgerFacts } from './fact-source.ts';
import { createMoveRing } from './move-ring.ts';
import { type PageOptions, resolvePageOptions } from './page-options.ts';
import { type PageServer, servePage } from './page-server.ts';

/** A page that shows one runtime. */
export interface PageInspector extends Inspector {
  /**
   * Where the page is, with the token in its fragment. Settles once the runtime exists.
   * Rejects with SwarmError 'invalid-inspector' where the address cannot be listened on; the runtime goes on. Where
   * nobody has asked for it by then, Node emits a warning with that code.
   */
  readonly url: Promise<string>;
  close(): Promise<void>;
}

/**
 * Shows a runtime in a page of this machine, without the internet: its agents, turns, steps and calls as they go, the
 * statechart of each, what its tools were, what waits for a person, and any earlier moment. Nothing of a turn waits
 * for it, and it keeps no process alive.
 *
 * @throws SwarmError 'invalid-inspector' for a wrong option
 * @example
 * const inspector = page({ token: randomUUID() });
 * await using runtime = createRuntime({ inspect: inspector });
 * console.log(await inspector.url);
 */
export function page(options: PageOptions = {}): PageInspector {
  const settings = resolvePageOptions(options);
  const ring = createMoveRing(PAGE_LIMITS.moves);
  const url = Promise.withResolvers<string>();
  // Who never asks for the address is told of a fault by a warning, not by a crash.
  url.promise.catch(() => undefined);
  let isAsked = false;
  let live: () => readonly InstanceSnapshot[] = () => [];
  let machines: MachineSet | undefined;
  let serving: Promise<PageServer | undefined> | undefined;

  const serve = async (runtime: InspectedRuntime): Promise<PageServer | undefined> => {
    try {
      const { content, redactor } = settings;
      const options = { content, machines, ...(redactor === undefined ? {} : { redactor }) };
      const source = runtime.ledger.then((ledger) => ledgerFacts(ledger, options));
      // A ledger that could not be opened is told to whoever looks.
      source.catch(() => undefined);
      const server = await servePage({ settings, runtime, facts: () => source, ring, live });
      const fragment = settings.token === undefined ? '' : `#token=${encodeURIComponent(settings.token)}`;
      url.resolve(`${server.url}${fragment}`);
      return server;
    } catch (error) {
      url.reject(error);
      if (!isAsked) warn(error);
      return undefined;
    }
  };

  return {
    get url() {
      isAsked = true;
      return url.promise;
    },
    attach(instances, running) {
      live = instances;
      machines = running;
    },
    watch(runtime) {
      serving ??= serve(runtime);
    },
    observe: (record) => ring.push(record),
    async close() {
      const server = await serving;
      await server?.close();
    },
  };
}

/** A run is not stopped by what only looks at it; whoever waits for a page in vain should know why. */
function warn(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  process.emitWarning(message, { type: 'SwarmwrightWarning', code: 'invalid-inspector' });
}
