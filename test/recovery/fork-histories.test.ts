import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { type CallId, operationIdOf } from '../../src/ids.ts';
import { reply } from '../../src/testing/reply.ts';
import type { ParsedRequest } from '../../src/testing/script.ts';
import { type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { violationsOf } from '../invariants/session.ts';
import { openLedger } from '../support/ledgers.ts';
import { ofType } from '../support/run-events.ts';
import { swarmOn } from '../support/swarm-run.ts';

const isSummary = ({ toolNames, system }: ParsedRequest) =>
  toolNames.length === 0 && system.includes('memory of an assistant');

/** Eight steps with long arguments in a window that takes five of them: what is before is folded. */
function foldingAgent() {
  const model = scriptedModel({
    contextWindow: 8_000,
    script(request) {
      if (isSummary(request)) return reply().text('It was long.');
      // Told by its steps, so that a fork is answered as its origin was.
      const notes = request.messages.flatMap(({ calls }) => calls).length;
      return notes < 5 || !request.messages.some(({ text }) => text.includes('It was long.'))
        ? reply().call('note', { text: 'x'.repeat(4_000) })
        : reply().text('done');
    },
  });
  const note = defineTool({
    name: 'note',
    description: 'Notes.',
    inputSchema: z.object({ text: z.string() }),
    execute: ({ text }) => `noted ${text.length}`,
  });
  const agent = defineAgent({ name: 'worker', instructions: 'Work.', model, tools: [note] });
  return { agent, model };
}

/** Texts of the steps of a model, in order; those of summaries are not among them. */
const steps = (model: ScriptedModel) => model.requests.filter((request) => !isSummary(request));

describe('a fork of a long history', () => {
  it('sends what its origin sent, folds included', async () => {
    const { agent, model } = foldingAgent();
    const { runtime, ledger } = swarmOn(await openLedger('memory'), { agents: [agent] });
    const run = runtime.run(agent, 'go');
    expect(await run.result).toMatchObject({ status: 'completed' });
    const records = await ledger.read(run.sessionId);
    const sent = steps(model).map(({ messages }) => messages);
    const closed = ofType(records, 'step.closed');
    expect(ofType(records, 'compaction.committed').length).toBeGreaterThan(0);
    for (const [at, { seq }] of closed.slice(0, -1).entries()) {
      const before = steps(model).length;
      const fork = runtime.fork(run.sessionId, { atSeq: seq });
      expect(await fork.result).toMatchObject({ status: 'completed' });
      expect(steps(model)[before]?.messages).toEqual(sent[at + 1]);
      expect(violationsOf({ records: await ledger.read(fork.sessionId) })).toEqual([]);
    }
  });

  it('names positions of its own where facts were left out before them', async () => {
    const { agent } = foldingAgent();
    const { runtime, ledger } = swarmOn(await openLedger('memory'), {
      agents: [agent],
      // Each fact of an effect that was done stands between the others, and is not taken over.
      hooks: { afterToolCall: () => undefined, afterStep: () => undefined },
    });
    const run = runtime.run(agent, 'go');
    await run.result;
    const records = await ledger.read(run.sessionId);
    const fork = runtime.fork(run.sessionId, { atSeq: records.length });
    await fork.result;
    const taken = await ledger.read(fork.sessionId);
    const origin = ofType(records, 'compaction.committed')[0];
    const own = ofType(taken, 'compaction.committed')[0];
    const covered = (all: typeof records, seq = 0) => all[seq - 1];
    expect(covered(taken, own?.data.coversSeq)?.type).toBe(covered(records, origin?.data.coversSeq)?.type);
    expect(covered(taken, own?.data.coversSeq)?.call?.split('.').slice(1)).toEqual(
      covered(records, origin?.data.coversSeq)?.call?.split('.').slice(1),
    );
  });
});

describe('a fork of calls that go through another', () => {
  it('takes them over with ids and operations of its own', async () => {
    const entered: string[] = [];
    const deep = defineTool({
      name: 'deep',
      description: 'Dives.',
      inputSchema: z.object({ depth: z.number() }),
      defer: 'always',
      execute: ({ depth }, { callId }) => {
        entered.push(callId);
        return `at ${depth}`;
      },
    });
    const model = scriptedModel({
      script: [
        // Called through another one, a tool has to be looked at first.
        reply().call('tool_inspect', { name: 'deep' }),
        reply().call('tool_invoke', { name: 'deep', params: { depth: 3 } }),
        reply().text('first'),
        reply().text('again'),
      ],
    });
    const agent = defineAgent({
      name: 'diver',
      instructions: 'Dive.',
      model,
      tools: [deep],
      discovery: { preset: 'invoke' },
    });
    const { runtime, ledger } = swarmOn(await openLedger('memory'), { agents: [agent] });
    const run = runtime.run(agent, 'go');
    await run.result;
    expect(entered).toHaveLength(1);
    const records = await ledger.read(run.sessionId);
    const [settled] = ofType(records, 'tool.settled').filter(({ call }) => call === entered[0]);
    const fork = runtime.fork(run.sessionId, { atSeq: settled?.seq ?? 0 });
    expect(await fork.result).toMatchObject({ status: 'completed', text: 'again' });
    expect(entered).toHaveLength(1);
    expect(model.requests[3]?.messages).toEqual(model.requests[2]?.messages);
    for (const { call, data } of ofType(await ledger.read(fork.sessionId), 'tool.dispatched')) {
      expect(call?.startsWith(`${fork.sessionId}.`)).toBe(true);
      expect(data.operationId).toBe(operationIdOf(call as CallId));
    }
  });
});
