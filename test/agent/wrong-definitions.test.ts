import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type Agent,
  type AgentDefinition,
  createRuntime,
  defineAgent,
  defineTool,
  isSwarmError,
  memoryLedger,
  openaiCompatible,
  type RuntimeOptions,
  SwarmError,
  type SwarmErrorCode,
} from '../../src/index.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { hasUnseen } from '../../src/tools/safe-text.ts';

const model = scriptedModel({ script: () => reply().text('Hello.') });

// What JavaScript callers can write: the types would not let most of it pass.
const tool = (more: object = {}) =>
  defineTool({
    name: 'work',
    description: 'Works.',
    inputSchema: z.object({}),
    execute: () => 'worked',
    ...more,
  });
const agent = (more: object = {}) =>
  defineAgent({ name: 'worker', instructions: 'Work.', model, ...more } as AgentDefinition<unknown>);
const runtime = (options: object = {}) => createRuntime(options as RuntimeOptions);
const run = (options: object, input: unknown = 'Go.') => runtime().run(agent(), input as string, options);

type Row = readonly [what: string, make: () => unknown, code: SwarmErrorCode, names: string];

const ROWS: readonly Row[] = [
  ['two tools of one name', () => agent({ tools: [tool(), tool()] }), 'duplicate-tool', 'work'],
  [
    'two tools whose names look alike',
    () => agent({ tools: [tool({ name: 'pay' }), tool({ name: 'Pay' })] }),
    'look-alike-tool-name',
    'Pay',
  ],
  [
    'a tool with a name of the runtime',
    () => agent({ tools: [tool({ name: 'tool_search' })] }),
    'reserved-tool-name',
    'tool_search',
  ],
  ['an agent in place of a definition', () => agent(agent()), 'invalid-definition', 'agent.definition'],
  ['a tool name no provider takes', () => tool({ name: 'two words' }), 'invalid-definition', 'two words'],
  [
    'a schema whose root is no object',
    () => agent({ tools: [tool({ inputSchema: z.array(z.string()) })] }),
    'unusable-schema',
    'work',
  ],
  [
    'a JSON Schema that allows no object',
    () => agent({ tools: [tool({ inputSchema: { type: 'string' } })] }),
    'unusable-schema',
    'work',
  ],
  ['a schema that is none', () => tool({ inputSchema: 'object' }), 'invalid-definition', 'inputSchema'],
  ['an unknown field of a tool', () => tool({ retries: 3 }), 'invalid-definition', 'retries'],
  ['a tool timeout of 0', () => tool({ timeoutMs: 0 }), 'invalid-definition', 'timeoutMs'],
  [
    'a recovery that lacks its function',
    () => tool({ recovery: 'reconcile' }),
    'invalid-definition',
    'reconcile',
  ],
  ['a tool that is none', () => agent({ tools: [{ name: 'work' }] }), 'invalid-definition', 'tools'],
  ['an unknown field of an agent', () => agent({ temperature: 1 }), 'invalid-definition', 'temperature'],
  ['an agent name that is no token', () => agent({ name: 'a.b' }), 'invalid-definition', 'a.b'],
  ['an agent without a model', () => agent({ model: {} }), 'invalid-definition', 'model'],
  ['an unknown setting', () => agent({ settings: { temprature: 1 } }), 'invalid-definition', 'temprature'],
  [
    'an unknown hook of an agent',
    () => agent({ hooks: { beforeLunch() {} } }),
    'invalid-definition',
    'beforeLunch',
  ],
  [
    'a hook that is no function',
    () => agent({ hooks: { beforeToolCall: true } }),
    'invalid-definition',
    'beforeToolCall',
  ],
  ['a limit below 0', () => agent({ limits: { steps: -1 } }), 'invalid-limit', 'limits.steps'],
  [
    'a limit that is no number',
    () => agent({ limits: { tools: { timeoutMs: Number.NaN } } }),
    'invalid-limit',
    'limits.tools.timeoutMs',
  ],
  ['an unknown limit', () => agent({ limits: { stepz: 1 } }), 'invalid-limit', 'stepz'],
  ['an unknown option of a runtime', () => runtime({ leger: memoryLedger() }), 'invalid-definition', 'leger'],
  ['a ledger that is none', () => runtime({ ledger: {} }), 'invalid-definition', 'ledger'],
  [
    'a policy that is no function',
    () => runtime({ permission: 'allow' }),
    'invalid-definition',
    'permission',
  ],
  [
    'an unknown hook of a runtime',
    () => runtime({ hooks: [{ afterLunch() {} }] }),
    'invalid-definition',
    'afterLunch',
  ],
  [
    'a limit of a runtime below 0',
    () => runtime({ limits: { approvals: { expiryMs: -5 } } }),
    'invalid-limit',
    'limits.approvals.expiryMs',
  ],
  [
    'an agent registered under another name',
    () => runtime({ agents: { other: agent() } }),
    'invalid-definition',
    'other',
  ],
  [
    'a registered agent that is none',
    () => runtime({ agents: { worker: {} } }),
    'invalid-definition',
    'worker',
  ],
  [
    'a sink that takes no events',
    () => runtime({ sinks: [{ name: 'log' }] }),
    'invalid-definition',
    'sinks.0',
  ],
  [
    'an unknown field of a model',
    () => openaiCompatible({ baseURL: 'http://x/v1', model: 'm', ...{ temprature: 1 } }),
    'invalid-model',
    'temprature',
  ],
  [
    'an address that is none',
    () => openaiCompatible({ baseURL: 'nope', model: 'm' }),
    'invalid-model',
    'baseURL',
  ],
  ['a budget below 0', () => run({ budget: { steps: -1 } }), 'invalid-limit', 'budget.steps'],
  ['an unknown budget', () => run({ budget: { stepz: 1 } }), 'invalid-limit', 'stepz'],
  ['an unknown option of a run', () => run({ onaproval: 'pause' }), 'invalid-definition', 'onaproval'],
  ['a way to wait that is none', () => run({ onApproval: 'maybe' }), 'invalid-definition', 'onApproval'],
  ['a session id that is no token', () => run({ sessionId: 'a.b' }), 'invalid-input', 'session id'],
  ['an input that is neither text nor parts', () => run({}, 7), 'invalid-input', 'input'],
  ['a target that is no agent', () => runtime().run({} as Agent, 'Go.'), 'invalid-definition', 'defineAgent'],
  ['a resume of an unknown name', () => runtime().resume('nobody', 's-1'), 'unknown-agent', 'nobody'],
];

