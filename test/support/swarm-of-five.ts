import { z } from 'zod';
import { type Agent, defineAgent } from '../../src/agent/define-agent.ts';
import { reply } from '../../src/testing/reply.ts';
import type { ParsedRequest } from '../../src/testing/script.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';

/** What a lead and its children answer: the same in any process, from what the request holds alone. */
function answer(name: string, first: ReturnType<typeof reply>) {
  const model = scriptedModel({
    script: ({ messages }: ParsedRequest) =>
      messages.some(({ role }) => role === 'tool')
        ? reply().text(`${name} is done.`).usage(5, 1)
        : first.usage(5, 1),
  });
  return { name, instructions: 'Work.', model };
}

/**
 * A lead that asks five children in one step. Each has one effect; the last one asks a child of its own first, so that
 * six sessions have an effect each.
 */
export function swarmOfFive(effect: (id: string) => void): Agent {
  const work = defineTool({
    name: 'work',
    description: 'Has an effect that must not happen twice.',
    inputSchema: z.object({ id: z.string() }),
    execute({ id }) {
      effect(id);
      return `${id} worked`;
    },
  });
  const worker = (name: string, agents: readonly Agent<string>[] = []) => {
    const step = agents.reduce(
      (made, { name: below }) => made.call(`ask_${below}`, { task: 'work' }),
      reply().call('work', { id: name }),
    );
    return defineAgent({ ...answer(name, step), tools: [work], agents });
  };
  const children = ['one', 'two', 'three', 'four'].map((name) => worker(name));
  children.push(worker('five', [worker('leaf')]));
  const ask = children.reduce((made, { name }) => made.call(`ask_${name}`, { task: 'work' }), reply());
  return defineAgent({ ...answer('lead', ask), agents: children });
}

/** Ids of all effects the swarm has. */
export const EFFECTS = ['one', 'two', 'three', 'four', 'five', 'leaf'] as const;
