import { describe, expect, it } from 'vitest';
import type { GateHooks } from '../../src/lifecycle/hooks.ts';
import { createRuntime } from '../../src/runtime.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { hashArguments } from '../../src/tools/argument-snapshot.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { eventSeen, ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const call = () => [reply().call('work', { id: 'a' }), reply().text('Done.')];
const text = (said: string) => ({ type: 'text' as const, text: said });

/** Gates before something that then does not happen, and how the turn tells it. */
const REFUSABLE = [
  ['beforeTurn', 'a failure before any fact', { status: 'failed', error: { kind: 'gate-refused' } }],
  ['beforeRequest', 'a failure', { status: 'failed', error: { kind: 'gate-refused' } }],
  ['beforeStep', 'a failure', { status: 'failed', error: { kind: 'gate-refused' } }],
  ['beforeToolCall', 'a matched pair', { status: 'completed' }],
  ['beforeToolExecute', 'a matched pair', { status: 'completed' }],
] as const;

describe.each(LEDGER_KINDS)('gates (%s)', (kind) => {
  it('HK-02 what a gate makes of an input is what is recorded and sent', async () => {
    const { model, records } = await playTurn(kind, [reply().text('Hello.')], {
      agent: { hooks: { beforeTurn: (turn) => ({ replace: { ...turn, input: [text('Go gently.')] } }) } },
    });
    expect(ofType(records, 'turn.opened')[0]?.data.input).toEqual([text('Go gently.')]);
    expect(model.requests[0]?.messages).toMatchObject([{ role: 'user', text: 'Go gently.' }]);
  });

  it('HK-02 what a gate makes of a request is what is sent, and only there', async () => {
    const { model, records } = await playTurn(kind, [reply().text('Hello.')], {
      agent: {
        hooks: {
          beforeRequest: (request) => ({
            replace: {
              ...request,
              system: `${request.system} Be brief.`,
              messages: [...request.messages, { role: 'user', content: [text('It is noon.')] }],
            },
          }),
        },
      },
    });
    expect(model.requests[0]).toMatchObject({ system: 'Work. Be brief.', lastText: 'It is noon.' });
    expect(JSON.stringify(records)).not.toContain('It is noon.');
    // The record holds the hash of what was sent, not of what was projected.
    expect(ofType(records, 'request.prepared')[0]?.data.messages).toBe(2);
  });

  it('HK-02 what a gate makes of arguments is what is judged, recorded and run', async () => {
    const spy = createToolSpy();
    const judged: unknown[] = [];
    const { records } = await playTurn(kind, call(), {
      agent: {
        tools: [spy.tool('work')],
        permission: ({ input }) => {
          judged.push(input);
          return 'allow';
        },
        hooks: { beforeToolCall: (one) => ({ replace: { ...one, input: { id: 'b' } } }) },
      },
    });
    expect(judged).toEqual([{ id: 'b' }]);
    expect(spy.entries.map(({ id }) => id)).toEqual(['b']);
    expect(ofType(records, 'tool.dispatched')[0]?.data).toMatchObject({
      editedArgs: { id: 'b' },
      argsHash: hashArguments({ id: 'b' }),
    });
  });

  it('HK-02 arguments a gate broke are refused as a pair', async () => {
    const spy = createToolSpy();
    const { model, records } = await playTurn(kind, call(), {
      agent: {
        tools: [spy.tool('work')],
        hooks: { beforeToolCall: (one) => ({ replace: { ...one, input: { id: 7 } } }) },
      },
    });
    expect(spy.entries).toEqual([]);
    expect(ofType(records, 'tool.refused')[0]?.data.code).toBe('gate-refused');
    expect(lastResults(model, 1)[0]).toContain('a gate replaced its arguments');
  });

  it('HK-02 what a gate makes of a steering text is what is recorded and sent', async () => {
    const gate = createGate();
    const { model, agent } = scriptedAgent([reply().wait(gate).text('One.'), reply().text('Two.')], {
      hooks: { beforeSteering: (steering) => ({ replace: { ...steering, text: 'And kindly.' } }) },
    });
    const { runtime, ledger } = watchedRuntime({ ledger: await openLedger(kind) });
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    const steered = run.steer('And rudely.');
    await eventSeen(run, 'steering.accepted');
    gate.open();
    expect(await steered).toMatchObject({ delivered: true });
    await run.result;
    expect(model.requests[1]?.lastText).toBe('And kindly.');
    expect(JSON.stringify(await ledger.read(run.sessionId))).not.toContain('rudely');
  });

  it('HK-02 each gate sees what the one before it made, the runtime first', async () => {
    const spy = createToolSpy();
    const seen: unknown[] = [];
    const adding =
      (letter: string): NonNullable<GateHooks['beforeToolCall']> =>
      (one) => {
        seen.push(one.input['id']);
        return { replace: { ...one, input: { id: `${one.input['id']}${letter}` } } };
      };
    await playTurn(kind, call(), {
      agent: { tools: [spy.tool('work')], hooks: { beforeToolCall: adding('3') } },
      runtime: { hooks: [{ beforeToolCall: adding('1') }, { beforeToolCall: adding('2') }] },
    });
    expect(seen).toEqual(['a', 'a1', 'a12']);
    expect(spy.entries.map(({ id }) => id)).toEqual(['a123']);
  });

  it.each(REFUSABLE)('HK-02 a refusal by %s is %s, with its reason', async (name, _, expected) => {
    const spy = createToolSpy();
    const { model, agent } = scriptedAgent(call(), {
      tools: [spy.tool('work')],
      hooks: { [name]: () => ({ refuse: 'Not on Fridays.' }) },
    });
    const { runtime, ledger, misfits } = watchedRuntime({ ledger: await openLedger(kind) });
    const run = runtime.run(agent, 'Go.');
    const result = await run.result;
    expect(result).toMatchObject(expected);
    const told = result.status === 'failed' ? result.error.message : lastResults(model, 1)[0];
    expect(told).toContain('Not on Fridays.');
    expect(spy.entries).toEqual([]);
    const records = await ledger.read(run.sessionId);
    expect(ofType(records, 'tool.dispatched')).toEqual([]);
    if (name === 'beforeTurn') expect(records).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it.each(REFUSABLE)('HK-03 a throw in %s refuses: %s', async (name, _, expected) => {
    const spy = createToolSpy();
    const { model, agent } = scriptedAgent(call(), {
      tools: [spy.tool('work')],
      hooks: {
        name: 'house',
        [name]: () => {
          throw new RangeError('the secret sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD');
        },
      },
    });
    const { runtime } = watchedRuntime({ ledger: await openLedger(kind) });
    const result = await runtime.run(agent, 'Go.').result;
    expect(result).toMatchObject(expected);
    const told = result.status === 'failed' ? result.error.message : lastResults(model, 1)[0];
    expect(told).toContain('A gate failed.');
    expect(told).not.toContain('secret');
    expect(spy.entries).toEqual([]);
    expect(runtime.hookStats()[name]).toMatchObject({ fired: 1, failed: 1 });
  });

  it.each(REFUSABLE)('HK-03 %s that passes its deadline refuses: %s', async (name, _, expected) => {
    const clock = fakeClock();
    const entered = createGate();
    const spy = createToolSpy();
    const { agent } = scriptedAgent(call(), {
      tools: [spy.tool('work')],
      hooks: {
        async [name]() {
          await entered.pass();
          return undefined;
        },
      },
    });
    const { runtime, misfits } = watchedRuntime({ ledger: await openLedger(kind, clock), clock });
    const run = runtime.run(agent, 'Go.');
    await entered.reached;
    await clock.advance(30_000);
    expect(await run.result).toMatchObject(expected);
    expect(spy.entries).toEqual([]);
    expect(runtime.hookStats()[name]).toMatchObject({ fired: 1, hung: 1 });
    // What it says afterwards comes too late.
    entered.open();
    expect(misfits).toEqual([]);
  });

  it('HK-03 a policy that passes its deadline denies, and one that waits is let go of by a cancel', async () => {
    const clock = fakeClock();
    const thinking = createGate();
    const { model, agent } = scriptedAgent(
      [reply().call('work', { id: 'a' }), reply().text('Done.'), reply().call('work', { id: 'b' })],
      {
        tools: [createToolSpy().tool('work')],
        permission: async () => {
          await thinking.pass();
          return 'allow' as const;
        },
      },
    );
    const { runtime } = watchedRuntime({ ledger: await openLedger(kind, clock), clock });
    const run = runtime.run(agent, 'Go.');
    await thinking.reached;
    await clock.advance(30_000);
    expect((await run.result).status).toBe('completed');
    expect(lastResults(model, 1)[0]).toContain('did not answer in time');
    const again = runtime.run(agent, 'Again.');
    while (thinking.waiting < 2) await clock.advance(0);
    again.cancel('stop');
    expect((await again.result).status).toBe('cancelled');
  });

  it('beforeComplete asks for one more step, and the model is told why', async () => {
    let asked = 0;
    const { model, result } = await playTurn(kind, [reply().text('One.'), reply().text('Two.')], {
      agent: {
        hooks: {
          beforeComplete: ({ text: said }) => {
            asked += 1;
            return said === 'One.' ? { refuse: 'Say more.' } : undefined;
          },
        },
      },
    });
    expect(asked).toBe(2);
    expect(model.requests[1]?.lastText).toBe('Say more.');
    expect(result).toMatchObject({ status: 'completed', text: 'Two.', steps: 2 });
  });

  it('beforeContinue that refuses ends the turn after its calls are settled', async () => {
    const spy = createToolSpy();
    const { result, model } = await playTurn(kind, [reply().text('On it.').call('work', { id: 'a' })], {
      agent: { tools: [spy.tool('work')], hooks: { beforeContinue: () => ({ refuse: 'Enough.' }) } },
    });
    expect(result).toMatchObject({ status: 'completed', text: 'On it.' });
    expect(spy.entries).toHaveLength(1);
    expect(model.requests).toHaveLength(1);
  });

  it('a gate that stands while the turn is cancelled refuses nothing of its own', async () => {
    const entered = createGate();
    const spy = createToolSpy();
    const { agent } = scriptedAgent(call(), {
      tools: [spy.tool('work')],
      hooks: {
        async beforeToolCall(_, { signal }) {
          await entered.pass(signal);
          return undefined;
        },
      },
    });
    await using runtime = createRuntime({ ledger: openLedger(kind) });
    const run = runtime.run(agent, 'Go.');
    await entered.reached;
    run.cancel();
    expect((await run.result).status).toBe('cancelled');
    const records = await runtime.sessions.read(run.sessionId);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['turn-ended']);
    expect(spy.entries).toEqual([]);
  });
});
