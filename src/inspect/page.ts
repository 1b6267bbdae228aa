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
   * Rejects with SwarmError 'invalid-inspector' where the address cannot be listened on; the runtime goes on.
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
  // Who never asks for the address is not told of it by a crash.
  url.promise.catch(() => undefined);
  let live: () => readonly InstanceSnapshot[] = () => [];
  let machines: MachineSet | undefined;
  let serving: Promise<PageServer | undefined> | undefined;

  const serve = async (runtime: InspectedRuntime): Promise<PageServer | undefined> => {
    try {
      const { content, redactor } = settings;
      const options = { content, machines, ...(redactor === undefined ? {} : { redactor }) };
      const facts = async () => ledgerFacts(await runtime.ledger, options);
      const server = await servePage({ settings, runtime, facts, ring, live });
      const fragment = settings.token === undefined ? '' : `#token=${encodeURIComponent(settings.token)}`;
      url.resolve(`${server.url}${fragment}`);
      return server;
    } catch (error) {
      url.reject(error);
      return undefined;
    }
  };

  return {
    url: url.promise,
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
