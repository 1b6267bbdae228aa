import { defineTool } from 'swarmwright';
import { reply } from 'swarmwright/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { describeInBrowser } from './chromium.ts';
import { row, shownRuntime, TOKEN, whenReady } from './shown-run.ts';
import { askingTool } from './tools.ts';

const MARKUP = '<img src=x onerror="window.harmed=1"><script>window.harmed=2</script>';
const TURNED = 'safe\u202Efdp.exe\u200B';

const speak = defineTool({
  name: 'speak',
  description: 'Says bad things.',
  inputSchema: z.object({ text: z.string() }),
  execute: () => `${MARKUP}\u001B[2J${TURNED}`,
});

describeInBrowser('foreign text on the page', (browser) => {
  it('IN-08 stays text wherever it is shown', async () => {
    const { agent } = scriptedAgent(
      [
        reply()
          .text(MARKUP)
          .call('speak', { text: MARKUP })
          .call(MARKUP, {})
          .call('remove', { path: MARKUP }),
        reply().text(MARKUP),
      ],
      { tools: [speak, askingTool('remove', [])] },
    );
    const { runtime, url } = await shownRuntime({}, { content: true, token: TOKEN });
    const run = runtime.run(agent, MARKUP);
    const tab = await browser.open(url);
    await tab.locator('.approval').waitFor();
    expect(await tab.locator('.approval pre').textContent()).toContain('<script>');
    for (const view of ['Chart', 'Sequence', 'Tools', 'Events']) {
      await tab.getByRole('tab', { name: view }).click();
      await tab.locator('.panel:visible .view-title').first().waitFor();
    }
    await tab.click(row('call', 'speak'));
    await tab.waitForSelector('.details pre');
    await tab.getByRole('tab', { name: 'Chart' }).click();
    expect(await tab.locator('.details').textContent()).toContain(`Result${MARKUP}`);
    expect(await tab.locator('.details').textContent()).toContain(
      'safe\u2039U+202E\u203Afdp.exe\u2039U+200B\u203A',
    );
    expect(await tab.locator('.details').textContent()).toContain('\u2039U+001B\u203A[2J');
    await tab.click(row('step'));
    await tab.getByText('Answer', { exact: true }).waitFor();
    expect(await tab.locator('.details').textContent()).toContain(`Answer${MARKUP}`);
    await runtime.close();
    await run.result;
    expect(await tab.locator('img, .panel script').count()).toBe(0);
    expect(await tab.evaluate('window.harmed')).toBeUndefined();
  });

  it('IN-08 runs nothing that is not a file of the page', async () => {
    const { url } = await shownRuntime();
    const tab = await browser.open(url);
    await whenReady(tab);
    const violations = await tab.evaluate(`new Promise((resolve) => {
      const seen = [];
      document.addEventListener('securitypolicyviolation', (event) => {
        seen.push(event.effectiveDirective);
        if (seen.length === 2) resolve(seen.sort());
      });
      const script = document.createElement('script');
      try { script.textContent = 'window.harmed = 1'; } catch {}
      document.body.append(script);
      const image = document.createElement('img');
      image.src = 'http://127.0.0.2:9/x.png';
      document.body.append(image);
    })`);
    expect(violations).toContain('img-src');
    expect(await tab.evaluate('window.harmed')).toBeUndefined();
  });

  it('IN-08 breaks no rule of its own content policy in any view', async () => {
    const { agent } = scriptedAgent([reply().call('speak', { text: 'x' }), reply().text('Done.')], {
      tools: [speak],
    });
    const { runtime, url } = await shownRuntime({}, { content: true });
    const complaints: string[] = [];
    const tab = await browser.open('about:blank');
    tab.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    await tab.goto(url);
    await whenReady(tab);
    await runtime.run(agent, 'Go.').result;
    await tab.waitForSelector(`${row('turn')}[data-state="completed"]`);
    for (const key of ['2', '3', '4', '1', 't', '?']) await tab.keyboard.press(key);
    await tab.getByRole('dialog').waitFor();
    expect(complaints).toEqual([]);
  });
});
