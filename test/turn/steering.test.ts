import { describe, expect, it } from 'vitest';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { settlePromises } from '../../src/testing/fake-clock.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';
import { createGate } from '../../src/testing/gate.ts';
import { failure, reply } from '../../src/testing/reply.ts';
import type { ScriptedResponse } from '../../src/testing/script.ts';
import { violationsOf } from '../invariants/session.ts';
import { eventSeen, ofType } from '../support/run-events.ts';
import { scriptedAgent, servedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const call = () => reply().call('slow', { id: 'a' });

/** A tool that holds its step until the gate opens: the time to steer. */
function slowTool() {
  const gate = createGate();
  const tool = createToolSpy().tool('slow', async () => {
    await gate.pass();
    return 'slow a';
  });
  return { gate, tool };
}

describe('steering', () => {
  it('MA-16 a text is durable before a request carries it, after the results, and tells its step', async () => {
    const { gate, tool } = slowTool();
    const durable: string[][] = [];
    const { server, agent } = await servedAgent(
      async (_request, index) => {
        durable.push((await ledger.read('steered')).map(({ type }) => type));
        return [call(), reply().text('Done.')][index];
      },
      { tools: [tool] },
    );
    const { runtime, ledger } = watchedRuntime();
    const run = runtime.run(agent, 'Go.', { sessionId: 'steered' });
    await gate.reached;
    const steered = run.steer('Left, please.');
    await eventSeen(run, 'steering.accepted');
    gate.open();
    expect(await steered).toEqual({ delivered: true, stepId: 'steered.1.2' });
    await run.result;
    expect(durable[1]).toEqual(expect.arrayContaining(['steering.accepted', 'steering.injected']));
    expect(server.requests[1]?.messages.map(({ role, text }) => [role, text])).toEqual([
      ['user', 'Go.'],
      ['assistant', ''],
      ['tool', 'slow a'],
      ['user', 'Left, please.'],
    ]);
  });

  it('MA-16 a text whose acceptance is still being written holds the next request back', async () => {
    const { gate, tool } = slowTool();
    const writing = createGate();
    const ledger = faultyLedger(memoryLedger(), [
      { at: 'append', record: 'steering.accepted', action: { type: 'pause', gate: writing } },
    ]);
    const { model, agent } = scriptedAgent([call(), reply().text('Done.')], { tools: [tool] });
    const { runtime } = watchedRuntime({ ledger });
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    const steered = run.steer('Left, please.');
    await writing.reached;
    gate.open();
    await settlePromises();
    expect(model.requests).toHaveLength(1);
    writing.open();
    expect(await steered).toMatchObject({ delivered: true });
    await run.result;
    expect(model.requests[1]?.lastText).toBe('Left, please.');
  });

  it('MA-16 identical texts, and one equal to the prompt, are each injected', async () => {
    const { gate, tool } = slowTool();
    const { server, agent } = await servedAgent([call(), reply().text('Done.')], { tools: [tool] });
    const { runtime, ledger } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    const steered = [run.steer('Faster.'), run.steer('Faster.'), run.steer('Go.')];
    await eventSeen(run, 'steering.accepted', 3);
    gate.open();
    const outcomes = await Promise.all(steered);
    expect(outcomes.every(({ delivered }) => delivered)).toBe(true);
    await run.result;
    const said = server.requests[1]?.messages.map(({ role, text }) => `${role}:${text}`).join(' ');
    expect(said?.split('Faster.')).toHaveLength(3);
    expect(said?.split('Go.')).toHaveLength(3);
    const [injected] = ofType(await ledger.read(run.sessionId), 'steering.injected');
    expect(new Set(injected?.data.ids).size).toBe(3);
  });

  it('MA-16 under a retry each request carries the text once, and it is delivered once', async () => {
    const { gate, tool } = slowTool();
    const { server, agent } = await servedAgent(
      [call(), failure({ kind: 'overloaded' }), failure({ kind: 'overloaded' }), reply().text('Done.')],
      { tools: [tool], limits: { attempts: { baseDelayMs: 0 } } },
    );
    const { runtime, ledger } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    const steered = run.steer('Left, please.');
    await eventSeen(run, 'steering.accepted');
    gate.open();
    expect(await steered).toMatchObject({ delivered: true });
    await run.result;
    for (const { messages } of server.requests.slice(1)) {
      expect(messages.filter(({ text }) => text === 'Left, please.')).toHaveLength(1);
    }
    expect(server.requests).toHaveLength(4);
    expect(ofType(await ledger.read(run.sessionId), 'steering.injected')).toHaveLength(1);
  });

  it('MA-16 a text accepted while the model answers without calls brings another step', async () => {
    const writing = createGate();
    const { model, agent } = scriptedAgent([
      reply().text('First').wait(writing).text(' answer.'),
      reply().text('Second answer.'),
    ]);
    const { runtime } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    await writing.reached;
    const steered = run.steer('More.');
    await eventSeen(run, 'steering.accepted');
    writing.open();
    expect(await steered).toMatchObject({ delivered: true });
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Second answer.', steps: 2 });
    expect(model.requests[1]?.messages.map(({ text }) => text)).toEqual(['Go.', 'First answer.', 'More.']);
  });

  it('MA-16 a text accepted while a gate judges the end brings another step', async () => {
    const judging = createGate();
    const { model, agent } = scriptedAgent([reply().text('First.'), reply().text('Second.')], {
      hooks: {
        beforeComplete: async () => {
          await judging.pass();
          return undefined;
        },
      },
    });
    const { runtime } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    await judging.reached;
    const steered = run.steer('More.');
    await eventSeen(run, 'steering.accepted');
    judging.open();
    expect(await steered).toMatchObject({ delivered: true });
    await run.result;
    expect(model.requests).toHaveLength(2);
  });

  it('MA-16 a text given before the turn is open is carried by its first request', async () => {
    const { model, agent } = scriptedAgent([reply().text('Done.')]);
    const { runtime } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    expect(await run.steer('And mind the gap.')).toMatchObject({ delivered: true });
    await run.result;
    expect(model.requests[0]?.messages.map(({ text }) => text)).toEqual(['Go.', 'And mind the gap.']);
  });

  it('MA-16 after the end a text is told undelivered with a reason', async () => {
    const { agent } = scriptedAgent([reply().text('Done.')]);
    const { runtime, ledger } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    await run.result;
    const outcome = await run.steer('Too late.');
    expect(outcome).toMatchObject({ delivered: false, reason: expect.stringMatching(/over/) });
    expect(ofType(await ledger.read(run.sessionId), 'steering.accepted')).toEqual([]);
  });

  const ends: readonly [string, readonly ScriptedResponse[], object][] = [
    ['a failed step', [call(), failure({ kind: 'auth' })], {}],
    ['the step limit', [call()], { steps: 1 }],
  ];
  it.each(ends)('MA-16 each text has one end where a turn ends by %s', async (title, script, limits) => {
    const { gate, tool } = slowTool();
    const { agent } = scriptedAgent(script, { tools: [tool], limits });
    const { runtime, ledger } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    const steered = run.steer('Left, please.');
    await eventSeen(run, 'steering.accepted');
    gate.open();
    expect(await run.result).toMatchObject({ status: 'failed' });
    expect(await steered).toMatchObject({ delivered: title === 'a failed step' });
    expect(violationsOf({ records: await ledger.read(run.sessionId) })).toEqual([]);
  });

  it('MA-16 a step that cannot be written gives its texts back undelivered', async () => {
    const { gate, tool } = slowTool();
    const ledger = faultyLedger(memoryLedger(), [
      { at: 'append', record: 'steering.injected', action: { type: 'reject', reason: 'conflict' } },
    ]);
    const { agent } = scriptedAgent([call()], { tools: [tool] });
    const { runtime } = watchedRuntime({ ledger });
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    const steered = run.steer('Left, please.');
    await eventSeen(run, 'steering.accepted');
    gate.open();
    expect(await run.result).toMatchObject({ status: 'failed', error: { kind: 'ledger-rejected' } });
    expect(await steered).toMatchObject({ delivered: false });
  });

  it('takes no more texts than may wait, however fast they come', async () => {
    const { gate, tool } = slowTool();
    const { agent } = scriptedAgent([call(), reply().text('Done.')], { tools: [tool] });
    const { runtime, ledger } = watchedRuntime({ limits: { steeringQueue: 2 } });
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    const steered = ['a', 'b', 'c', 'd'].map((text) => run.steer(text));
    await eventSeen(run, 'steering.accepted', 2);
    gate.open();
    const outcomes = await Promise.all(steered);
    expect(outcomes.map(({ delivered }) => delivered)).toEqual([true, true, false, false]);
    await run.result;
    expect(ofType(await ledger.read(run.sessionId), 'steering.accepted')).toHaveLength(2);
  });

  it('lets a gate change or refuse a text before it is accepted', async () => {
    const { gate, tool } = slowTool();
    const { model, agent } = scriptedAgent([call(), reply().text('Done.')], {
      tools: [tool],
      hooks: {
        beforeSteering: (subject) =>
          subject.text === 'bad' ? { refuse: 'not so' } : { replace: { ...subject, text: 'Changed.' } },
      },
    });
    const { runtime } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    expect(await run.steer('bad')).toEqual({ delivered: false, reason: 'not so' });
    const steered = run.steer('good');
    await eventSeen(run, 'steering.accepted');
    gate.open();
    expect(await steered).toMatchObject({ delivered: true });
    await run.result;
    expect(model.requests[1]?.lastText).toBe('Changed.');
  });
});