describe('the definition of an agent', () => {
  it('is a base for another agent', () => {
    const first = agent({ tools: [tool()], output: z.object({ done: z.boolean() }), limits: { steps: 3 } });
    const second = defineAgent({ ...first.definition, name: 'second' });
    expect(second.name).toBe('second');
    expect(second.tools).toEqual(first.tools);
    expect(second.limits).toEqual(first.limits);
    expect(second.output?.responseSchema).toEqual(first.output?.responseSchema);
    expect(Object.isFrozen(first.definition)).toBe(true);
  });
});

describe('wrong definitions', () => {
  it.each(ROWS)('throw where they are composed, and name the culprit: %s', (_, make, code, names) => {
    let thrown: unknown;
    try {
      make();
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(SwarmError);
    expect(isSwarmError(thrown, code) ? 'as it should be' : thrown).toBe('as it should be');
    expect(String(thrown)).toContain(names);
  });

  it('never show what is hostile in a name', () => {
    let thrown: unknown;
    try {
      tool({ name: 'evil\u202Ename\u001B[31m\n'.repeat(50) });
    } catch (error) {
      thrown = error;
    }
    expect(String(thrown)).toContain('evil');
    expect(hasUnseen(String(thrown))).toBe(false);
    expect(String(thrown).length).toBeLessThan(400);
  });

  it('do not stop what is right: limits of 0 and Infinity are limits', () => {
    expect(agent({ limits: { steps: 0, toolConcurrency: Number.POSITIVE_INFINITY } }).limits.steps).toBe(0);
  });
});
