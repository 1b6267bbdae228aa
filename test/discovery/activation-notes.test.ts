import { describe, expect, it } from 'vitest';
import { reply } from '../../src/testing/reply.ts';
import type { DiscoveryOptions } from '../../src/tools/discovery-policy.ts';
import { presetTools } from '../support/discovery-presets.ts';
import { playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const roster = (names: readonly string[]) => `Roster for ${names.join(' and ')}.`;
const placeholder: DiscoveryOptions = { preset: 'placeholder', activationNote: roster };
const OSLO = { city: 'Oslo' };

const load = (names: string) => reply().call('ToolSearch', { query: `select:${names}` });

describe('the text that rides on an activation', () => {
  it('SD-12 is in the result of the search that activates', async () => {
    const { model } = await playTurn('memory', [load('get_weather,send_mail'), reply().text('Done.')], {
      agent: { tools: presetTools() },
      run: { discovery: placeholder },
    });
    expect(lastResults(model, 1)[0]).toMatch(/\nRoster for get_weather and send_mail\.$/);
  });

  it('SD-12 is behind the result of a direct call', async () => {
    const { model } = await playTurn('memory', [reply().call('get_weather', OSLO), reply().text('Done.')], {
      agent: { tools: presetTools() },
      run: { discovery: placeholder },
    });
    expect(lastResults(model, 1)).toEqual(['get_weather done\nRoster for get_weather.']);
  });

  it('SD-12 is behind the parameters that a misfit is answered with', async () => {
    const { model } = await playTurn(
      'memory',
      [reply().call('get_weather', { town: 1 }), reply().text('Done.')],
      { agent: { tools: presetTools() }, run: { discovery: placeholder } },
    );
    expect(lastResults(model, 1)[0]).toMatch(/\nRoster for get_weather\.$/);
  });

  it('SD-12 comes once a turn, whatever activates', async () => {
    const { model } = await playTurn(
      'memory',
      [
        load('get_weather').call('get_weather', OSLO),
        load('get_weather,send_mail').call('get_weather', OSLO),
        reply().text('Done.'),
      ],
      { agent: { tools: presetTools() }, run: { discovery: placeholder } },
    );
    const texts = [...lastResults(model, 1), ...lastResults(model, 2)].join('\n');
    expect(texts.match(/Roster for .*/g)?.sort()).toEqual([
      'Roster for get_weather.',
      'Roster for send_mail.',
    ]);
  });

  it('SD-12 is kept for the next activation where one does not come about', async () => {
    let refused = 0;
    const { model } = await playTurn(
      'memory',
      [load('get_weather'), load('get_weather'), reply().text('Done.')],
      {
        agent: {
          tools: presetTools(),
          hooks: {
            beforeActivation: () => {
              refused += 1;
              return refused === 1 ? { refuse: 'not yet' } : undefined;
            },
          },
        },
        run: { discovery: placeholder },
      },
    );
    expect(lastResults(model, 1)[0]).not.toContain('Roster');
    expect(lastResults(model, 2)[0]).toContain('Roster for get_weather.');
  });

  it('SD-12 is kept where a direct call is denied after its activation was prepared', async () => {
    let asked = 0;
    const { model } = await playTurn(
      'memory',
      [reply().call('send_mail', { to: 'Ann' }), load('send_mail'), reply().text('Done.')],
      {
        agent: {
          tools: presetTools(),
          permission: ({ toolName }) => {
            asked += 1;
            return toolName === 'send_mail' ? 'deny' : 'allow';
          },
        },
        run: { discovery: placeholder },
      },
    );
    expect(asked).toBeGreaterThan(0);
    expect(lastResults(model, 2)[0]).toContain('Roster for send_mail.');
  });

  it('leaves an activation as it is where the text cannot be made', async () => {
    const activationNote = () => {
      throw new Error('no roster');
    };
    const { model } = await playTurn('memory', [load('get_weather'), reply().text('Done.')], {
      agent: { tools: presetTools() },
      run: { discovery: { preset: 'placeholder', activationNote } },
    });
    expect(lastResults(model, 1)[0]).toBe('{"activated":["get_weather"]}');
  });
});

describe('the event of an activation', () => {
  it.each([
    ['search', load('get_weather')],
    ['direct call', reply().call('get_weather', OSLO)],
    ['shown schema', reply().call('get_weather', { town: 1 })],
  ])('SD-16 is not there while the gate may still say no: %s', async (_, first) => {
    const { model, agent } = scriptedAgent([first, reply().text('Done.')], {
      tools: presetTools(),
      discovery: placeholder,
    });
    const asked = Promise.withResolvers<undefined>();
    const decided = Promise.withResolvers<undefined>();
    const { runtime, ledger } = watchedRuntime({
      hooks: {
        beforeActivation: async () => {
          asked.resolve(undefined);
          await decided.promise;
        },
      },
    });
    const run = runtime.run(agent, 'Go.');
    const activations = async () => ofType(await ledger.read(run.sessionId), 'tools.activated').length;
    await asked.promise;
    const before = await activations();
    decided.resolve(undefined);
    await run.result;
    expect([before, await activations()]).toEqual([0, 1]);
    model.assertPlayedOut();
  });
});
