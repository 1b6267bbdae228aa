import { type ShownProcess, startShown } from './page-process.ts';
import { type Row, row, shareRow } from './page-rows.ts';
import type { Exposure, ShownTurnCost } from './page-turn-child.ts';
import { attachReader, type Browser, openTab } from './page-viewers.ts';
import { startServer } from './processes.ts';
import { median, rounded } from './statistics.ts';

const ROUNDS = 24;
const TURNS = 8;

const MAX_ATTACHED = 1.1;
const MAX_UNWATCHED = 1.05;

type TurnProcess = ShownProcess<Exposure, ShownTurnCost>;

/** How much is measured. */
export const TURN_PLAN = { rounds: ROUNDS, turns: TURNS };

async function startTurns(): Promise<TurnProcess & { readonly server: AsyncDisposable }> {
  const server = await startServer();
  const shown = await startShown<Exposure, ShownTurnCost>(
    'page-turn-child.ts',
    server.baseURL,
    String(TURNS),
  );
  return {
    ...shown,
    server,
    async [Symbol.asyncDispose]() {
      await shown[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/**
 * Each of `plans` once in every round, first as often as the others: what one leaves behind is paid by the next. Costs
 * stand in the order of the plans.
 */
async function inRounds<Plan, Cost>(
  plans: readonly Plan[],
  measure: (plan: Plan) => Promise<Cost>,
): Promise<readonly (readonly Cost[])[]> {
  const rounds: Cost[][] = [];
  for (const plan of plans) await measure(plan);
  for (let round = 0; round < ROUNDS; round++) {
    const costs: Cost[] = [];
    for (let step = 0; step < plans.length; step++) {
      const at = (step + round) % plans.length;
      // The place is one of the list.
      costs[at] = await measure(plans[at] as Plan);
    }
    rounds.push(costs);
  }
  return rounds;
}

const EXPOSURES = ['none', 'unwatched', 'watched'] as const;

/** CPU of a turn, by how it can be seen, while so many readers are at the page. */
async function besideReaders(readers: number) {
  await using shown = await startTurns();
  await using attached = new AsyncDisposableStack();
  for (let at = 0; at < readers; at++) attached.use(await attachReader(shown.url));
  const rounds = await inRounds(EXPOSURES, async (exposure) => (await shown.measure(exposure)).cpuMs);
  return {
    noneMs: median(rounds.map(([none = Number.NaN]) => none)),
    unwatched: median(rounds.map(([none = Number.NaN, unwatched = Number.NaN]) => unwatched / none)),
    watched: median(rounds.map(([none = Number.NaN, , watched = Number.NaN]) => watched / none)),
  };
}

/** How the turns of two processes can be seen that are at work at the same time. */
const PAIRS = [
  ['none', 'none'],
  ['none', 'watched'],
  ['watched', 'none'],
] as const;

/**
 * A browser that draws slows whatever runs on the same cores. So two processes do the same turns at the same time, and
 * it shows now the one and now the other: what the one that is shown takes above the one beside it is what being shown
 * costs. The mean of both ways round takes out what one process is slower than the other.
 */
async function besideBrowser(browser: NonNullable<Browser>) {
  await using left = await startTurns();
  await using right = await startTurns();
  for (const { url } of [left, right]) await openTab(browser, url);
  const rounds = await inRounds(PAIRS, async ([one, other]) => {
    const costs = await Promise.all([left.measure(one), right.measure(other)]);
    return costs.map(({ cpuMs }) => cpuMs);
  });
  const costs = rounds.map(([unseen = [], rightShown = [], leftShown = []]) => ({
    unseen: meanOf(unseen[0], unseen[1]),
    beside: meanOf(rightShown[0], leftShown[1]),
    shown: meanOf(leftShown[0], rightShown[1]),
  }));
  return {
    raw: median(costs.map(({ shown, unseen }) => shown / unseen)),
    disturbed: median(costs.map(({ beside, unseen }) => beside / unseen)),
    shown: median(costs.map(({ shown, beside }) => shown / beside)),
  };
}

/** The mean of what is compared by ratios. */
function meanOf(one = Number.NaN, other = Number.NaN): number {
  return Math.sqrt(one * other);
}

/** CPU of turns by how they are looked at, each as a share of that of turns that have no page. */
export async function costOfTurns(browser: Browser): Promise<readonly Row[]> {
  const one = await besideReaders(1);
  const three = await besideReaders(3);
  const rows = [
    row('CPU of a turn without a page', `${rounded(one.noneMs)} ms`),
    shareRow('... with one nobody looks at', one.unwatched, MAX_UNWATCHED),
    shareRow('... with one reader', one.watched, MAX_ATTACHED),
    shareRow('... with three readers', three.watched, MAX_ATTACHED),
  ];
  if (browser === undefined) return rows;
  const seen = await besideBrowser(browser);
  return [
    ...rows,
    shareRow('... shown by Chromium, over one that it does not show', seen.shown, MAX_ATTACHED),
    shareRow('... not shown, while Chromium shows another on these cores', seen.disturbed),
    shareRow('... shown by Chromium, over one without Chromium at work', seen.raw),
  ];
}
