import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { mcpWorld } from '../support/mcp-world.ts';
import { lastResults } from '../support/requests.ts';
import { toolsOf } from '../support/search-turns.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const done = reply().text('Done.');

describe('a server of an agent that another one asks', () => {
  const family = (boundTools?: readonly string[]) => {
    const world = mcpWorld(['look', 'paint']);
    const childModel = scriptedModel({ script: [reply().call('world__look', {}), done, done, done] });
    const child = defineAgent({
      name: 'scout',
      instructions: 'Look.',
      model: childModel,
      tools: [world.server],
    });
    const model = scriptedModel({
      script: [
        reply().call('ask_scout', { task: 'Look.' }),
        reply().call('ask_scout', { task: 'Again.' }),
        done,
      ],
    });
    const lead = defineAgent({ name: 'lead', instructions: 'Lead.', model, agents: [child] });
    const { runtime } = watchedRuntime();
    return {
      world,
      childModel,
      model,
      result: runtime.run(lead, 'Go.', { ...(boundTools && { boundTools }) }).result,
    };
  };

  it('is asked for the child alone, and started once', async () => {
    const { world, childModel, model, result } = family();
    expect((await result).status).toBe('completed');
    expect(lastResults(childModel, 1)).toEqual(['look done']);
    expect(toolsOf(model)[0]).toEqual(['ask_scout']);
    expect(world.pids()).toHaveLength(1);
  });

  it('CX-10 is not asked where the run leaves out its tools', async () => {
    const { world, childModel, result } = family(['ask_scout']);
    await result;
    expect(toolsOf(childModel)[0]).toEqual([]);
    expect(world.log()).toEqual([]);
  });

  it('offers the child what the run allows', async () => {
    const { childModel, result } = family(['ask_scout', 'world__look']);
    await result;
    expect(toolsOf(childModel)[0]).toEqual(['world__look']);
  });
});
