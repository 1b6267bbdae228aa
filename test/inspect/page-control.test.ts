import { createGate, reply } from 'swarmwright/testing';
import { expect, it } from 'vitest';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { describeInBrowser } from './chromium.ts';
import { row, shownRuntime, TOKEN, whenReady } from './shown-run.ts';
import { gatedTool } from './tools.ts';

function holding() {
  const gate = createGate();
  const script = [reply().call('hold', {}), reply().text('Done.')];
  return { gate, ...scriptedAgent(script, { tools: [gatedTool('hold', gate)] }) };
}

describeInBrowser('steering and cancelling on the page', (browser) => {
  it('IN-06 brings a steering text into the next request', async () => {
    const { gate, model, agent } = holding();
    const { runtime, url } = await shownRuntime({}, { token: TOKEN });
    const run = runtime.run(agent, 'Go.');
    const tab = await browser.open(url);
    await gate.reached;
    await tab.getByLabel('Steering text').fill('Mind the tests.');
    await tab.getByRole('button', { name: 'Steer' }).click();
    await tab.getByText('Accepted: it is in the next request').waitFor();
    gate.open();
    await run.result;
    expect(JSON.stringify(model.requests[1]?.messages)).toContain('Mind the tests.');
  });

  it('IN-06 cancels a turn when asked twice', async () => {
    const { gate, agent } = holding();
    const { runtime, url } = await shownRuntime({}, { token: TOKEN });
    const run = runtime.run(agent, 'Go.');
    const tab = await browser.open(url);
    await gate.reached;
    await tab.getByRole('button', { name: 'Cancel turn' }).click();
    await tab.getByRole('button', { name: 'Really cancel' }).click();
    expect((await run.result).status).toBe('cancelled');
    await tab.waitForSelector(`${row('turn')}[data-state="cancelled"]`);
  });

  it('IN-06 is read-only until the token is given', async () => {
    const { gate, agent } = holding();
    const { runtime, url } = await shownRuntime({}, { token: TOKEN });
    const run = runtime.run(agent, 'Go.');
    const tab = await browser.open(url.replace(/#.*/, ''));
    await whenReady(tab);
    await gate.reached;
    await tab.click(row('turn'));
    await tab.getByText('read-only').waitFor();
    expect(await tab.getByRole('button', { name: 'Steer' }).isVisible()).toBe(false);
    expect(await tab.getByRole('button', { name: 'Cancel turn' }).isVisible()).toBe(false);
    await tab.getByLabel('Token').fill('not-the-token-at-all');
    await tab.getByRole('button', { name: 'Unlock' }).click();
    await tab.getByText('The token is wrong').waitFor();
    await tab.getByText('read-only').waitFor();
    await tab.getByLabel('Token').fill(TOKEN);
    await tab.getByRole('button', { name: 'Unlock' }).click();
    await tab.getByRole('button', { name: 'Steer' }).waitFor();
    expect(tab.url()).not.toContain(TOKEN);
    gate.open();
    expect((await run.result).status).toBe('completed');
  });
});
