import type { BurstCost, BurstKind } from './page-burst-child.ts';
import { startShown } from './page-process.ts';
import { type Row, row } from './page-rows.ts';
import { costOfTurns, TURN_PLAN } from './page-turns.ts';
import {
  attachReader,
  attachStalled,
  type Browser,
  openBrowser,
  openTab,
  picturesPerSecond,
} from './page-viewers.ts';
import { median, rounded } from './statistics.ts';
import { versionsOf } from './versions.ts';

const BURST = 50_000;
const ACTORS = 1_000;
/** Each actor does something about as often. */
const ACTOR_EVERY_MS = 10_000;
const OPENINGS = 5;
const PICTURES_MS = 10_000;

const MAX_DELAY_MS = 50;
const MAX_HELD_MB = 16;
const MAX_READY_MS = 1_000;
const MIN_PICTURES = 10;

type Viewer = 'nobody' | 'reader' | 'stalled';

async function burst(kind: BurstKind, viewer: Viewer): Promise<BurstCost & { readonly dropped: number }> {
  await using shown = await startShown<BurstKind, BurstCost>('page-burst-child.ts', String(BURST));
  if (viewer === 'reader') {
    await using reader = await attachReader(shown.url);
    const cost = await shown.measure(kind, () => reader.until(kind, BURST));
    return { ...cost, dropped: reader.seen.dropped };
  }
  await using _ = viewer === 'stalled' ? await attachStalled(shown.url) : undefined;
  return { ...(await shown.measure(kind)), dropped: 0 };
}

async function costOfBurst(kind: BurstKind, words: string): Promise<readonly Row[]> {
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

async function openings(url: string, browser: NonNullable<Browser>): Promise<readonly number[]> {
  const readyMs: number[] = [];
  for (let at = 0; at < OPENINGS; at++) {
    const opened = await openTab(browser, url);
    readyMs.push(opened.readyMs);
    await opened.tab.close();
  }
  return readyMs;
}

async function inBrowser(browser: Browser): Promise<readonly Row[]> {
  if (browser === undefined) return [row('in a browser', 'no Chromium; name it by CHROMIUM_PATH')];
  await using shown = await startShown<'start', object>(
    'page-actors-child.ts',
    String(ACTORS),
    String(ACTOR_EVERY_MS),
  );
  const [first = Number.NaN, ...later] = await openings(shown.url, browser);
  const { tab } = await openTab(browser, shown.url);
  let pictures = { changed: 0, possible: 0 };
  await shown.measure('start', async () => {
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
      json: { versions: { ...versionsOf([]), chromium: browser?.version() }, ...TURN_PLAN, measured },
      failed: measured
        .filter(({ isMet }) => !isMet)
        .map(({ what, value, gate }) => `${what}: ${value} (${gate})`),
    };
  } finally {
    await browser?.close();
  }
}
