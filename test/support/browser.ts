import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

export type { Browser, Page } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The browser talks to loopback alone: nothing of it may ask the net for anything. */
const ARGUMENTS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

/** Where the browser is: `CHROMIUM_PATH`, else where distributions put it. */
export const browserPath = [process.env['CHROMIUM_PATH'] ?? '', ...PLACES].find(
  (place) => place !== '' && existsSync(place),
);

/** Starts it without a window. */
export function launchBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: ARGUMENTS });
}
