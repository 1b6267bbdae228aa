import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/runtime.ts';
import { reply } from '../../src/testing/reply.ts';
import type { DiscoveryPreset } from '../../src/tools/discovery-policy.ts';
import { DRIVERS, type PlayedCall, PRESET_NAMES, presetTools } from '../support/discovery-presets.ts';
import { openLedger } from '../support/ledgers.ts';
import { guarded, playOverRestart } from '../support/paused-run.ts';
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
    const tools = [...presetTools((name) => entries.push(name)), guarded];
    const { result, records } = await playOverRestart(script, { tools }, { discovery });
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(entries).toEqual(['get_weather']);
    expect(ofType(records, 'step.opened').at(-1)?.data.active).toEqual(LOADED[preset]);
  });
});
