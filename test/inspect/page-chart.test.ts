import { createGate, reply } from 'swarmwright/testing';
import { expect, it } from 'vitest';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { describeInBrowser } from './chromium.ts';
import { LIT, row, shownRuntime, whenReady } from './shown-run.ts';
import { gatedTool } from './tools.ts';

describeInBrowser('the chart of the page', (browser) => {
  it('IN-04 lights the state that the turn is in, and marks the way it took', async () => {
    const gate = createGate();
    const answers = createGate();
    const { agent } = scriptedAgent([reply().wait(answers).call('hold', {}), reply().text('Done.')], {
      tools: [gatedTool('hold', gate)],
    });
    const { runtime, url } = await shownRuntime();
    const tab = await browser.open(url);
    await whenReady(tab);
    const run = runtime.run(agent, 'Go.');
    await answers.reached;
    await tab.click(row('turn'));
    await tab.waitForSelector(`${LIT}[data-state="stepping"]`);

    answers.open();
    await gate.reached;
    await tab.waitForSelector(`${LIT}[data-state="settling"]`);
    await tab.click(row('call', 'hold'));
    await tab.waitForSelector(`${LIT}[data-state="executing"]`);

    gate.open();
    await run.result;
    await tab.waitForSelector(`${LIT}[data-state="settled"]`);
    await tab.click(row('turn'));
    await tab.waitForSelector(`${LIT}[data-state="completed"]`);
    expect(await tab.locator(LIT).count()).toBe(1);
    const taken = await tab
      .locator('.move.is-taken')
      .evaluateAll((moves) =>
        moves.map((move) => `${move.getAttribute('data-from')} ${move.getAttribute('data-to')}`).sort(),
      );
    expect(taken).toEqual([
      'deciding completed',
      'deciding projecting',
      'opening projecting',
      'projecting stepping',
      'settling deciding',
      'stepping deciding',
      'stepping settling',
    ]);
  });

  it('IN-04 lights the state of a run that ended before the page was opened', async () => {
    const { agent } = scriptedAgent([reply().text('Done.')]);
    const { runtime, url } = await shownRuntime();
    await runtime.run(agent, 'Go.').result;
    const tab = await browser.open(url);
    await tab.click(row('step'));
    await tab.waitForSelector(`${LIT}[data-state="completed"]`);
    const events = await tab.locator('.path-event').allTextContents();
    expect(events).toContain('FIRST_PART');
  });
});
