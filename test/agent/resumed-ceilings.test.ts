import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { createRuntime } from '../../src/runtime.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { portOf } from '../support/edited-ledger.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

describe('the ceiling of a run', { timeout: 10_000 }, () => {
  it.each(['ask', 'transfer_to'] as const)('GS-05 holds below a turn that is taken up: %s', async (way) => {
    const ledger = memoryLedger();
    const port = () => ({ ...portOf(ledger), close: async () => undefined });
    const gate = createGate();
    const spy = createToolSpy();
    const worker = scriptedModel({ script: () => reply().text('done') });
    const lead = scriptedModel({
      script: async ({ messages }) => {
        await gate.pass();
        if (messages.at(-1)?.role === 'tool') return reply().text('done');
        return reply().call(`${way}_worker`, way === 'ask' ? { task: 'Go.' } : { message: 'Go.' });
      },
    });
    const other = defineAgent({
      name: 'worker',
      instructions: 'Work.',
      model: worker,
      tools: [spy.tool('look'), spy.tool('del')],
    });
    const root = defineAgent({
      name: 'lead',
      instructions: 'Lead.',
      model: lead,
      ...(way === 'ask' ? { agents: [other] } : { handoffs: [other] }),
    });
    const first = createRuntime({ ledger: port() });
    const run = first.run(root, 'x', { boundTools: ['look', `${way}_worker`] });
    await gate.reached;
    await first.close();
    gate.open();
    const { runtime } = watchedRuntime({ ledger: port() });
    expect(await runtime.resume(root, run.sessionId).result).toMatchObject({ status: 'completed' });
    expect(worker.requests.map(({ toolNames }) => toolNames)).toEqual([['look']]);
  });
});
