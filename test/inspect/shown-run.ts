import type { Page } from 'playwright-core';
import { createRuntime, type RuntimeOptions } from 'swarmwright';
import { type PageOptions, page } from 'swarmwright/inspect';
import { onTestFinished } from 'vitest';

/** A token as somebody would choose it. */
export const TOKEN = 'a-token-for-tests-only';

/** A runtime that a page shows. It is closed with the test. */
export async function shownRuntime(options: RuntimeOptions = {}, pageOptions: PageOptions = {}) {
  const inspector = page(pageOptions);
  const runtime = createRuntime({ ...options, inspect: inspector });
  onTestFinished(() => runtime.close());
  return { runtime, url: await inspector.url };
}

/** Waits until all that happened so far is on the page. */
export async function whenReady(tab: Page): Promise<void> {
  await tab.waitForSelector('body[data-ready]');
}

/** A row of the tree. */
export function row(kind: string, name?: string): string {
  const named = name === undefined ? '' : `:has(.name:text-is("${name}"))`;
  return `.tree-row[data-kind="${kind}"]${named}`;
}

/** The lit state of the chart. */
export const LIT = '.chart-state.is-active';

/** What the rows of the tree say, from above: depth, kind, name and state. */
export async function treeOf(tab: Page): Promise<readonly string[]> {
  const rows = await tab
    .locator('.tree-row')
    .evaluateAll((elements) =>
      elements.map((element) => [
        /\d+/.exec(element.getAttribute('style') ?? '')?.[0] ?? '0',
        element.getAttribute('aria-level'),
        element.getAttribute('data-kind'),
        element.querySelector('.name')?.textContent,
        element.getAttribute('data-state'),
      ]),
    );
  return rows.sort(([a], [b]) => Number(a) - Number(b)).map(([, ...words]) => words.join(' '));
}
