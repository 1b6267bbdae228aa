import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '../../src/limits.ts';
import { fromAiSdk } from '../../src/model/from-ai-sdk.ts';
import type { StreamPart } from '../../src/model/language-model.ts';
import { fakeClock, settlePromises } from '../../src/testing/fake-clock.ts';
import { createGate } from '../../src/testing/gate.ts';
import { failure, reply, silence } from '../../src/testing/reply.ts';
import { fakeModel } from '../support/fake-language-model.ts';
import { eventSeen, ofType } from '../support/run-events.ts';
import { scriptedAgent, servedAgent } from '../support/scripted-agents.ts';
import { FINISH } from '../support/stream-parts.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const { connectMs, idleMs } = DEFAULT_LIMITS.timeouts;

describe('silence of a provider', () => {
  it('MA-13 thinking that falls silent is asked for once more and kept as a message of its own', async () => {
    const clock = fakeClock();
    const { model, agent } = scriptedAgent([
      reply().reasoning('Let me see').stall(),
      reply().reasoning('Anew.').text('Done.'),
    ]);
    const { runtime, ledger, misfits } = watchedRuntime({ clock, random: () => 0 });
    const run = runtime.run(agent, 'Go.');
    await model.arrived(0);
    await clock.advance(idleMs);
    await clock.advance(DEFAULT_LIMITS.attempts.baseDelayMs);
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Done.' });
    const messages = ofType(await ledger.read(run.sessionId), 'assistant.message');
    expect(messages.map(({ data }) => [data.attempt, data.partial ?? false, data.content[0]])).toEqual([
      [1, true, { type: 'reasoning', text: 'Let me see' }],
      [2, false, { type: 'reasoning', text: 'Anew.' }],
    ]);
    expect(new Set(messages.map(({ id }) => id)).size).toBe(2);
    expect(misfits).toEqual([]);
  });

  it('MA-13 a second silence ends the step', async () => {
    const clock = fakeClock();
    const thinking = reply().reasoning('Let me see').stall();
    const { model, agent } = scriptedAgent([thinking, thinking]);
    const { runtime, misfits } = watchedRuntime({ clock, random: () => 0 });
    const run = runtime.run(agent, 'Go.');
    await model.arrived(0);
    await clock.advance(idleMs);
    await clock.advance(DEFAULT_LIMITS.attempts.baseDelayMs);
    await model.arrived(1);
    await clock.advance(idleMs);
    expect(await run.result).toMatchObject({ status: 'failed', error: { kind: 'timeout', detail: 'idle' } });
    expect(model.requests).toHaveLength(2);
    expect(misfits).toEqual([]);
  });

  it('MA-13 text that falls silent is not asked for again', async () => {
    const clock = fakeClock();
    const { model, agent } = scriptedAgent([reply().text('Half').stall()]);
    const { runtime } = watchedRuntime({ clock });
    const run = runtime.run(agent, 'Go.');
    await model.arrived(0);
    await clock.advance(idleMs);
    expect(await run.result).toMatchObject({ status: 'failed', text: 'Half', error: { detail: 'idle' } });
    expect(model.requests).toHaveLength(1);
  });

  it('MA-13 an answer must begin within the connect limit', async () => {
    const clock = fakeClock();
    const { server, agent } = await servedAgent([silence(), reply().text('Done.')]);
    const { runtime, ledger } = watchedRuntime({ clock, random: () => 0 });
    const run = runtime.run(agent, 'Go.');
    await server.arrived(0);
    await clock.advance(connectMs - 1);
    expect(ofType(await ledger.read(run.sessionId), 'attempt.failed')).toEqual([]);
    const retry = eventSeen(run, 'attempt.retry-scheduled');
    await clock.advance(1);
    await retry;
    await clock.whenPending();
    await clock.advanceToNext();
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Done.' });
    const [failed] = ofType(await ledger.read(run.sessionId), 'attempt.failed');
    expect(failed?.data.failure).toMatchObject({ kind: 'timeout', detail: 'connect' });
    expect(server.requests[0]?.aborted).toBe(true);
  });

  it('MA-13 parts that are shown to nobody count as activity', async () => {
    const clock = fakeClock();
    const parts: ReadableStreamDefaultController<StreamPart>[] = [];
    const sdk = fakeModel(() => new ReadableStream<StreamPart>({ start: (one) => void parts.push(one) }));
    const { agent } = scriptedAgent([]);
    const { runtime } = watchedRuntime({ clock });
    const run = runtime.run({ ...agent, model: fromAiSdk(sdk) }, 'Go.');
    await eventSeen(run, 'attempt.started');
    for (let at = 0; at < 5; at += 1) {
      await clock.advance((at === 0 ? connectMs : idleMs) - 1);
      parts[0]?.enqueue({ type: 'ping' });
      await settlePromises();
    }
    parts[0]?.enqueue({ type: 'text-delta', id: 't', delta: 'Done.' });
    parts[0]?.enqueue(FINISH);
    parts[0]?.close();
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(sdk.calls).toHaveLength(1);
  });

  it('MA-13 nothing is watched while a tool runs or a person is asked', async () => {
    const clock = fakeClock();
    const slow = createGate();
    const { model, agent } = scriptedAgent(
      [reply().call('slow', { id: 'a' }), reply().call('asked', { id: 'b' }), reply().text('Done.')],
      {
        tools: [
          createToolSpy().tool('slow', async () => {
            await slow.pass();
            return 'slow a';
          }),
          createToolSpy().tool('asked', undefined, { needsApproval: true }),
        ],
        limits: { tools: { timeoutMs: Number.POSITIVE_INFINITY } },
      },
    );
    const { runtime } = watchedRuntime({ clock });
    const run = runtime.run(agent, 'Go.');
    await slow.reached;
    await clock.advance(10 * idleMs);
    slow.open();
    await eventSeen(run, 'approval.requested');
    await clock.advance(10 * idleMs);
    const [request] = await runtime.approvals.pending();
    await runtime.approvals.decide(request?.id ?? '', { decision: 'approve' });
    expect(await run.result).toMatchObject({ status: 'completed', steps: 3 });
    expect(model.requests).toHaveLength(3);
  });

  it('MA-13 a backoff longer than the idle limit is no silence', async () => {
    const clock = fakeClock();
    const { model, agent } = scriptedAgent([
      failure({ kind: 'overloaded', retryAfterMs: 3 * idleMs }),
      reply().text('Done.'),
    ]);
    const { runtime, ledger } = watchedRuntime({ clock });
    const run = runtime.run(agent, 'Go.');
    await eventSeen(run, 'attempt.retry-scheduled');
    await clock.advance(3 * idleMs);
    expect(await run.result).toMatchObject({ status: 'completed' });
    expect(model.requests).toHaveLength(2);
    expect(ofType(await ledger.read(run.sessionId), 'attempt.failed')).toHaveLength(1);
  });
});
