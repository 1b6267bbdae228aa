import { setTimeout as pause } from 'node:timers/promises';
import { page } from '../src/inspect/page.ts';
import { type Contender, checkedTurn, swarmwright } from './contenders.ts';
import { showAndMeasure } from './page-process.ts';

// Three runtimes in one process, a block of turns of each in every round: what slows the process slows all of them.

/** What a turn cost in each round, in milliseconds of CPU of the whole process. */
export interface ShownTurnCost {
  readonly none: readonly number[];
  /** A page at which nobody looks. */
  readonly unwatched: readonly number[];
  readonly watched: readonly number[];
}

const [baseURL = '', rounds = '1', turns = '1'] = process.argv.slice(2);
/** Long enough for viewers to be sent all there is. */
const SETTLE_MS = 200;

const [unwatchedPage, watchedPage] = [page(), page()];
const none = await swarmwright(baseURL);
const unwatched = await swarmwright(baseURL, { inspect: unwatchedPage });
const watched = await swarmwright(baseURL, { inspect: watchedPage });

async function costOf(runtime: Contender): Promise<number> {
  globalThis.gc?.();
  const before = process.cpuUsage();
  for (let turn = 0; turn < Number(turns); turn++) await checkedTurn(runtime);
  await pause(SETTLE_MS);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / Number(turns);
}

await showAndMeasure(await watchedPage.url, async (): Promise<ShownTurnCost> => {
  for (const runtime of [none, unwatched, watched]) await costOf(runtime);
  const cost = { none: [] as number[], unwatched: [] as number[], watched: [] as number[] };
  for (let round = 0; round < Number(rounds); round++) {
    // Each goes first as often as the others: what the first leaves to be collected is paid by the next.
    const order = [
      ['none', none],
      ['unwatched', unwatched],
      ['watched', watched],
    ] as const;
    for (let at = 0; at < order.length; at++) {
      const [name, runtime] = order[(at + round) % order.length] ?? order[0];
      cost[name].push(await costOf(runtime));
    }
  }
  return cost;
});
