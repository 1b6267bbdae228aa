import { createGate, reply } from 'swarmwright/testing';
import { expect, it } from 'vitest';
import { eventsOf } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { describeInBrowser } from './chromium.ts';
import { openLine } from './cut-line.ts';
import { LIT, row, shownRuntime, whenReady } from './shown-run.ts';
import { gatedTool } from './tools.ts';

describeInBrowser('a page whose connection drops', (browser) => {
  it('IN-09 misses nothing and shows nothing twice', async () => {
    const gates = [createGate(), createGate()];
    const [first, second] = gates;
    if (first === undefined || second === undefined) throw new Error('two gates');
    const { agent } = scriptedAgent(
      [reply().call('one', {}), reply().call('two', {}), reply().text('Done.')],
      { tools: [gatedTool('one', first), gatedTool('two', second)] },
    );
    const { runtime, url } = await shownRuntime();
    const line = await openLine(url);
    const tab = await browser.open(line.url);
    await whenReady(tab);
    const run = runtime.run(agent, 'Go.');
    await tab.waitForSelector(`${row('call', 'one')}[data-state="running"]`);
    await tab.click(row('turn'));

    line.cut();
    await tab.getByText('Not connected; trying again').waitFor();
    first.open();
    await second.reached;
    line.mend();
    await tab.getByText('Live', { exact: true }).waitFor();
    await tab.waitForSelector(`${row('call', 'two')}[data-state="running"]`);
    await tab.waitForSelector(`${LIT}[data-state="settling"]`);

    line.cut();
    await tab.getByText('Not connected; trying again').waitFor();
    second.open();
    await run.result;
    line.mend();
    await tab.waitForSelector(`${row('turn')}[data-state="completed"]`);
    await tab.waitForSelector(`${LIT}[data-state="completed"]`);
    const events = await eventsOf(run, { tree: true, from: 0 });
    await tab.keyboard.press('4');
    await tab.getByText(`${events.length} events`, { exact: true }).waitFor();
    await tab.keyboard.press('1');
    expect(await tab.locator('.path-event').allTextContents()).toEqual([
      ...['START', 'OPENED', 'PROJECTED', 'STEP_COMPLETED', 'CALL_SETTLED'],
      ...['CONTINUE', 'PROJECTED', 'STEP_COMPLETED', 'CALL_SETTLED'],
      ...['CONTINUE', 'PROJECTED', 'STEP_COMPLETED', 'FINISH'],
    ]);
  });
});
