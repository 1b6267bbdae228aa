import { mkdirSync } from 'node:fs';
import { createRuntime } from 'swarmwright';
import { page } from 'swarmwright/inspect';
import { browserPath, launchBrowser, type Page } from '../test/support/browser.ts';
import { demoSwarm } from './page-demo.ts';

// Takes the pictures of the page that the docs show: `npm run example -- scripts/page-pictures.ts`. Needs Chromium.

const FOLDER = new URL('../docs/page/', import.meta.url).pathname;

async function picture(tab: Page, name: string): Promise<void> {
  // One more picture of the page than it takes to show the last change.
  await tab.waitForTimeout(500);
  await tab.screenshot({ path: `${FOLDER}${name}.png` });
}

async function takeAll(tab: Page): Promise<void> {
  await tab.locator('.approval').waitFor();
  await tab.click('.tree-row[data-kind="turn"]');
  await picture(tab, 'chart-light');
  await tab.emulateMedia({ colorScheme: 'dark' });
  await tab.click('.tree-row[data-kind="call"][data-state="waiting"]');
  await picture(tab, 'call-dark');
  await tab.emulateMedia({ colorScheme: 'light' });
  await tab.click('.tree-row[data-kind="call"][data-state="refused"]');
  await tab.getByRole('tab', { name: 'Tools' }).click();
  await picture(tab, 'tools-light');
  await tab.getByRole('tab', { name: 'Sequence' }).click();
  await picture(tab, 'sequence-light');
  await tab.emulateMedia({ colorScheme: 'dark' });
  await tab.getByRole('tab', { name: 'Events' }).click();
  await picture(tab, 'events-dark');
  await tab.getByRole('tab', { name: 'Chart' }).click();
  await tab.click('.tree-row[data-kind="turn"]');
  await tab.getByRole('slider').fill('40');
  await picture(tab, 'earlier-dark');
  await tab.getByRole('button', { name: 'Now' }).click();
  await tab.emulateMedia({ colorScheme: 'light' });
  await tab.click('.tree-row[data-kind="step"]');
  await picture(tab, 'step-light');
  await tab.setViewportSize({ width: 420, height: 900 });
  await picture(tab, 'narrow-light');
}

mkdirSync(FOLDER, { recursive: true });
const inspector = page({ token: 'a-token-of-the-pictures', content: true });
await using runtime = createRuntime({ inspect: inspector });
const { lead, gate } = demoSwarm();
if (browserPath === undefined) throw new Error('no Chromium here; scripts/chromium.sh installs it');
const browser = await launchBrowser(browserPath);
try {
  const tab = await browser.newPage({ viewport: { width: 1440, height: 860 } });
  await tab.goto(await inspector.url);
  const run = runtime.run(lead, 'Review the shop.');
  await takeAll(tab);
  gate.open();
  run.cancel();
  await run.result;
} finally {
  await browser.close();
}
