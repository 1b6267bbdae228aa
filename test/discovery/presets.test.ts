import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/ledger/content.ts';
import type { LedgerRecord } from '../../src/ledger/records.ts';
import { failure, reply } from '../../src/testing/reply.ts';
import type { DiscoveryPreset } from '../../src/tools/discovery-policy.ts';
import { DRIVERS, type PlayedCall, PRESET_NAMES, presetTools } from '../support/discovery-presets.ts';
import { type PlayOptions, playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { ofType } from '../support/run-events.ts';

/** What becomes of a call that comes before its tool was loaded. */
type EarlyCall = 'runs' | 'not-active' | 'needs-schema';

/** The rows of section "conflicts" in which a preset differs; everything else is the same for all. */
interface Expected {
  /** C1: early, arguments that fit; and arguments that do not. */
  readonly early: EarlyCall;
  readonly earlyMisfit: EarlyCall | 'invalid-arguments';
  /** C5: what the first request holds of a deferred tool. */
  readonly wire: 'absent' | 'placeholder' | 'full';
  /** C7: what holds the schema once the tool is loaded. */
  readonly carrier: 'request' | 'result';
  /** C3 and C11: the tools of the runtime. */
  readonly ownTools: readonly string[];
}

const EXPECTED: Readonly<Record<DiscoveryPreset, Expected>> = {
  search: {
    early: 'not-active',
    earlyMisfit: 'not-active',
    wire: 'absent',
    carrier: 'request',
    ownTools: ['tool_search'],
  },
  groups: {
    early: 'not-active',
    earlyMisfit: 'not-active',
    wire: 'absent',
    carrier: 'request',
    ownTools: ['load_tools'],
  },
  placeholder: {
    early: 'runs',
    earlyMisfit: 'needs-schema',
    wire: 'placeholder',
    carrier: 'request',
    ownTools: ['ToolSearch'],
  },
  'placeholder-static': {
    early: 'runs',
    earlyMisfit: 'needs-schema',
    wire: 'placeholder',
    carrier: 'result',
    ownTools: ['ToolSearch'],
  },
  invoke: {
    early: 'needs-schema',
    earlyMisfit: 'needs-schema',
    wire: 'absent',
    carrier: 'result',
    ownTools: ['tool_inspect', 'tool_invoke', 'tool_search'],
  },
  off: { early: 'runs', earlyMisfit: 'invalid-arguments', wire: 'full', carrier: 'request', ownTools: [] },
};

const OSLO = { city: 'Oslo' };

function answer(...calls: readonly (PlayedCall | undefined)[]) {
  return calls.reduce((made, call) => (call === undefined ? made : made.call(call.name, call.args)), reply());
}

async function play(
  preset: DiscoveryPreset,
  steps: readonly (readonly (PlayedCall | undefined)[])[],
  options: PlayOptions = {},
) {
  const entries: { readonly name: string; readonly input: unknown }[] = [];
  const script = [
    ...steps.filter((calls) => calls.some((call) => call !== undefined)).map((calls) => answer(...calls)),
    reply().text('Done.'),
  ];
  const played = await playTurn('memory', script, {
    ...options,
    agent: { tools: presetTools((name, input) => entries.push({ name, input })), ...options.agent },
    run: { discovery: { preset }, ...options.run },
  });
  return { ...played, entries };
}

/** The facts of the call of a tool, in order, without what says where they stand. */
function factsOf(records: readonly LedgerRecord[], toolName: string) {
  const called = ofType(records, 'tool.called').find((record) => record.data.toolName === toolName);
  return records.filter((record) => record.call === called?.call).map((record) => record.type);
}

function codesOf(records: readonly LedgerRecord[]) {
  return ofType(records, 'tool.refused').map((record) => record.data.code);
}

describe.each(PRESET_NAMES)('XC-03 %s', (preset) => {
  const { load, use } = DRIVERS[preset];
  const expected = EXPECTED[preset];

  it('records itself on the turn', async () => {
    const { records } = await play(preset, []);
    expect(ofType(records, 'turn.opened').map((record) => record.data.discovery)).toEqual([preset]);
  });

  it('sends of deferred tools what its wire form says', async () => {
    const { model } = await play(preset, []);
    const tools = model.requests[0]?.request.tools ?? [];
    const deferred = ['get_tides', 'get_weather', 'send_mail'];
    const standing = ['note', ...expected.ownTools];
    if (expected.wire === 'absent') expect(tools.map((tool) => tool.name)).toEqual(standing.sort());
    else if (expected.wire === 'full')
      expect(tools.map((tool) => tool.name)).toEqual(['get_tides', 'get_weather', 'note', 'send_mail']);
    else expect(tools.map((tool) => tool.name)).toEqual([...standing.sort(), ...deferred]);
    const parameters = JSON.stringify(tools).includes('Name of the place.');
    expect(parameters).toBe(expected.wire === 'full');
  });

  it('runs a loaded tool once, on the path of every call', async () => {
    const { records, entries, result } = await play(preset, [
      [load('get_weather')],
      [use('get_weather', OSLO)],
    ]);
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(entries).toEqual([{ name: 'get_weather', input: { city: 'Oslo', days: 1 } }]);
    expect(factsOf(records, 'get_weather')).toEqual(['tool.called', 'tool.dispatched', 'tool.settled']);
    const [called] = ofType(records, 'tool.called').filter(({ data }) => data.toolName === 'get_weather');
    expect(called?.data.args).toEqual(OSLO);
  });

  it('brings the schema of a loaded tool where its carrier says, once and whole', async () => {
    const { model } = await play(preset, [[load('get_weather')], [use('get_weather', OSLO)]]);
    const after = expected.wire === 'full' ? 0 : 1;
    const inRequest = JSON.stringify(model.requests[after]?.request.tools).includes('Name of the place.');
    const inResults = JSON.stringify(model.requests[after]?.messages).includes('Name of the place.');
    expect({ inRequest, inResults }).toEqual({
      inRequest: expected.carrier === 'request',
      inResults: expected.carrier === 'result',
    });
  });

  it.each(['before', 'after'])('treats a call %s its load in one step by its rule', async (order) => {
    const calls = [load('get_weather'), use('get_weather', OSLO)];
    const { records, entries } = await play(preset, [order === 'after' ? calls : calls.reverse()]);
    expect(entries).toHaveLength(expected.early === 'runs' ? 1 : 0);
    expect(codesOf(records)).toEqual(expected.early === 'runs' ? [] : [expected.early]);
  });

  it('treats a call that does not fit before its load by its rule', async () => {
    const { records, entries } = await play(preset, [[use('get_weather', { town: 1 })]]);
    expect(entries).toEqual([]);
    expect(codesOf(records)).toEqual([expected.earlyMisfit]);
  });

  it('runs in a later step what it refused', async () => {
    const { entries } = await play(preset, [
      [load('get_weather'), use('get_weather', { town: 1 })],
      [use('get_weather', OSLO)],
    ]);
    expect(entries).toHaveLength(1);
  });

  it('refuses wrong arguments of a loaded tool as invalid', async () => {
    const { records, entries } = await play(preset, [
      [load('get_weather')],
      [use('get_weather', { town: 1 })],
    ]);
    expect(entries).toEqual([]);
    expect(codesOf(records)).toEqual(['invalid-arguments']);
  });

  it('knows no tool that is not bound', async () => {
    const { records } = await play(preset, [[{ name: 'launch', args: {} }]]);
    expect(codesOf(records)).toEqual(['unknown-tool']);
  });

  it('asks permission for the tool itself and runs nothing that is denied', async () => {
    const asked: JsonObject[] = [];
    const { entries, records } = await play(
      preset,
      [[load('send_mail')], [use('send_mail', { to: 'Ann' })]],
      {
        agent: {
          permission: ({ toolName, input }) => {
            asked.push({ toolName, input });
            return toolName === 'send_mail' ? 'deny' : 'allow';
          },
        },
      },
    );
    expect(asked.at(-1)).toEqual({ toolName: 'send_mail', input: { to: 'Ann' } });
    expect(entries).toEqual([]);
    expect(factsOf(records, 'send_mail')).toEqual(['tool.called', 'tool.refused']);
    expect(codesOf(records)).toEqual(['denied']);
  });

  it('blocks the third identical call that fails', async () => {
    const failing = presetTools(() => {
      throw new Error('no wind');
    });
    const call = [use('get_weather', OSLO)];
    const { records } = await play(preset, [[load('get_weather')], call, call, call], {
      agent: { tools: failing },
    });
    expect(codesOf(records)).toEqual(['loop-gate']);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.toolName)).toEqual(['get_weather']);
  });

  it('sends the same tools again where an attempt of a step fails', async () => {
    const loading = load('get_weather');
    const script = [
      ...(loading === undefined ? [] : [answer(loading)]),
      failure({ kind: 'network' }),
      reply().text('Done.'),
    ];
    const { model } = await playTurn('memory', script, {
      agent: { tools: presetTools(), limits: { attempts: { baseDelayMs: 0 } } },
      run: { discovery: { preset } },
    });
    const [first, second] = model.requests.slice(-2);
    expect(second?.request.tools).toEqual(first?.request.tools);
  });

  it('replays a call as the model made it', async () => {
    const used = use('get_weather', OSLO);
    const { model } = await play(preset, [[load('get_weather')], [used]]);
    const calls = (model.requests.at(-1)?.messages ?? []).flatMap((message) => message.calls);
    expect(calls.at(-1)).toMatchObject({ name: used.name, args: used.args });
    expect(lastResults(model, model.requests.length - 1)).toEqual(['get_weather done']);
  });
});
