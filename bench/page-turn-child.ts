import { setTimeout as pause } from 'node:timers/promises';
import { page } from '../src/inspect/page.ts';
import { checkedTurn, swarmwright } from './contenders.ts';
import { showAndMeasure } from './page-process.ts';

// Three runtimes in one process, which is told whose turns come next: what slows the process slows all of them.

/** How the turns of a runtime can be seen: it has no page, one at which nobody looks, or the one at the address. */
export type Exposure = 'none' | 'unwatched' | 'watched';

/** What a turn took, in milliseconds of CPU of the whole process. */
export interface ShownTurnCost {
  readonly cpuMs: number;
}

const [baseURL = '', turns = '1'] = process.argv.slice(2);
/** Long enough for viewers to be sent all there is. */
const SETTLE_MS = 200;

const [unwatchedPage, watchedPage] = [page(), page()];
const runtimes = {
  none: await swarmwright(baseURL),
  unwatched: await swarmwright(baseURL, { inspect: unwatchedPage }),
  watched: await swarmwright(baseURL, { inspect: watchedPage }),
};

showAndMeasure(await watchedPage.url, async (exposure: Exposure): Promise<ShownTurnCost> => {
  globalThis.gc?.();
  const before = process.cpuUsage();
  for (let turn = 0; turn < Number(turns); turn++) await checkedTurn(runtimes[exposure]);
  await pause(SETTLE_MS);
  const { user, system } = process.cpuUsage(before);
  return { cpuMs: (user + system) / 1_000 / Number(turns) };
});
