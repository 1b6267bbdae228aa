import { reply } from 'swarmwright/testing';
import { expect, it } from 'vitest';
import { eventsOf } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { describeInBrowser } from './chromium.ts';
import { row, shownRuntime, TOKEN, whenReady } from './shown-run.ts';

describeInBrowser('running from an earlier moment on the page', (browser) => {
  it('IN-14 goes on in a new session from where the slider stands, without running a tool again', async () => {
    const spy = createToolSpy();
    const { agent } = scriptedAgent(
      [
        reply().call('look', { id: 'a' }),
        reply().text('First.'),
        reply().call('nothing', {}),
        reply().text('Second.'),
      ],
      { tools: [spy.tool('look')] },
    );
    const { runtime, url } = await shownRuntime(
      { agents: { worker: agent } },
      { token: TOKEN, content: true },
    );
    const run = runtime.run(agent, 'Go.');
    await run.result;
    const events = await eventsOf(run, { tree: true, from: 0 });
    const tab = await browser.open(url);
    await whenReady(tab);
    await tab.click(row('session'));
    const settled = events.findIndex(({ type }) => type === 'tool.settled');
    await tab.getByRole('slider').fill(String(settled));
    await tab.getByText('Earlier moment').waitFor();
    await tab.getByRole('button', { name: 'Run from here' }).click();
    await tab.getByText('2 agents in 2 runs').waitFor();
    await tab.getByText('Forked from').waitFor();
    await tab.waitForSelector(`${row('session')}.is-selected[data-state="completed"]`);
    expect(await tab.locator('.details').textContent()).toContain(run.sessionId);
    expect(spy.entries).toHaveLength(1);

    await tab.getByRole('tab', { name: 'Compare' }).click();
    await tab.locator('[data-side="fork"] li').first().waitFor();
    const said = (side: string) =>
      tab
        .locator(`[data-side="${side}"] li`)
        .evaluateAll((lines) => lines.map((line) => line.getAttribute('data-type')));
    // Both have the call and its result; what differs begins with the request after it.
    for (const side of ['origin', 'fork']) expect(await said(side)).not.toContain('tool.settled');
    expect(await said('fork')).toContain('turn.closed');
    expect(await said('fork')).toContain('tool.refused');
    expect(await said('origin')).not.toContain('tool.refused');
  });

  it('IN-14 offers it to nobody without the token', async () => {
    const { agent } = scriptedAgent([reply().text('Done.')]);
    const { runtime, url } = await shownRuntime({ agents: { worker: agent } });
    await runtime.run(agent, 'Go.').result;
    const tab = await browser.open(url);
    await whenReady(tab);
    await tab.click(row('session'));
    const button = tab.getByRole('button', { name: 'Run from here' });
    expect(await button.isDisabled()).toBe(true);
    expect(await button.getAttribute('title')).toContain('token');
  });
});
