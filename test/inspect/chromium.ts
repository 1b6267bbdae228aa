import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, onTestFinished } from 'vitest';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

const path = [process.env['CHROMIUM_PATH'] ?? '', ...PLACES].find(
  (place) => place !== '' && existsSync(place),
);

/** The browser talks to loopback alone: nothing of it may ask the net for anything. */
const ARGUMENTS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

/** Time one thing on the page may take, on a machine that is busy with others. */
export const PATIENCE_MS = 20_000;

/** One browser for the tests of a file. */
export interface TestBrowser {
  /** A tab of its own in a context of its own, closed with the test; what the page throws fails it. */
  open(url: string, options?: BrowserContextOptions): Promise<Page>;
}

/**
 * Tests that need a real browser, which is closed at their end. Without one they are skipped and say so; where `CI` is
 * set they fail.
 */
export function describeInBrowser(title: string, tests: (browser: TestBrowser) => void): void {
  if (path === undefined && process.env['CI'] !== 'true') {
    console.warn(`\n*** No Chromium: set CHROMIUM_PATH or install it. Skipped: ${title} ***\n`);
  }
  describe.skipIf(path === undefined && process.env['CI'] !== 'true')(title, { timeout: 120_000 }, () => {
    let browser: Browser | undefined;
    beforeAll(async () => {
      if (path === undefined) throw new Error('CI needs Chromium; set CHROMIUM_PATH');
      browser = await chromium.launch({ executablePath: path, args: ARGUMENTS });
    }, 120_000);
    afterAll(() => browser?.close());
    tests({
      async open(url, options) {
        if (browser === undefined) throw new Error('the browser did not start');
        const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
        context.setDefaultTimeout(PATIENCE_MS);
        onTestFinished(() => context.close());
        const page = await context.newPage();
        const faults: string[] = [];
        page.on('pageerror', (error) => faults.push(error.message));
        onTestFinished(() => {
          if (faults.length > 0) throw new Error(`the page threw: ${faults.join('; ')}`);
        });
        await page.goto(url);
        return page;
      },
    });
  });
}
