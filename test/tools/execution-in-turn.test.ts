import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/runtime.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import type { ToolContext } from '../../src/tools/tool.ts';
import { violationsOf } from '../invariants/session.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { eventSeen, ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const GRACE_MS = 5_000;

describe.each(LEDGER_KINDS)('an implementation at work (%s)', (kind) => {
  it('runs out of time and stops: the call is settled as timeout and the turn goes on', async () => {
    const clock = fakeClock();
    const entered = createGate();
    const { model, agent } = scriptedAgent([reply().call('slow', { id: 'a' }), reply().text('Done.')], {
      tools: [
        createToolSpy().tool(
          'slow',
          async (_, { signal }) => {
            await entered.pass(signal);
            throw signal.reason;
          },
          { timeoutMs: 2_000 },
        ),
      ],
    });
    const { runtime, ledger, misfits } = watchedRuntime({ ledger: await openLedger(kind, clock), clock });
    const run = runtime.run(agent, 'Go.');
    await entered.reached;
    await clock.advance(1_999);
    expect(model.requests).toHaveLength(1);
    await clock.advance(1);
    expect((await run.result).status).toBe('completed');
    const [settled] = ofType(await ledger.read(run.sessionId), 'tool.settled');
    expect(settled?.data).toMatchObject({ status: 'timeout', output: { type: 'error' }, durationMs: 2_000 });
    expect(lastResults(model, 1)[0]).toContain('slow timed out after 2000 ms');
    expect(misfits).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('runs out of time and does not stop: abandoned, and its late result dropped and on record', async () => {
    const clock = fakeClock();
    const stubborn = createGate();
    const asked = createGate();
    const { model, agent } = scriptedAgent(
      [reply().call('stubborn', { id: 'a' }), reply().wait(asked).text('Done.')],
      {
        tools: [
          createToolSpy().tool(
            'stubborn',
            async () => {
              await stubborn.pass();
              return 'the late result';
            },
            { timeoutMs: 1_000 },
          ),
        ],
        limits: { tools: { graceMs: GRACE_MS } },
      },
    );
    const { runtime, ledger, misfits } = watchedRuntime({ ledger: await openLedger(kind, clock), clock });
    const run = runtime.run(agent, 'Go.');
    await stubborn.reached;
    await clock.advance(1_000 + GRACE_MS);
    await model.arrived(1);
    stubborn.open();
    await eventSeen(run, 'step.started', 2);
    for await (const { record } of ledger.tail(0, new AbortController().signal)) {
      if (record.type === 'tool.late') break;
    }
    asked.open();
    expect((await run.result).status).toBe('completed');
    const records = await ledger.read(run.sessionId);
    expect(ofType(records, 'tool.settled').map(({ data }) => data.status)).toEqual(['abandoned']);
    expect(ofType(records, 'tool.late')[0]?.data.toolName).toBe('stubborn');
    expect(JSON.stringify(records)).not.toContain('the late result');
    expect(lastResults(model, 1)[0]).toContain('did not stop; whether it had an effect is unknown');
    expect(violationsOf({ records })).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('ends the turn after its result is settled', async () => {
    const spy = createToolSpy();
    const { result, records, model } = await playTurn(
      kind,
      [reply().text('On it.').call('submit', { id: 'a' }).call('note', { id: 'b' })],
      {
        agent: {
          tools: [spy.tool('submit', () => ({ endTurn: true, output: 'handed in' })), spy.tool('note')],
        },
      },
    );
    expect(result).toMatchObject({ status: 'completed', stopReason: 'tool-end', text: 'On it.' });
    expect(model.requests).toHaveLength(1);
    const settled = ofType(records, 'tool.settled').map(({ data }) => [data.output, data.endsTurn]);
    expect(settled).toContainEqual([{ type: 'text', text: 'handed in' }, true]);
    expect(settled).toHaveLength(2);
  });

  it('does not end the turn with a result that is an error', async () => {
    const { result } = await playTurn(kind, [reply().call('submit', { id: 'a' }), reply().text('Again.')], {
      agent: {
        tools: [createToolSpy().tool('submit', () => ({ endTurn: true, output: { error: 'not yet' } }))],
      },
    });
    expect(result).toMatchObject({ status: 'completed', stopReason: 'end-turn', text: 'Again.' });
  });

  it('shows progress within its bounds, with secrets masked, and never to the model', async () => {
    const clock = fakeClock();
    const { model, agent } = scriptedAgent([reply().call('report', { id: 'a' }), reply().text('Done.')], {
      limits: { tools: { maxProgressEvents: 3, progressIntervalMs: 100 } },
      tools: [
        createToolSpy().tool('report', async (_, { progress }) => {
          for (let line = 1; line <= 6; line += 1) {
            progress(`line ${line} key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD`);
            progress('too soon');
            await clock.advance(100);
          }
          return 'reported';
        }),
      ],
    });
    const { runtime, ledger, misfits } = watchedRuntime({ ledger: await openLedger(kind, clock), clock });
    const run = runtime.run(agent, 'Go.');
    await run.result;
    const records = await ledger.read(run.sessionId);
    const texts = ofType(records, 'tool.progressed').map(({ data }) => data.text);
    expect(texts.map((text) => text.slice(0, 6))).toEqual(['line 1', 'line 2', 'line 3']);
    expect(texts.join()).not.toContain('abcdefghijklmnop');
    expect(JSON.stringify(model.requests[1]?.messages)).not.toContain('line 1');
    expect(misfits).toEqual([]);
  });

  it('bounds the characters of its progress', async () => {
    const { records } = await playTurn(kind, [reply().call('report', { id: 'a' }), reply().text('Done.')], {
      agent: {
        limits: { tools: { maxProgressChars: 10, progressIntervalMs: 0 } },
        tools: [
          createToolSpy().tool('report', (_, { progress }) => {
            for (let line = 0; line < 5; line += 1) progress('12345678');
            return 'reported';
          }),
        ],
      },
    });
    expect(ofType(records, 'tool.progressed').map(({ data }) => data.text)).toEqual(['12345678', '12']);
  });

  it('gets the identity of its call, the context of its run and a store for artifacts', async () => {
    const seen: ToolContext[] = [];
    const { records } = await playTurn(kind, [reply().call('look', { id: 'a' }), reply().text('Done.')], {
      agent: {
        tools: [
          createToolSpy().tool('look', async (_, ctx) => {
            seen.push(ctx);
            const ref = await ctx.artifacts.put('kept', 'text/plain');
            return Buffer.from(await ctx.artifacts.get(ref)).toString();
          }),
        ],
      },
      run: { context: { tenant: 'acme' } },
    });
    const [called] = ofType(records, 'tool.called');
    const [settled] = ofType(records, 'tool.settled');
    expect(seen[0]).toMatchObject({
      context: { tenant: 'acme' },
      sessionId: called?.session,
      turnId: called?.turn,
      stepId: called?.step,
      callId: called?.call,
      operationId: settled?.data.operationId,
      epoch: called?.epoch,
      agentPath: ['worker'],
    });
    expect(settled?.data.output).toEqual({ type: 'text', text: 'kept' });
  });

  it('is not entered when the turn is cancelled while its intent is written', async () => {
    const spy = createToolSpy();
    const { agent } = scriptedAgent([reply().call('pay', { id: 'a' })], {
      tools: [spy.tool('pay')],
      hooks: {
        // The last thing before T1.
        beforeToolExecute: () => void run.cancel('stop'),
      },
    });
    await using runtime = createRuntime({ ledger: openLedger(kind) });
    const run = runtime.run(agent, 'Go.');
    expect((await run.result).status).toBe('cancelled');
    expect(spy.entries).toEqual([]);
    const records = await runtime.sessions.read(run.sessionId);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['turn-ended']);
  });
});
