import { describe, expect, it } from 'vitest';
import { type AgentDefinition, defineAgent } from '../../src/agent/define-agent.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { createToolSpy } from '../support/tool-spy.ts';

const base = { name: 'lead', instructions: 'Ask.', model: scriptedModel({ script: [] }) };
const scout = defineAgent({ ...base, name: 'scout' });
const tool = (name: string) => createToolSpy().tool(name);

describe('wrong ways to other agents', () => {
  it.each([
    ['a child twice', { agents: [scout, scout] }, 'invalid-definition', 'ask_scout'],
    ['a handoff twice', { handoffs: [scout, 'scout'] }, 'invalid-definition', 'transfer_to_scout'],
    [
      'a tool named like a child',
      { agents: [scout], tools: [tool('ask_scout')] },
      'reserved-tool-name',
      'ask_scout',
    ],
    [
      'a tool that looks like one',
      { agents: [scout], tools: [tool('ask_sc0ut')] },
      'reserved-tool-name',
      'ask_scout',
    ],
    ['a definition as a child', { agents: [scout.definition] }, 'invalid-definition', 'agents.0'],
    ['a name as a child', { agents: ['scout'] }, 'invalid-definition', 'agents.0'],
    ['a name that is none', { handoffs: ['no name'] }, 'invalid-definition', 'handoffs.0'],
  ])('throw where they are composed: %s', (_, more, code, culprit) => {
    // What the types refuse has to be refused where there are none.
    const definition = { ...base, ...more } as unknown as AgentDefinition<unknown>;
    expect(() => defineAgent(definition)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(culprit) }),
    );
  });

  it('may be both for one agent', () => {
    const lead = defineAgent({ ...base, agents: [scout], handoffs: [scout] });
    expect(lead.delegations.map(({ bound }) => bound.name)).toEqual(['ask_scout', 'transfer_to_scout']);
    expect(Object.isFrozen(lead.agents)).toBe(true);
  });
});
