import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { presetTools } from '../support/discovery-presets.ts';
import { guarded, playOverRestart } from '../support/paused-run.ts';
import { ofType } from '../support/run-events.ts';

const discovery = { preset: 'placeholder' } as const;
const misfit = reply().call('get_weather', { town: 1 });
const asks = reply().call('guarded', {});

describe('discovery over a restart', () => {
  it('SD-05 goes on counting the calls that failed in one shape', async () => {
    const { records } = await playOverRestart([misfit, misfit, asks, misfit, reply().text('Done.')], {
      tools: [...presetTools(), guarded],
      discovery,
    });
    const details = ofType(records, 'tool.refused').map(({ data }) => data.details);
    expect(details).toEqual([undefined, undefined, { noProgress: expect.objectContaining({ repeats: 3 }) }]);
  });

  it('SD-04 runs a direct call that waited for a person, and makes its tool active', async () => {
    const inputs: unknown[] = [];
    const wipe = defineTool({
      name: 'wipe',
      description: 'Wipes.',
      inputSchema: z.object({ path: z.string() }),
      defer: 'always',
      needsApproval: true,
      execute: (input) => {
        inputs.push(input);
        return 'wiped';
      },
    });
    const { records, result } = await playOverRestart(
      [reply().call('wipe', { path: 'a' }), reply().text('Done.')],
      { tools: [wipe], discovery },
    );
    expect(result.status).toBe('completed');
    expect(inputs).toEqual([{ path: 'a' }]);
    expect(ofType(records, 'tools.activated').map(({ data }) => data.names)).toEqual([['wipe']]);
    expect(ofType(records, 'step.opened').at(-1)?.data.active).toEqual(['wipe']);
  });

  it('SD-12 does not repeat the text of an activation', async () => {
    const notes: (readonly string[])[] = [];
    await playOverRestart(
      [
        reply().call('get_weather', { city: 'Oslo' }),
        asks,
        reply().call('ToolSearch', { query: 'select:get_weather,send_mail' }),
        reply().text('Done.'),
      ],
      {
        tools: [...presetTools(), guarded],
        discovery: {
          ...discovery,
          activationNote: (names) => {
            notes.push(names);
            return undefined;
          },
        },
      },
    );
    expect(notes).toEqual([['get_weather'], ['send_mail']]);
  });

  it('counts what mending cost before it', async () => {
    const model = scriptedModel({ script: [reply().text('{"text":"x"}').usage(100, 10)] });
    const { result } = await playOverRestart(
      [reply().call('note', { words: 'x' }).usage(1, 1), asks.usage(1, 1), reply().text('Done.').usage(1, 1)],
      { tools: [...presetTools(), guarded], discovery: { repair: { model } } },
    );
    expect(result.usage.total).toMatchObject({ inputTokens: 103, outputTokens: 13 });
  });
});
