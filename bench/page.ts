import { loadavg } from 'node:os';
import type { BurstCost } from './page-burst-child.ts';
import { type ShownProcess, startShown } from './page-process.ts';
import type { ShownTurnCost } from './page-turn-child.ts';
import { attachReader, attachStalled, openBrowser, openTab, picturesPerSecond } from './page-viewers.ts';
import { startServer } from './processes.ts';
import { median, rounded } from './statistics.ts';

const ROUNDS = 24;
const TURNS = 8;
const BURST = 50_000;
const ACTORS = 1_000;
/** Each actor does something about as often. */
const ACTOR_EVERY_MS = 10_000;
const OPENINGS = 5;
const PICTURES_MS = 10_000;

const MAX_ATTACHED = 1.1;
const MAX_UNWATCHED = 1.05;
const MAX_DELAY_MS = 50;
const MAX_HELD_MB = 16;
const MAX_READY_MS = 1_000;
const MIN_PICTURES = 10;

type Browser = Awaited<ReturnType<typeof openBrowser>>;

interface Row {
  readonly what: string;
  readonly value: string;
  readonly gate: string;
  readonly isMet: boolean;
  /** Of the machine, over the minute before. */
  readonly load: number;
}

function row(what: string, value: string, gate = '', isMet = true): Row {
  return { what, value, gate, isMet, load: rounded(loadavg()[0] ?? 0, 1) };
}

/** CPU of a turn by how it is looked at, each as a share of that without a page. */
async function turns(attach: (url: string) => Promise<AsyncDisposable>): Promise<ShownTurnCost> {
  await using server = await startServer();
  const args = [server.baseURL, String(ROUNDS), String(TURNS)];
  await using shown = await startShown<ShownTurnCost>('page-turn-child.ts', ...args);
  await using _ = await attach(shown.url);
  return await shown.measure();
}

/** The middle of the ratios within a round. */
function shareOf(cost: ShownTurnCost, name: 'unwatched' | 'watched'): number {
  return median(cost[name].map((cpuMs, round) => cpuMs / (cost.none[round] ?? Number.NaN)));
}

async function attachTab(browser: NonNullable<Browser>, url: string): Promise<AsyncDisposable> {
  const { tab } = await openTab(browser, url);
  return { [Symbol.asyncDispose]: () => tab.close() };
}

async function attachThree(url: string): Promise<AsyncDisposable> {
  const readers = new AsyncDisposableStack();
  for (let at = 0; at < 3; at++) readers.use(await attachReader(url));
  return readers;
}

async function costOfTurns(browser: Browser): Promise<readonly Row[]> {
  const one = await turns(attachReader);
  const unwatched = shareOf(one, 'unwatched');
  const rows = [
    row('CPU of a turn without a page', `${rounded(median(one.none))} ms`),
    row(
      '... with one nobody looks at',
      percent(unwatched),
      `< ${percent(MAX_UNWATCHED)}`,
      unwatched < MAX_UNWATCHED,
    ),
  ];
  rows.push(attachedRow('with one reader', one));
  if (browser !== undefined) {
    rows.push(attachedRow('with Chromium', await turns((url) => attachTab(browser, url))));
  }
  const three = await turns(attachThree);
  return [...rows, row('... with three readers', percent(shareOf(three, 'watched')))];
}

function attachedRow(words: string, cost: ShownTurnCost): Row {
  const share = shareOf(cost, 'watched');
  return row(`... ${words}`, percent(share), `< ${percent(MAX_ATTACHED)}`, share < MAX_ATTACHED);
}

function percent(share: number): string {
  return `${rounded(share * 100, 1)} %`;
}

type Viewer = 'nobody' | 'reader' | 'stalled';

async function burst(
  kind: 'moves' | 'facts',
  viewer: Viewer,
): Promise<BurstCost & { readonly dropped: number }> {
  await using shown = await startShown<BurstCost>('page-burst-child.ts', kind, String(BURST));
  if (viewer === 'reader') {
    await using reader = await attachReader(shown.url);
    const cost = await shown.measure(() => reader.until(kind, BURST));
    return { ...cost, dropped: reader.seen.dropped };
  }
  await using _ = viewer === 'stalled' ? await attachStalled(shown.url) : undefined;
  return { ...(await shown.measure()), dropped: 0 };
}

