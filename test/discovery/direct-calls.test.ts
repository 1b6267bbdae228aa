import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../../src/ledger/content.ts';
import type { GateSubjects } from '../../src/lifecycle/hooks.ts';
import { reply } from '../../src/testing/reply.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { presetTools } from '../support/discovery-presets.ts';
import { playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { ofType } from '../support/run-events.ts';

const run = { discovery: { preset: 'placeholder' } } as const;
const CODE = 'tool.deferred_schema_incompatible';
const OSLO = { city: 'Oslo' };
const TOWN = { town: 'Oslo' };

function spied() {
  const inputs: unknown[] = [];
  return { inputs, tools: presetTools((_, input) => inputs.push(input)) };
}

describe('a direct call whose arguments fit', () => {
  it('SD-04 runs on the path of every call, and makes its tool active', async () => {
    const { inputs, tools } = spied();
    const { model, records } = await playTurn(
      'memory',
      [reply().call('get_weather', OSLO), reply().text('Done.')],
      { agent: { tools }, run },
    );
    expect(inputs).toEqual([{ city: 'Oslo', days: 1 }]);
    const [called] = ofType(records, 'tool.called');
    expect(records.filter(({ call }) => call === called?.call).map(({ type }) => type)).toEqual([
      'tool.called',
      'tool.dispatched',
      'tools.activated',
      'tool.settled',
    ]);
    expect(lastResults(model, 1)).toEqual(['get_weather done']);
    expect(ofType(records, 'step.opened').map(({ data }) => data.active)).toEqual([[], ['get_weather']]);
  });

  it('SD-04 passes its progress and its whole result through', async () => {
    const count = defineTool({
      name: 'count',
      description: 'Counts.',
      inputSchema: z.object({}),
      defer: 'always',
      execute: (_, ctx) => {
        ctx.progress('half');
        return { counted: [1, 2] };
      },
    });
    const { records } = await playTurn('memory', [reply().call('count', {}), reply().text('Done.')], {
      agent: { tools: [count] },
      run,
    });
    expect(ofType(records, 'tool.progressed').map(({ data }) => data.text)).toEqual(['half']);
    expect(ofType(records, 'tool.settled').map(({ data }) => data.output)).toEqual([
      { type: 'json', value: { counted: [1, 2] } },
    ]);
  });

  it('SD-04 is asked permission for under its own name, before anything runs', async () => {
    const { inputs, tools } = spied();
    const asked: string[] = [];
    const { records } = await playTurn('memory', [reply().call('get_weather', OSLO), reply().text('Done.')], {
      agent: {
        tools,
        permission: ({ toolName }) => {
          asked.push(toolName);
          return 'deny';
        },
      },
      run,
    });
    expect(asked).toEqual(['get_weather']);
    expect(inputs).toEqual([]);
    expect(ofType(records, 'tools.activated')).toEqual([]);
  });
});

/** Plays calls of `get_weather`, one step for each list of arguments. */
async function misfits(...steps: readonly (readonly JsonObject[])[]) {
  const { inputs, tools } = spied();
  const script = steps.map((calls) => calls.reduce((made, args) => made.call('get_weather', args), reply()));
  const played = await playTurn('memory', [...script, reply().text('Done.')], { agent: { tools }, run });
  const refused = ofType(played.records, 'tool.refused').map(({ data }) => data);
  return { ...played, inputs, refused };
}

describe('a direct call whose arguments do not fit', () => {
  it('SD-05 runs nothing, shows the schema and makes the tool active', async () => {
    const { inputs, refused, records, model } = await misfits([TOWN]);
    expect(inputs).toEqual([]);
    expect(refused.map(({ code }) => code)).toEqual(['needs-schema']);
    expect(refused[0]?.text).toContain('"city":{"type":"string","description":"Name of the place."}');
    expect(ofType(records, 'tools.activated').map(({ data }) => data.names)).toEqual([['get_weather']]);
    expect(JSON.stringify(model.requests[1]?.request.tools)).toContain('Name of the place.');
  });

  it('SD-05 carries a stable code in text and details when one shape has failed three times', async () => {
    const { refused } = await misfits([TOWN], [{ town: 'Bergen' }], [{ town: 'Kiel' }], [{ town: 'Aarhus' }]);
    expect(refused.map(({ text }) => text.includes(CODE))).toEqual([false, false, true, true]);
    expect(refused.map(({ details }) => details)).toEqual([
      undefined,
      undefined,
      { noProgress: { code: CODE, repeats: 3 } },
      { noProgress: { code: CODE, repeats: 4 } },
    ]);
  });

  it('SD-05 counts the calls of one step like those of several', async () => {
    const { refused } = await misfits([TOWN, TOWN, TOWN]);
    expect(refused.map(({ details }) => details !== undefined)).toEqual([false, false, true]);
  });

  it.each([
    { what: 'another shape', between: { place: 'Oslo' } },
    { what: 'a call that fits', between: OSLO },
  ])('SD-05 counts anew after $what', async ({ between }) => {
    const { refused } = await misfits([TOWN], [TOWN], [between], [TOWN], [TOWN]);
    expect(refused.filter(({ details }) => details !== undefined)).toEqual([]);
  });
});

type Activation = GateSubjects['beforeActivation'];

describe('an activation that does not come about', () => {
  const search = reply().call('ToolSearch', { query: 'select:get_weather' });

  it('SD-06 is announced nowhere and leaves nothing behind', async () => {
    const { model, records } = await playTurn('memory', [search, reply().text('Done.')], {
      agent: {
        tools: presetTools(),
        hooks: {
          beforeActivation: () => {
            throw new Error('no place');
          },
        },
      },
      run,
    });
    expect(lastResults(model, 1)[0]).toContain('{"activated":[]}');
    expect(ofType(records, 'tools.activated')).toEqual([]);
    expect(ofType(records, 'step.opened').map(({ data }) => data.active)).toEqual([[], []]);
    expect(model.requests[1]?.request.tools).toEqual(model.requests[0]?.request.tools);
  });

  it('SD-06 is not seen by a call of the same step, which makes its own', async () => {
    const staged = Promise.withResolvers<undefined>();
    const { inputs, tools } = spied();
    const { records } = await playTurn(
      'memory',
      [
        reply().call('ToolSearch', { query: 'select:get_weather,send_mail' }).call('get_weather', OSLO),
        reply().text('Done.'),
      ],
      {
        agent: {
          tools,
          hooks: {
            beforeActivation: async ({ names }: Activation) => {
              // The search waits with both names until the call has been through, and is refused then.
              if (names.length === 2) {
                await staged.promise;
                return { refuse: 'no place' };
              }
              staged.resolve(undefined);
              return undefined;
            },
          },
        },
        run,
      },
    );
    expect(inputs).toHaveLength(1);
    const activated = ofType(records, 'tools.activated');
    expect(activated.map(({ data, call }) => [data.names, call])).toEqual([
      [['get_weather'], ofType(records, 'tool.called')[1]?.call],
    ]);
  });

  it('SD-06 keeps a call from running whose tool may not become active', async () => {
    const { inputs, tools } = spied();
    const { records } = await playTurn('memory', [reply().call('get_weather', OSLO), reply().text('Done.')], {
      agent: { tools, hooks: { beforeActivation: () => ({ refuse: 'no' }) } },
      run,
    });
    expect(inputs).toEqual([]);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['gate-refused']);
    expect(ofType(records, 'tool.dispatched')).toEqual([]);
  });
});
