import { createRuntime } from 'swarmwright';
import { page } from 'swarmwright/inspect';
import { createGate, reply } from 'swarmwright/testing';
import { expect, it, onTestFinished } from 'vitest';
import { PAGE_LIMITS } from '../../src/limits.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { describeInBrowser } from './chromium.ts';
import { LIT, row, shownRuntime, whenReady } from './shown-run.ts';
import { gatedTool } from './tools.ts';

const ACTORS = 1_000;
const BURST = 50_000;

describeInBrowser('a page with much on it', (browser) => {
  it('IN-12 stays usable with 1,000 live actors', async () => {
    const gate = createGate();
    const { agent } = scriptedAgent(
      ({ messages }) => (messages.length > 1 ? reply().text('Done.') : reply().call('hold', {})),
      {
        tools: [gatedTool('hold', gate)],
      },
    );
    const { runtime, url } = await shownRuntime();
    const tab = await browser.open(url);
    await whenReady(tab);
    const runs = Array.from({ length: ACTORS }, () => runtime.run(agent, 'Go.'));
    await tab.getByText('1000 agents in 1000 runs').waitFor();
    // Each is open with its turn, step and call: what exists of them is what can be seen.
    expect(await tab.locator('.tree-row').count()).toBeLessThan(80);

    await tab.getByRole('tree').focus();
    await tab.keyboard.press('End');
    await tab.waitForSelector('.tree-row.is-selected[data-kind="call"]');
    await tab.getByLabel('Find in the tree').fill(runs[500]?.sessionId ?? '');
    await tab.getByText(', 4 rows shown').waitFor();
    expect(await tab.locator(row('session')).count()).toBe(1);
    await tab.getByLabel('Find in the tree').fill('');

    gate.open();
    await Promise.all(runs.map(({ result }) => result));
    await tab.keyboard.press('Home');
    await tab.getByRole('button', { name: 'Failed' }).click();
    await tab.getByText(', 0 rows shown').waitFor();
    await tab.getByRole('button', { name: 'Failed' }).click();
    await tab.waitForSelector(`${row('session')}[data-state="completed"]`);
    await tab.click(row('turn'));
    await tab.waitForSelector(`${LIT}[data-state="completed"]`);
  });

  it('IN-03 shows how many transitions were dropped in a burst, and takes the rest', async () => {
    const inspector = page();
    const runtime = createRuntime({ inspect: inspector });
    onTestFinished(() => runtime.close());
    const tab = await browser.open(await inspector.url);
    await whenReady(tab);
    const way = {
      kind: 'turn',
      machineId: 'turn',
      from: 'opening',
      to: 'projecting',
      event: 'OPENED',
    } as const;
    for (let seq = 1; seq <= BURST; seq += 1) {
      inspector.observe({
        v: 1,
        seq,
        at: 0,
        id: `s-${seq}.1`,
        rootId: 's',
        session: `s-${seq}`,
        ...way,
        meta: {},
      });
    }
    await tab.getByText(`${BURST - PAGE_LIMITS.moves} transitions dropped`).waitFor();
  });
});
