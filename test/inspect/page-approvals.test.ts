import { reply } from 'swarmwright/testing';
import { expect, it } from 'vitest';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { describeInBrowser } from './chromium.ts';
import { row, shownRuntime, TOKEN, whenReady } from './shown-run.ts';
import { askingTool } from './tools.ts';

function asking() {
  const ran: string[] = [];
  const script = [reply().call('remove', { path: '/tmp/notes' }), reply().text('Done.')];
  return { ran, ...scriptedAgent(script, { tools: [askingTool('remove', ran)] }) };
}

describeInBrowser('approvals on the page', (browser) => {
  it('IN-05 lets a call run that is approved there', async () => {
    const { agent, ran } = asking();
    const { runtime, url } = await shownRuntime({}, { token: TOKEN });
    const run = runtime.run(agent, 'Go.');
    const tab = await browser.open(url);
    const card = tab.locator('.approval');
    await card.waitFor();
    expect(await card.locator('pre').textContent()).toContain('/tmp/notes');
    expect(ran).toEqual([]);
    await card.getByRole('button', { name: 'Approve' }).click();
    expect((await run.result).status).toBe('completed');
    expect(ran).toEqual(['/tmp/notes']);
    await tab.waitForSelector(`${row('call', 'remove')}[data-state="success"]`);
    await card.waitFor({ state: 'detached' });
  });

  it('IN-05 keeps a call from running that is denied there, and tells the model why', async () => {
    const { agent, model, ran } = asking();
    const { runtime, url } = await shownRuntime({}, { token: TOKEN });
    const run = runtime.run(agent, 'Go.');
    const tab = await browser.open(url);
    await tab.getByLabel('Reason').fill('These are my notes.');
    await tab.getByRole('button', { name: 'Deny' }).click();
    expect((await run.result).status).toBe('completed');
    expect(ran).toEqual([]);
    expect(model.requests[1]?.lastText).toContain('These are my notes.');
    await tab.waitForSelector(`${row('call', 'remove')}[data-state="denied"]`);
    await tab.click(row('call', 'remove'));
    expect(await tab.locator('.block.is-bad').textContent()).toContain('denied it');
  });

  it('IN-05 only shows what waits where the page has no token', async () => {
    const { agent, ran } = asking();
    const { runtime, url } = await shownRuntime();
    const run = runtime.run(agent, 'Go.');
    const tab = await browser.open(url);
    await whenReady(tab);
    const card = tab.locator('.approval');
    await card.waitFor();
    expect(await card.textContent()).toContain('remove');
    expect(await card.textContent()).not.toContain('/tmp/notes');
    expect(await card.getByRole('button', { name: 'Approve' }).count()).toBe(0);
    run.cancel();
    expect((await run.result).status).toBe('cancelled');
    expect(ran).toEqual([]);
  });
});
