import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { demoSwarm } from '../../scripts/page-demo.ts';
import { describeInBrowser } from './chromium.ts';
import { shownRuntime, TOKEN } from './shown-run.ts';

// What people open the page for, each done by what can be read on it: no selector, no id, no address of the server.

/** A lead with two helpers: one of its calls was refused, one runs, and one waits for a person. */
async function watchedSwarm() {
  const { runtime, url } = await shownRuntime({}, { token: TOKEN, content: true });
  const { lead, gate } = demoSwarm();
  const run = runtime.run(lead, 'Review the shop.');
  onTestFinished(() => gate.open());
  return { run, gate, url };
}

/** Waits until a person sees that something waits: then the demo is where the tasks begin. */
async function whenWaiting(tab: Page): Promise<void> {
  await tab.getByRole('button', { name: '1 waiting' }).waitFor();
}

const approvals = (tab: Page) => tab.getByRole('region', { name: 'Waiting for you' });
const details = (tab: Page) => tab.getByRole('region', { name: 'Details' });

describeInBrowser('the five tasks', (browser) => {
  it('IN-05 finds the waiting approval without a click, and approves it with one', async () => {
    const { run, gate, url } = await watchedSwarm();
    const tab = await browser.open(url);
    await whenWaiting(tab);
    await approvals(tab).getByText('One call waits for a person').waitFor();
    expect(await approvals(tab).textContent()).toMatch(/publish_report.*lead.*Week 48/s);
    await approvals(tab).getByRole('button', { name: 'Approve' }).click();
    await tab.getByText('publish_report: approved').waitFor();
    gate.open();
    expect(await run.result).toMatchObject({ status: 'completed', text: 'The shop is in good order.' });
    await tab.getByRole('button', { name: '1 waiting' }).waitFor({ state: 'hidden' });
  });

  it('IN-04 tells why a call was refused, at one click', async () => {
    const { url } = await watchedSwarm();
    const tab = await browser.open(url);
    await whenWaiting(tab);
    await tab.getByRole('treeitem', { name: 'call erase_all refused' }).click();
    await details(tab).getByText('Why it was refused').waitFor();
    expect(await details(tab).textContent()).toContain('No tool of that name is bound to the agent.');
  });

  it('IN-04 shows which tools a step could see, at two clicks', async () => {
    const { url } = await watchedSwarm();
    const tab = await browser.open(url);
    await whenWaiting(tab);
    await tab.getByRole('treeitem', { name: 'step step 2' }).click();
    await tab.getByRole('tab', { name: 'Tools' }).click();
    const ofStep = (name: string) => tab.getByRole('list', { name: `Visible in ${name}` });
    await ofStep('step 2').getByRole('listitem').first().waitFor();
    expect(await ofStep('step 1').getByRole('listitem').allTextContents()).not.toContain('refund_orderfound');
    expect(await ofStep('step 2').getByRole('listitem').allTextContents()).toContain('refund_orderfound');
  });

  it('IN-14 goes back to an earlier state and runs from there, at two clicks', async () => {
    const { url } = await watchedSwarm();
    const tab = await browser.open(url);
    await whenWaiting(tab);
    const time = tab.getByRole('slider', { name: 'Moment of the run' });
    const { x = 0, y = 0, width = 0, height = 0 } = (await time.boundingBox()) ?? {};
    await tab.mouse.click(x + width / 3, y + height / 2);
    await tab.getByText('Earlier moment').waitFor();
    // The runtime has no registry: it knows the agent from running it.
    await tab.getByRole('button', { name: 'Run from here' }).click();
    await tab.getByText('A new run goes on from that moment').waitFor();
    await tab.getByText('in 2 runs').waitFor();
    await details(tab).getByText('Forked from').waitFor();
  });

  it('IN-12 does all of them by keys alone', async () => {
    const { run, gate, url } = await watchedSwarm();
    const tab = await browser.open(url);
    await whenWaiting(tab);
    const press = async (...keys: readonly string[]) => {
      for (const key of keys) await tab.keyboard.press(key);
    };
    await press('/');
    await tab.keyboard.type('refused');
    await press('Enter');
    await details(tab).getByText('Why it was refused').waitFor();
    // The call, and then the step above it.
    await press('/', 'ControlOrMeta+a', 'Delete', 'Enter', 'Home');
    await press('ArrowDown', 'ArrowDown', '3');
    await tab.getByRole('list', { name: 'Visible in step 1' }).waitFor();
    expect(await details(tab).getByRole('heading').first().textContent()).toBe('step 1');

    await press('a', 'Enter');
    await tab.getByText('publish_report: approved').waitFor();
    gate.open();
    expect((await run.result).status).toBe('completed');

    await press('g', 'ArrowLeft', 'ArrowLeft', 'PageDown');
    await tab.getByText('Earlier moment').waitFor();
    await press('Tab', 'Tab', 'Tab', 'Enter');
    await tab.getByText('in 2 runs').waitFor();
  });
});
