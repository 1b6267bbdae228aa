import { createRuntime, memoryLedger } from 'swarmwright';
import { page } from 'swarmwright/inspect';
import { natsSink, serveCommands } from 'swarmwright/nats';
import { reply } from 'swarmwright/testing';
import { expect, it, onTestFinished } from 'vitest';
import { serveBusPage } from '../../src/inspect/bus-page.ts';
import { startBus } from '../nats/bus.ts';
import { isNatsMissing } from '../support/nats-server.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { describeInBrowser } from './chromium.ts';
import { LIT, row, TOKEN, treeOf } from './shown-run.ts';
import { askingTool } from './tools.ts';

/** A run that asks a person, published to a bus and shown by a page of its own process and by one over the bus. */
async function publishedRun() {
  const server = await startBus();
  const ledger = await memoryLedger();
  const ran: string[] = [];
  const script = [
    reply().call('nothing', {}).call('remove', { path: 'a' }),
    reply().text('Done.').usage(10, 5),
  ];
  const { agent } = scriptedAgent(script, { tools: [askingTool('remove', ran)] });
  const inspector = page();
  const runtime = createRuntime({
    ledger,
    inspect: inspector,
    sinks: [natsSink({ connection: server.url })],
  });
  onTestFinished(() => runtime.close());
  const service = serveCommands({ connection: server.url, runtime, ledger, approvals: 'decide' });
  onTestFinished(() => service.close());
  const bus = await serveBusPage({ connection: server.url, token: TOKEN });
  onTestFinished(() => bus[Symbol.asyncDispose]());
  return { run: runtime.run(agent, 'Go.'), ran, busUrl: bus.url, liveUrl: await inspector.url };
}

describeInBrowser('a page over a bus', (browser) => {
  it.skipIf(isNatsMissing())(
    'IN-10 shows the tree of the live run, and answers what waits there',
    async () => {
      const { run, ran, busUrl, liveUrl } = await publishedRun();
      const tab = await browser.open(busUrl);
      await tab.locator('.approval').waitFor();
      await tab.waitForSelector(`${row('call', 'remove')}[data-state="waiting"]`);
      await tab.click(row('call', 'remove'));
      await tab.waitForSelector(`${LIT}[data-state="awaitingPermission"]`);
      await tab.getByRole('button', { name: 'Approve' }).click();
      expect((await run.result).status).toBe('completed');
      expect(ran).toEqual(['a']);

      await tab.waitForSelector(`${row('session')}[data-state="completed"]`);
      const live = await browser.open(liveUrl);
      await live.waitForSelector(`${row('session')}[data-state="completed"]`);
      expect(await treeOf(tab)).toEqual(await treeOf(live));
      await tab.click(row('turn'));
      await tab.waitForSelector(`${LIT}[data-state="completed"]`);
    },
  );
});
