import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteLedger } from 'swarmwright';
import { createGate, reply } from 'swarmwright/testing';
import { expect, it, onTestFinished } from 'vitest';
import { eventsOf } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { describeInBrowser } from './chromium.ts';
import { LIT, row, shownRuntime, treeOf, whenReady } from './shown-run.ts';
import { gatedTool } from './tools.ts';

function twoSteps() {
  const gate = createGate();
  gate.open();
  const script = [reply().call('hold', {}).call('nothing', {}), reply().text('Done.').usage(10, 5)];
  return scriptedAgent(script, { tools: [gatedTool('hold', gate)] });
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'swarmwright-page-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

describeInBrowser('time on the page', (browser) => {
  it('IN-07 shows an earlier state of a finished run, and what it is now again', async () => {
    const { agent } = twoSteps();
    const { runtime, url } = await shownRuntime();
    const run = runtime.run(agent, 'Go.');
    await run.result;
    const events = await eventsOf(run, { tree: true, from: 0 });
    const at = events.findIndex(({ type }) => type === 'tool.dispatched');
    const tab = await browser.open(url);
    await whenReady(tab);
    await tab.click(row('call', 'hold'));
    await tab.waitForSelector(`${LIT}[data-state="settled"]`);

    await tab.getByRole('slider').fill(String(at));
    await tab.waitForSelector(`${row('call', 'hold')}[data-state="running"]`);
    await tab.waitForSelector(`${LIT}[data-state="prepared"]`);
    expect(await tab.locator(row('step')).count()).toBe(1);
    await tab.getByText('Earlier moment').waitFor();

    await tab.getByRole('button', { name: 'Now' }).click();
    await tab.waitForSelector(`${LIT}[data-state="settled"]`);
    expect(await tab.locator(row('step')).count()).toBe(2);
  });

  it('IN-07 goes back event by event with the keyboard', async () => {
    const { agent } = twoSteps();
    const { runtime, url } = await shownRuntime();
    await runtime.run(agent, 'Go.').result;
    const tab = await browser.open(url);
    await whenReady(tab);
    await tab.waitForSelector(`${row('turn')}[data-state="completed"]`);
    await tab.keyboard.press('[');
    await tab.waitForSelector(`${row('turn')}[data-state="running"]`);
    await tab.keyboard.press(']');
    await tab.waitForSelector(`${row('turn')}[data-state="completed"]`);
  });

  it('IN-10 shows a ledger file as it showed the run', async () => {
    const path = join(await newFolder(), 'ledger.db');
    const { agent } = twoSteps();
    const live = await shownRuntime({ ledger: sqliteLedger({ path }) });
    const first = await browser.open(live.url);
    await whenReady(first);
    await live.runtime.run(agent, 'Go.').result;
    await first.waitForSelector(`${row('session')}[data-state="completed"]`);
    const seen = await treeOf(first);
    expect(seen).toEqual([
      '1 session worker completed',
      '2 turn turn 1 completed',
      '3 step step 1 completed',
      '4 call hold success',
      '4 call nothing refused',
      '3 step step 2 completed',
    ]);
    await live.runtime.close();

    const file = await shownRuntime({ ledger: sqliteLedger({ path }) });
    const second = await browser.open(file.url);
    await whenReady(second);
    await second.waitForSelector(row('session'));
    expect(await treeOf(second)).toEqual(seen);
    await second.click(row('call', 'hold'));
    await second.waitForSelector(`${LIT}[data-state="settled"]`);
  });
});
