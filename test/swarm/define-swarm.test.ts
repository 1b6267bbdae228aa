import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { defineSwarm, isSwarm } from '../../src/graph/define-swarm.ts';
import { createRuntime } from '../../src/runtime.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';

const model = scriptedModel({ script: [] });
const agent = (name: string, more: object = {}) =>
  defineAgent({ name, instructions: 'Work.', model, ...more });
const lead = agent('lead');
const worker = agent('worker');
const good = { name: 'team', supervisor: lead, agents: [worker], mode: 'swarm' as const };

describe('a swarm', () => {
  it('is plain frozen data', () => {
    const swarm = defineSwarm({ ...good, description: 'Works.', limits: { fanOut: 2 } });
    expect(swarm).toMatchObject({ kind: 'swarm', name: 'team', description: 'Works.', mode: 'swarm' });
    expect(isSwarm(swarm)).toBe(true);
    for (const part of [swarm, swarm.agents, swarm.limits]) expect(Object.isFrozen(part)).toBe(true);
  });

  it.each([
    ['a name with a space', { name: 'a b' }, 'name: must match'],
    ['a supervisor that is no agent', { supervisor: {} }, 'supervisor: must be an agent'],
    ['no agents', { agents: [] }, 'agents: must name at least one'],
    ['something else among the agents', { agents: [worker, 'x'] }, 'agents.1: must be an agent'],
    ['two agents of a name', { agents: [worker, agent('worker')] }, 'two agents named worker'],
    ['the supervisor among its agents', { agents: [lead] }, 'two agents named lead'],
    ['an unknown mode', { mode: 'default' }, 'mode:'],
    ['an unknown field', { agent: worker }, 'unknown field agent'],
    [
      'a supervisor that hands over',
      { supervisor: agent('lead', { handoffs: [worker] }) },
      'lead hands over',
    ],
  ])('with %s is refused, naming it', (_, wrong, complaint) => {
    // JavaScript callers get past the types.
    const define = () => defineSwarm({ ...good, ...wrong } as typeof good);
    expect(define).toThrow(expect.objectContaining({ code: 'invalid-definition' }));
    const name = 'name' in wrong ? 'a b' : 'team';
    expect(define).toThrow(new RegExp(`swarm ${name}: .*${complaint}`));
  });

  it('with an unknown limit is refused', () => {
    expect(() => defineSwarm({ ...good, limits: { fan: 1 } as object })).toThrow(
      expect.objectContaining({ code: 'invalid-limit' }),
    );
  });

  it('stands in the registry under its own name only', () => {
    const swarm = defineSwarm(good);
    expect(() => createRuntime({ agents: { team: swarm } })).not.toThrow();
    expect(() => createRuntime({ agents: { crew: swarm } })).toThrow(/agents\.crew is the swarm team/);
  });
});
