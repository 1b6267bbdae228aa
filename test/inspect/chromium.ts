import type { BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, describe, onTestFinished } from 'vitest';
import { type Browser, browserPath, launchBrowser, type Page } from '../support/browser.ts';

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
  if (browserPath === undefined && process.env['CI'] !== 'true') {
    console.warn(`\n*** No Chromium: set CHROMIUM_PATH or install it. Skipped: ${title} ***\n`);
  }
  describe.skipIf(browserPath === undefined && process.env['CI'] !== 'true')(
    title,
    { timeout: 120_000 },
    () => {
      let browser: Browser | undefined;
      beforeAll(async () => {
        if (browserPath === undefined) throw new Error('CI needs Chromium; set CHROMIUM_PATH');
        browser = await launchBrowser(browserPath);
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
    },
  );
}
