import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { createRuntime } from '../../src/runtime.ts';
import { reply } from '../../src/testing/reply.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { DiscoveryPreset } from '../../src/tools/discovery-policy.ts';
import { DRIVERS, type PlayedCall, PRESET_NAMES, presetTools } from '../support/discovery-presets.ts';
import { portOf } from '../support/edited-ledger.ts';
import { openLedger } from '../support/ledgers.ts';
import { ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';

/** C2: whether a tool that one turn loaded is active when the next begins. */
const RETAINED: Readonly<Record<DiscoveryPreset, readonly string[]>> = {
  search: [],
  groups: ['get_tides', 'get_weather'],
  placeholder: ['get_weather'],
  'placeholder-static': ['get_weather'],
  invoke: [],
  off: [],
};

/** What the load of `get_weather` makes active in its own turn. */
const LOADED: Readonly<Record<DiscoveryPreset, readonly string[]>> = {
  ...RETAINED,
  search: ['get_weather'],
  invoke: ['get_weather'],
};

const OSLO = { city: 'Oslo' };

function calling(call: PlayedCall | undefined) {
  return call === undefined ? [] : [reply().call(call.name, call.args)];
}

/** Asks before it runs, so that a turn can be left with it open; in every request of every preset. */
const guarded = defineTool({
  name: 'guarded',
  description: 'Does what must be allowed.',
  inputSchema: z.object({}),
  needsApproval: true,
  execute: () => 'allowed',
});

/** The store outlives the runtime that closes it. */
function keptOpen(ledger: Ledger): Ledger {
  const close = async () => undefined;
  return { ...portOf(ledger), close, [Symbol.asyncDispose]: close };
}

describe.each(PRESET_NAMES)('XC-03 %s over turns and processes', (preset) => {
  const { load, use } = DRIVERS[preset];
  const discovery = { preset };

  it('keeps activations as long as its retention says', async () => {
    const { model, agent } = scriptedAgent(
      [...calling(load('get_weather')), reply().text('Loaded.'), reply().text('Done.')],
      { tools: presetTools() },
    );
    const ledger = await openLedger('memory');
    await using runtime = createRuntime({ ledger });
    const first = runtime.run(agent, 'Load.', { discovery });
    await first.result;
    await runtime.run(agent, 'Go on.', { sessionId: first.sessionId, discovery }).result;
    const records = await ledger.read(first.sessionId);
    expect(ofType(records, 'step.opened').at(-1)?.data.active).toEqual(RETAINED[preset]);
    const cleared = ofType(records, 'tools.cleared').map(({ data }) => data.names);
    const isCleared = LOADED[preset].length > 0 && RETAINED[preset].length === 0;
    expect(cleared).toEqual(isCleared ? [LOADED[preset]] : []);
    model.assertPlayedOut();
  });

  it('goes on after a restart with what its turn had loaded, under the preset of the turn', async () => {
    const entries: string[] = [];
    const script = [
      ...calling(load('get_weather')),
      reply().call('guarded', {}),
      ...calling(use('get_weather', OSLO)),
      reply().text('Done.'),
    ];
    const { model, agent } = scriptedAgent(script, {
      tools: [...presetTools((name) => entries.push(name)), guarded],
    });
    const ledger = await openLedger('memory');
    const first = createRuntime({ ledger: keptOpen(ledger) });
    const run = first.run(agent, 'Go.', { discovery, onApproval: 'pause' });
    expect(await run.result).toMatchObject({ status: 'paused' });
    await first.close();

    await using second = createRuntime({ ledger });
    const [pending] = await second.approvals.pending({ sessionId: run.sessionId });
    await second.approvals.decide(pending?.id ?? '', { decision: 'approve' });
    const resumed = await second.resume(agent, run.sessionId).result;
    expect(resumed).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(entries).toEqual(['get_weather']);
    const opened = ofType(await ledger.read(run.sessionId), 'step.opened');
    expect(opened.at(-1)?.data.active).toEqual(LOADED[preset]);
    model.assertPlayedOut();
  });
});