async function costOfBurst(kind: 'moves' | 'facts', words: string): Promise<readonly Row[]> {
  const alone = await burst(kind, 'nobody');
  const read = await burst(kind, 'reader');
  const stalled = await burst(kind, 'stalled');
  const heldMb = stalled.heldMb - alone.heldMb;
  const delay = ({ p99Ms, maxMs, tookMs }: BurstCost) =>
    `p99 ${rounded(p99Ms, 1)}, most ${rounded(maxMs, 1)} ms, over ${Math.round(tookMs)} ms`;
  const gate = `p99 < ${MAX_DELAY_MS} ms`;
  return [
    row(`delay of the event loop, ${BURST} ${words}, nobody looks`, delay(alone)),
    row('... read along', delay(read), gate, read.p99Ms < MAX_DELAY_MS),
    row('... with a viewer that stopped to read', delay(stalled), gate, stalled.p99Ms < MAX_DELAY_MS),
    row(
      '... memory held for that viewer',
      `${rounded(heldMb, 1)} MB`,
      `< ${MAX_HELD_MB} MB`,
      heldMb < MAX_HELD_MB,
    ),
    row('... dropped for the reader, and told', String(read.dropped)),
  ];
}

async function openings(
  shown: ShownProcess<object>,
  browser: NonNullable<Browser>,
): Promise<readonly number[]> {
  const readyMs: number[] = [];
  for (let at = 0; at < OPENINGS; at++) {
    const opened = await openTab(browser, shown.url);
    readyMs.push(opened.readyMs);
    await opened.tab.close();
  }
  return readyMs;
}

async function inBrowser(browser: Browser): Promise<readonly Row[]> {
  if (browser === undefined) return [row('in a browser', 'no Chromium; name it by CHROMIUM_PATH')];
  await using shown = await startShown<object>(
    'page-actors-child.ts',
    String(ACTORS),
    String(ACTOR_EVERY_MS),
  );
  const [first = Number.NaN, ...later] = await openings(shown, browser);
  const { tab } = await openTab(browser, shown.url);
  let pictures = { changed: 0, possible: 0 };
  await shown.measure(async () => {
    await tab.getByText(`${ACTORS} agents in ${ACTORS} runs`).waitFor({ timeout: 120_000 });
    // The tree draws what is in sight, a few actors of them all; the log changes with each.
    await tab.getByRole('tab', { name: 'Events' }).click();
    pictures = await picturesPerSecond(tab, PICTURES_MS);
  });
  const busy = await openTab(browser, shown.url);
  const gate = `< ${MAX_READY_MS} ms`;
  return [
    row('page ready, first time', `${Math.round(first)} ms`, gate, first < MAX_READY_MS),
    row('page ready, then', `${Math.round(median(later))} ms`, gate, median(later) < MAX_READY_MS),
    row(
      `pictures a second, ${ACTORS} live actors`,
      `${rounded(pictures.changed, 1)} of ${rounded(pictures.possible, 1)}`,
      `>= ${MIN_PICTURES}`,
      pictures.changed >= MIN_PICTURES,
    ),
    row(`page ready beside ${ACTORS} live actors`, `${Math.round(busy.readyMs)} ms`),
  ];
}

/** What looking at a runtime costs it, and how fast the page is. */
export async function run() {
  const browser = await openBrowser();
  try {
    const measured = [
      ...(await costOfTurns(browser)),
      ...(await costOfBurst('moves', 'transitions')),
      ...(await costOfBurst('facts', 'records of a ledger')),
      ...(await inBrowser(browser)),
    ];
    return {
      rows: measured.map(({ isMet: _, ...shown }) => shown),
      json: { rounds: ROUNDS, turns: TURNS, measured },
      failed: measured
        .filter(({ isMet }) => !isMet)
        .map(({ what, value, gate }) => `${what}: ${value} (${gate})`),
    };
  } finally {
    await browser?.close();
  }
}
