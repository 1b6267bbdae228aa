import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { RunInput } from '../../src/agent/run-input.ts';
import { defineGraph } from '../../src/graph/define-graph.ts';
import { defineSwarm } from '../../src/graph/define-swarm.ts';
import type { Hooks } from '../../src/lifecycle/hooks.ts';
import { DEFAULT_LIMITS } from '../../src/limits.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { violationsOf } from '../invariants/session.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const { maxBatchBytes, maxBatchRecords } = DEFAULT_LIMITS.ledger;
const HUGE = 'ü'.repeat(maxBatchBytes);

const text = (words: string) => ({ type: 'text', text: words }) as const;
const file = (bytes: number) => {
  const data = Buffer.alloc(bytes, 7).toString('base64');
  return { type: 'file', mediaType: 'application/octet-stream', source: { type: 'base64', data } } as const;
};

describe.each(LEDGER_KINDS)('what no batch of the ledger holds (%s)', (kind) => {
  it('an answer of too much text fails its turn, typed, and the session goes on', async () => {
    const { model, agent } = scriptedAgent([reply().text(HUGE).usage(10, 5), reply().text('Short.')]);
    const { runtime, ledger, misfits } = watchedRuntime({ ledger: await openLedger(kind) });
    const run = runtime.run(agent, 'Go.', { sessionId: 'large' });
    expect(await run.result).toMatchObject({
      status: 'failed',
      error: { kind: 'malformed-response', detail: 'too-large' },
      usage: { total: { inputTokens: 10 } },
    });
    expect(model.requests).toHaveLength(1);
    const [message] = ofType(await ledger.read('large'), 'assistant.message');
    expect(message?.data).toMatchObject({ partial: true, content: [{ type: 'text' }] });
    const next = runtime.run(agent, 'Shorter.', { sessionId: 'large' });
    expect(await next.result).toMatchObject({ status: 'completed', text: 'Short.' });
    expect(violationsOf({ records: await ledger.read('large') })).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('an answer of too many calls fails its turn, and none of them runs', async () => {
    const spy = createToolSpy();
    const calls = Array.from({ length: maxBatchRecords }, (_, at) => ({
      name: 'work',
      args: { id: `${at}` },
    }));
    const { agent } = scriptedAgent([reply().text('All of them.').calls(calls)], {
      tools: [spy.tool('work')],
    });
    const { runtime, ledger, misfits } = watchedRuntime({ ledger: await openLedger(kind) });
    const run = runtime.run(agent, 'Go.');
    expect(await run.result).toMatchObject({
      status: 'failed',
      text: 'All of them.',
      error: { kind: 'malformed-response', detail: 'too-large' },
    });
    expect(spy.entries).toEqual([]);
    expect(violationsOf({ records: await ledger.read(run.sessionId) })).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('a result a tool may return and no record can hold is told to the model, and kept whole', async () => {
    const { model, agent } = scriptedAgent([reply().call('work', { id: 'a' }), reply().text('Well.')], {
      tools: [createToolSpy().tool('work', () => HUGE, { maxResultBytes: 10 * maxBatchBytes })],
      limits: { tools: { maxResultLines: Number.POSITIVE_INFINITY } },
    });
    const { runtime, ledger, misfits } = watchedRuntime({ ledger: await openLedger(kind) });
    const run = runtime.run(agent, 'Go.');
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Well.' });
    const [settled] = ofType(await ledger.read(run.sessionId), 'tool.settled');
    expect(settled?.data.status).toBe('success');
    expect(model.requests[1]?.lastText).toMatch(/larger than/);
    const ref = settled?.data.resultRef;
    expect(ref && Buffer.from(await ledger.getArtifact(ref)).toString()).toBe(HUGE);
    expect(misfits).toEqual([]);
  });

  it('a text to steer with is refused, with why', async () => {
    const gate = createGate();
    const { agent } = scriptedAgent([reply().text('Done.').wait(gate)]);
    const { runtime, ledger } = watchedRuntime({ ledger: await openLedger(kind) });
    const run = runtime.run(agent, 'Go.', { sessionId: 'large' });
    await gate.reached;
    expect(await run.steer(HUGE)).toMatchObject({ delivered: false, reason: expect.stringMatching(/large/) });
    gate.open();
    expect(await run.result).toMatchObject({ status: 'completed' });
    expect(violationsOf({ records: await ledger.read('large') })).toEqual([]);
  });

  it.each<[string, RunInput]>([
    ['a text', HUGE],
    ['texts that are too large together', Array.from({ length: 9 }, () => text('x'.repeat(120_000)))],
    [
      'the address of a file',
      [{ type: 'file', mediaType: 'x/y', source: { type: 'url', url: `https://x/${HUGE}` } }],
    ],
    ['small files that are too many', Array.from({ length: 300 }, () => file(3_000))],
    ['a file', [text('Read it.'), file(DEFAULT_LIMITS.ledger.maxArtifactBytes + 1)]],
  ])('%s as input is refused before anything is written or asked', async (_, input) => {
    const { model, agent } = scriptedAgent([reply().text('Done.')]);
    const { runtime, ledger, misfits } = watchedRuntime({ ledger: await openLedger(kind) });
    const run = runtime.run(agent, input);
    expect(await run.result).toMatchObject({ status: 'failed', error: { kind: 'input-too-large' } });
    expect(model.requests).toEqual([]);
    expect(await ledger.read(run.sessionId)).toEqual([]);
    expect(await runtime.recover()).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('an input as large as it may be is taken', async () => {
    const { model, agent } = scriptedAgent([reply().text('Done.')]);
    const { runtime } = watchedRuntime({ ledger: await openLedger(kind) });
    const input = [text('x'.repeat(900_000)), file(2_000_000)];
    expect(await runtime.run(agent, input).result).toMatchObject({ status: 'completed' });
    expect(model.requests[0]?.messages[0]?.text).toContain('x'.repeat(900_000));
  });

  it('an input that a gate made too large is refused', async () => {
    const { model, agent } = scriptedAgent([reply().text('Done.')]);
    const beforeTurn: Hooks['beforeTurn'] = (turn) => ({ replace: { ...turn, input: [text(HUGE)] } });
    const { runtime } = watchedRuntime({ ledger: await openLedger(kind), hooks: { beforeTurn } });
    expect(await runtime.run(agent, 'Go.').result).toMatchObject({ error: { kind: 'input-too-large' } });
    expect(model.requests).toEqual([]);
  });

  it('the input of a graph, a swarm and a fork is refused the same way', async () => {
    const { agent } = scriptedAgent([reply().text('Done.')]);
    const { runtime } = watchedRuntime({ ledger: await openLedger(kind), agents: { worker: agent } });
    const graph = defineGraph({ name: 'g', input: z.object({ words: z.string() }) })
      .node('read', ({ words }) => words.length, { from: 'input' })
      .build({ output: 'read' });
    const helper = scriptedAgent([], { name: 'helper' }).agent;
    const swarm = defineSwarm({ name: 's', supervisor: agent, agents: [helper], mode: 'swarm' });
    const refused = { status: 'failed', error: { kind: 'input-too-large' } };
    expect(await runtime.run(graph, { words: HUGE }).result).toMatchObject(refused);
    expect(await runtime.run(swarm, HUGE).result).toMatchObject(refused);
    const run = runtime.run(agent, 'Go.');
    await run.result;
    expect(() => runtime.fork(run.sessionId, { atSeq: 2, edit: { input: HUGE } })).toThrow(
      expect.objectContaining({ code: 'input-too-large' }),
    );
  });

  it('partial text of a cancelled answer is kept as far as it goes', async () => {
    const gate = createGate();
    const { agent } = scriptedAgent([reply().text(HUGE).wait(gate)]);
    const { runtime, ledger } = watchedRuntime({ ledger: await openLedger(kind) });
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    run.cancel();
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    const [message] = ofType(await ledger.read(run.sessionId), 'assistant.message');
    const [part] = message?.data.content ?? [];
    expect(part?.type === 'text' && part.text.length).toBeGreaterThan(10_000);
  });
});
