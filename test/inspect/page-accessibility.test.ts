import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { demoSwarm } from '../../scripts/page-demo.ts';
import { describeInBrowser } from './chromium.ts';
import { shownRuntime, TOKEN } from './shown-run.ts';

interface Finding {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** What an accessibility check finds, as one line each. */
async function findings(tab: Page): Promise<readonly string[]> {
  // The check is no module of the page: it is put in as a text, past the content policy. It would describe every
  // element that passes too, which takes longer than the check.
  const check = `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)`;
  const violations = (await tab.evaluate(check)) as readonly Finding[];
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id} (${impact}): ${html.slice(0, 160)} ${failureSummary}`),
  );
}

/** A swarm with something of everything, and a second run from an earlier moment of it. */
async function openBusyPage(open: (url: string) => Promise<Page>) {
  const { runtime, url } = await shownRuntime({}, { token: TOKEN, content: true });
  const { lead, gate } = demoSwarm();
  onTestFinished(() => gate.open());
  runtime.run(lead, 'Review the shop.');
  const tab = await open(url);
  await tab.getByRole('button', { name: '1 waiting' }).waitFor();
  await tab.addScriptTag({ content: axe.source });
  return tab;
}

describeInBrowser('a check for accessibility', (browser) => {
  it.each(['light', 'dark'] as const)('IN-12 finds nothing in any view (%s)', async (colorScheme) => {
    const tab = await openBusyPage((url) => browser.open(url, { colorScheme, bypassCSP: true }));
    for (const name of [
      'call erase_all refused',
      'step step 2',
      'turn turn 1',
      'call publish_report waiting',
    ]) {
      await tab.getByRole('treeitem', { name }).first().click();
      for (const view of ['Sequence', 'Tools', 'Events', 'Chart']) {
        await tab.getByRole('tab', { name: view }).click();
        await tab.locator('.panel:visible .view-title').first().waitFor();
        expect([name, view, await findings(tab)]).toEqual([name, view, []]);
      }
    }
    await tab.getByRole('tab', { name: 'Events' }).click();
    await tab.getByRole('listbox', { name: 'Events' }).getByRole('option').first().click();
    await tab.locator('.event-detail').waitFor();
    expect(['an event', await findings(tab)]).toEqual(['an event', []]);
  });

  it.each(['light', 'dark'] as const)(
    'IN-12 finds nothing in an earlier moment and a fork (%s)',
    async (colorScheme) => {
      const tab = await openBusyPage((url) => browser.open(url, { colorScheme, bypassCSP: true }));
      await tab.keyboard.press('[');
      await tab.getByText('Earlier moment').waitFor();
      expect(['earlier', await findings(tab)]).toEqual(['earlier', []]);
      await tab.getByRole('slider').fill('20');
      await tab.getByRole('button', { name: 'Run from here' }).click();
      await tab.getByText('in 2 runs').waitFor();
      await tab.getByRole('tab', { name: 'Compare' }).click();
      await tab.getByRole('region', { name: 'Comparison' }).getByText('Fork').waitFor();
      expect(['compare', await findings(tab)]).toEqual(['compare', []]);
      await tab.getByRole('searchbox', { name: 'Find in the tree' }).fill('no such thing');
      await tab.getByText('Nothing here matches.').waitFor();
      expect(['nothing', await findings(tab)]).toEqual(['nothing', []]);
      await tab.keyboard.press('Enter');
      await tab.keyboard.press('?');
      await tab.getByRole('dialog', { name: 'Keys' }).waitFor();
      expect(['keys', await findings(tab)]).toEqual(['keys', []]);
    },
  );

  it.each(['light', 'dark'] as const)(
    'IN-12 finds nothing on a narrow window and a locked page (%s)',
    async (colorScheme) => {
      const { url } = await shownRuntime({}, { token: TOKEN, content: true });
      const viewport = { width: 420, height: 900 };
      const locked = await browser.open(url.replace(/#.*/, ''), { colorScheme, bypassCSP: true, viewport });
      await locked.getByText('A token is needed').waitFor();
      await locked.addScriptTag({ content: axe.source });
      expect(['locked', await findings(locked)]).toEqual(['locked', []]);
      const tab = await openBusyPage((busy) =>
        browser.open(busy, { colorScheme, bypassCSP: true, viewport }),
      );
      expect(['narrow', await findings(tab)]).toEqual(['narrow', []]);
    },
  );
});
