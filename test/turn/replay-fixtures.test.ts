import { describe, expect, it } from 'vitest';
import { SwarmError } from '../../src/errors.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { reply } from '../../src/testing/reply.ts';
import type { ScriptedResponse } from '../../src/testing/script.ts';
import { sequentialIds } from '../../src/testing/sequential-ids.ts';
import { LEDGER_KINDS, type LedgerKind, openLedger } from '../support/ledgers.ts';
import { eventsOf } from '../support/run-events.ts';
import { servedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const FIXTURES: Readonly<Record<string, readonly ScriptedResponse[]>> = {
  'signed-thinking': [
    reply()
      .reasoning('Two files, one after the other.', { dialect: 'reasoning_details', signature: 's1gn3d' })
      .call('read', { id: 'a' }, { id: 'call_a' })
      .usage(120, 30, { cacheRead: 64, reasoning: 21 }),
    reply()
      .reasoning('Only one is left.', { dialect: 'reasoning_details', signature: 'als0-s1gn3d' })
      .text('Both are empty.', { deltas: 3 })
      .usage(180, 12, { cacheRead: 120, reasoning: 8 }),
  ],
  'several-tools': [
    reply()
      .text('All at once.')
      .call('read', { id: 'a' }, { id: 'call_a' })
      .call('break', { id: 'b' }, { id: 'call_b' })
      .call('read', '{"ident":"c"}', { id: 'call_c' })
      .call('fly', { to: 'Mars' }, { id: 'call_d' })
      .usage(200, 80),
    reply().call('READ', { id: 'e' }, { id: 'call_e' }).usage(300, 20),
    reply().text('Some of it worked.').usage(340, 9),
  ],
};

/** Hashes of requests stand for what is told whole beside them. */
const withoutFingerprints = (key: string, value: unknown) => (key === 'sha256' ? undefined : value);

/**
 * Plays a fixture and tells all of it: what was asked of the provider and what observers saw, but for the place
 * in the whole ledger, which is the store's own affair.
 */
async function play(name: string, kind: LedgerKind) {
  const clock = fakeClock();
  const spy = createToolSpy();
  const { server, agent } = await servedAgent(FIXTURES[name] ?? [], {
    tools: [
      spy.tool('read'),
      spy.tool('break', () => {
        throw new SwarmError('fault-injected', 'the file is locked');
      }),
    ],
  });
  const { runtime } = watchedRuntime({
    clock,
    ids: sequentialIds(),
    random: () => 0,
    ledger: await openLedger(kind, clock),
  });
  const run = runtime.run(agent, 'Go.');
  const result = await run.result;
  server.assertPlayedOut();
  const events = await eventsOf(run, { content: true });
  return {
    result,
    requests: server.requests.map(({ body }) => body),
    events: events.map(({ cursor: _, ...event }) => event),
  };
}

describe.each(Object.keys(FIXTURES))('the fixture %s', (name) => {
  it.each(LEDGER_KINDS)('MA-23 gives the same events and requests as ever (%s)', async (kind) => {
    const played = await play(name, kind);
    await expect(`${JSON.stringify(played, withoutFingerprints, 1)}\n`).toMatchFileSnapshot(
      `__snapshots__/${name}.txt`,
    );
  });
});
