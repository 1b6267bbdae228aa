import { createRuntime } from 'swarmwright';
import { onTestFinished } from 'vitest';
import type { EventLog } from '../../src/inspect/event-log.ts';
import { createMoveRing } from '../../src/inspect/move-ring.ts';
import { resolvePageOptions } from '../../src/inspect/page-options.ts';
import { servePage } from '../../src/inspect/page-server.ts';
import type { InspectedRequest, InspectedRuntime } from '../../src/lifecycle/inspector.ts';
import { TOKEN } from './shown-run.ts';

/** Serves a page over facts that are not of a runtime of ours, as one over a bus does; closed with the test. */
export async function serveLog(log: EventLog, waiting: readonly InspectedRequest[] = []): Promise<string> {
  const watched = Promise.withResolvers<InspectedRuntime>();
  const runtime = createRuntime({ inspect: { observe: () => undefined, watch: watched.resolve } });
  onTestFinished(() => runtime.close());
  const { decide, steer, cancel, clock } = await watched.promise;
  const server = await servePage({
    settings: resolvePageOptions({ token: TOKEN, content: true }),
    runtime: { clock, decide, steer, cancel, pending: async () => waiting },
    facts: async () => log,
    ring: createMoveRing(1),
    live: () => [],
  });
  onTestFinished(() => server.close());
  return `${server.url}#token=${TOKEN}`;
}
