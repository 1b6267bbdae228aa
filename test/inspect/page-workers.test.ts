import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { serveBusPage } from '../../src/inspect/bus-page.ts';
import { natsPool } from '../../src/nats/nats-pool.ts';
import { natsSink } from '../../src/nats/nats-sink.ts';
import { createRuntime } from '../../src/runtime.ts';
import { createGate } from '../../src/testing/gate.ts';
import { openLedgerOn, startLedgerServer } from '../nats/ledger-server.ts';
import { asksThenTells, chain, poolWorld } from '../nats/pool-world.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { describeInBrowser } from './chromium.ts';
import { row, TOKEN } from './shown-run.ts';

/** A lead and the child it asks, each on a worker of its own, and a page over what they publish. */
async function workedSwarm(server: NatsServer) {
  const gate = createGate();
  const tells = asksThenTells('payer');
  const world = await poolWorld(
    server,
    (request) => (request.toolNames.includes('ask_payer') ? tells(request) : tells(request).wait(gate)),
    (baseURL) => chain(baseURL, ['lead', 'payer']),
    0,
  );
  const { ns, agents } = world;
  for (let worker = 0; worker < 2; worker += 1) {
    const runtime = createRuntime({
      ledger: openLedgerOn(server, { ns }),
      agents,
      pool: natsPool({ connection: server.url, ns }),
      sinks: [natsSink({ connection: server.url, ns })],
    });
    await world.runWorker(runtime);
  }
  const bus = await serveBusPage({ connection: server.url, ns, token: TOKEN });
  onTestFinished(() => bus[Symbol.asyncDispose]());
  return { gate, url: bus.url, run: world.runtime.run('lead', 'Go.') };
}

describe.skipIf(isNatsMissing())('workers', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startLedgerServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  describeInBrowser('seen in one page', (browser) => {
    it('IN-10 show a parent that sleeps as one whose children are at work, not as one that waits for a person', async () => {
      const { gate, url, run } = await workedSwarm(server);
      const tab = await browser.open(url);
      await tab.waitForSelector(`${row('turn')}[data-state="children at work"].tone-busy`);
      await tab.waitForSelector(`${row('session', 'lead')}[data-state="children at work"]`);
      await tab.waitForSelector(`${row('session', 'payer')}[data-state="running"]`);
      await tab.click(row('turn'));
      await tab.getByText('It sleeps until its children have an answer').waitFor();
      await tab.getByRole('button', { name: 'Waiting' }).click();
      await tab.getByText(', 0 rows shown').waitFor();
      await tab.getByRole('button', { name: 'Waiting' }).click();
      gate.open();
      expect((await run.result).status).toBe('completed');
      await tab.waitForSelector(`${row('session', 'lead')}[data-state="completed"]`);
      await tab.waitForSelector(`${row('session', 'payer')}[data-state="completed"]`);
    });
  });
});
