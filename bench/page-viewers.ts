import { once } from 'node:events';
import { connect } from 'node:net';
import { browserPath, type Browser as Chromium, launchBrowser, type Page } from '../test/support/browser.ts';

// Those who look at a page: a reader of its stream, one that stops to read, and a browser.

/** What a reader of a page has been sent. */
export interface Reader extends AsyncDisposable {
  readonly seen: { readonly facts: number; readonly moves: number; readonly dropped: number };
  /** Resolves once it has so many, those that were dropped included. */
  until(kind: 'facts' | 'moves', count: number): Promise<void>;
}

/** Reads the stream of a page as the page does; resolves when it has all that was there before. */
export async function attachReader(url: string): Promise<Reader> {
  const stop = new AbortController();
  const response = await fetch(new URL('/api/stream', url), { signal: stop.signal });
  if (!response.ok || response.body === null) throw new Error(`the page answered ${response.status}`);
  const seen = { facts: 0, moves: 0, dropped: 0 };
  const waiting = new Set<() => void>();
  const ready = Promise.withResolvers<void>();
  const take = (event: string, data: string) => {
    if (event === 'ready') ready.resolve();
    if (event === 'facts') seen.facts += JSON.parse(data).length;
    if (event === 'moves') {
      const { moves, dropped } = JSON.parse(data);
      seen.moves += moves.length;
      seen.dropped += dropped;
    }
    for (const look of waiting) look();
  };
  const reading = readMessages(response.body, take).catch(() => undefined);
  await Promise.race([ready.promise, reading]);
  return {
    seen,
    until(kind, count) {
      return new Promise((resolve) => {
        const look = () => {
          const found = kind === 'facts' ? seen.facts : seen.moves + seen.dropped;
          if (found < count) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      });
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await reading;
    },
  };
}

async function readMessages(
  body: ReadableStream<Uint8Array>,
  take: (event: string, data: string) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body) {
    const blocks = (rest + decoder.decode(bytes, { stream: true })).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) take(fieldOf(block, 'event'), fieldOf(block, 'data'));
  }
}

function fieldOf(block: string, name: string): string {
  const line = block.split('\n').find((one) => one.startsWith(`${name}: `));
  return line?.slice(name.length + 2) ?? '';
}

/** Asks for the stream and takes nothing of it but its beginning. */
export async function attachStalled(url: string): Promise<AsyncDisposable> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.write(`GET /api/stream HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
  await once(socket, 'readable');
  return {
    async [Symbol.asyncDispose]() {
      socket.destroy();
    },
  };
}

/** A browser, or undefined where there is none. */
export type Browser = Chromium | undefined;

/** Starts it where there is one. */
export async function openBrowser(): Promise<Browser> {
  return browserPath === undefined ? undefined : launchBrowser(browserPath);
}

/** Runs in the tab before the page does: notes when the page was ready, and every picture in which it changed. */
const NOTES = `
  window.pictures = 0;
  window.frames = 0;
  window.readyAt = undefined;
  let isChanged = false;
  new MutationObserver(() => {
    isChanged = true;
    if (window.readyAt === undefined && document.body?.dataset.ready) window.readyAt = performance.now();
  }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  const look = () => {
    window.frames += 1;
    if (isChanged) window.pictures += 1;
    isChanged = false;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
`;

/** A tab that shows a page, and how long that took. */
export async function openTab(browser: Chromium, url: string): Promise<{ tab: Page; readyMs: number }> {
  const tab = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await tab.addInitScript(NOTES);
  await tab.goto(url);
  await tab.waitForSelector('body[data-ready]');
  return { tab, readyMs: Number(await tab.evaluate('window.readyAt')) };
}

/** Pictures a second in which the page of a tab changed, and all that the browser could have drawn. */
export async function picturesPerSecond(tab: Page, overMs: number) {
  const count = async () => [Number(await tab.evaluate('pictures')), Number(await tab.evaluate('frames'))];
  const [changed = 0, all = 0] = await count();
  const startedMs = performance.now();
  await tab.waitForTimeout(overMs);
  const [changedThen = 0, allThen = 0] = await count();
  const seconds = (performance.now() - startedMs) / 1_000;
  return { changed: (changedThen - changed) / seconds, possible: (allThen - all) / seconds };
}
