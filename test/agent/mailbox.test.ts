import { describe, expect, it } from 'vitest';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { violationsOf } from '../invariants/session.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { eventSeen, ofType } from '../support/run-events.ts';
import { scriptedAgent, servedAgent } from '../support/scripted-agents.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const PIXEL = 'iVBORw0KGgo'.repeat(1_000);

describe.each(LEDGER_KINDS)('runs of one session (%s)', (kind) => {
  it('a second run waits for the first, and both see the same history', async () => {
    const gate = createGate();
    const { server, agent } = await servedAgent([
      reply().text('One.').wait(gate),
      reply().text('Two.'),
      reply().text('Three.'),
    ]);
    const { runtime, ledger, misfits } = watchedRuntime({ ledger: await openLedger(kind) });
    const first = runtime.run(agent, 'First.', { sessionId: 'shared' });
    await gate.reached;
    const second = runtime.run(agent, 'Second.', { sessionId: 'shared' });
    expect(second.sessionId).toBe('shared');
    const third = runtime.run(agent, 'Third.', { sessionId: 'shared' });
    expect(server.requests).toHaveLength(1);
    gate.open();
    const results = await Promise.all([first.result, second.result, third.result]);
    expect(results.map((result) => result.status === 'completed' && result.text)).toEqual([
      'One.',
      'Two.',
      'Three.',
    ]);
    expect(server.requests[2]?.messages.map(({ text }) => text)).toEqual([
      'First.',
      'One.',
      'Second.',
      'Two.',
      'Third.',
    ]);
    const records = await ledger.read('shared');
    expect(ofType(records, 'turn.opened').map(({ data }) => data.ordinal)).toEqual([1, 2, 3]);
    expect(ofType(records, 'session.opened')).toHaveLength(1);
    expect(violationsOf({ records })).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('a session goes on after its run is over', async () => {
    const { server, agent } = await servedAgent([reply().text('One.'), reply().text('Two.')]);
    const { runtime, misfits } = watchedRuntime({ ledger: await openLedger(kind) });
    const { sessionId, result } = runtime.run(agent, 'First.');
    await result;
    await runtime.run(agent, 'Second.', { sessionId }).result;
    expect(server.requests[1]?.messages.map(({ text }) => text)).toEqual(['First.', 'One.', 'Second.']);
    expect(misfits).toEqual([]);
  });
});

describe('the mailbox of a session', () => {
  it('runs inputs in the order they were given, whatever they carry', async () => {
    const { model, agent } = scriptedAgent(() => reply().text('Seen.'));
    const { runtime } = watchedRuntime();
    const image = { type: 'image', mediaType: 'image/png', source: { type: 'base64', data: PIXEL } } as const;
    const runs = [
      runtime.run(agent, [{ type: 'text', text: 'First.' }, image], { sessionId: 'shared' }),
      runtime.run(agent, 'Second.', { sessionId: 'shared' }),
    ];
    await Promise.all(runs.map(({ result }) => result));
    expect(model.requests.map(({ lastText }) => lastText)).toEqual(['First.[image]', 'Second.']);
  });

  it.each([0, 1, 2])('holds %d waiting inputs and refuses the next, typed', async (mailbox) => {
    const gate = createGate();
    const { agent } = scriptedAgent(() => reply().text('Done.').wait(gate));
    const { runtime } = watchedRuntime({ limits: { mailbox } });
    const runs = Array.from({ length: mailbox + 2 }, () =>
      runtime.run(agent, 'Go.', { sessionId: 'shared' }),
    );
    expect(await runs.at(-1)?.result).toMatchObject({ status: 'failed', error: { kind: 'mailbox-full' } });
    gate.open();
    const results = await Promise.all(runs.map(({ result }) => result));
    expect(results.map(({ status }) => status)).toEqual([
      ...Array.from({ length: mailbox + 1 }, () => 'completed'),
      'failed',
    ]);
  });

  it('lets a waiting run be cancelled at once, and its place be taken', async () => {
    const gate = createGate();
    const { model, agent } = scriptedAgent(() => reply().text('Done.').wait(gate));
    const { runtime, ledger, misfits } = watchedRuntime({ limits: { mailbox: 1 } });
    const first = runtime.run(agent, 'First.', { sessionId: 'shared' });
    await gate.reached;
    const second = runtime.run(agent, 'Second.', { sessionId: 'shared' });
    second.cancel('never mind');
    expect(await second.result).toMatchObject({ status: 'cancelled', reason: 'never mind', steps: 0 });
    const third = runtime.run(agent, 'Third.', { sessionId: 'shared' });
    gate.open();
    expect(await first.result).toMatchObject({ status: 'completed' });
    expect(await third.result).toMatchObject({ status: 'completed' });
    expect(model.requests.map(({ lastText }) => lastText)).toEqual(['First.', 'Third.']);
    expect(ofType(await ledger.read('shared'), 'turn.opened')).toHaveLength(2);
    expect(misfits).toEqual([]);
  });

  it('keeps a cancelled run from the next one', async () => {
    const gate = createGate();
    const { agent } = scriptedAgent([reply().text('Half').wait(gate), reply().text('Done.')]);
    const { runtime } = watchedRuntime();
    const first = runtime.run(agent, 'First.', { sessionId: 'shared' });
    await gate.reached;
    const second = runtime.run(agent, 'Second.', { sessionId: 'shared' });
    first.cancel();
    expect(await first.result).toMatchObject({ status: 'cancelled' });
    expect(await second.result).toMatchObject({ status: 'completed', text: 'Done.' });
  });

  it('gives a text to the run it was given to, not to the one under way', async () => {
    const gate = createGate();
    const { model, agent } = scriptedAgent([reply().text('One.').wait(gate), reply().text('Two.')]);
    const { runtime } = watchedRuntime();
    const first = runtime.run(agent, 'First.', { sessionId: 'shared' });
    await gate.reached;
    const second = runtime.run(agent, 'Second.', { sessionId: 'shared' });
    const steered = second.steer('For the second.');
    gate.open();
    expect(await steered).toEqual({ delivered: true, stepId: 'shared.2.1' });
    await Promise.all([first.result, second.result]);
    expect(model.requests[1]?.messages.map(({ text }) => text)).toEqual([
      'First.',
      'One.',
      'Second.',
      'For the second.',
    ]);
  });

  it('gives sessions their own turns at the same time', async () => {
    const gate = createGate();
    let waiting = 0;
    const { agent } = scriptedAgent(() =>
      reply()
        .text('Done.')
        .wait(async (signal) => {
          waiting += 1;
          if (waiting === 3) gate.open();
          await gate.pass(signal);
        }),
    );
    const { runtime } = watchedRuntime();
    const runs = ['a', 'b', 'c'].map((sessionId) => runtime.run(agent, 'Go.', { sessionId }));
    const results = await Promise.all(runs.map(({ result }) => result));
    expect(results.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
  });

  it('refuses an id that is no subject token', () => {
    const { agent } = scriptedAgent([]);
    const { runtime } = watchedRuntime();
    for (const sessionId of ['', 'a.b', 'a b', 'x'.repeat(65), '*']) {
      expect(() => runtime.run(agent, 'Go.', { sessionId })).toThrow(
        expect.objectContaining({ code: 'invalid-input' }),
      );
    }
  });

  it('refuses an input while a turn of an earlier process is open', async () => {
    const { agent } = scriptedAgent([reply().call('nothing', {}).text('Hm.'), reply().text('Done.')], {
      hooks: { beforeContinue: () => new Promise(() => {}) },
    });
    const ledger = await openLedger('memory');
    const { runtime } = watchedRuntime({ ledger: keepOpen(ledger) });
    const run = runtime.run(agent, 'Go.', { sessionId: 'left' });
    await eventSeen(run, 'tool.refused');
    await runtime.close();
    const next = watchedRuntime({ ledger });
    expect(await next.runtime.run(agent, 'Again.', { sessionId: 'left' }).result).toMatchObject({
      status: 'failed',
      error: { kind: 'turn-open' },
    });
  });
});

/** The same ledger for a runtime that is to be closed before another uses it. */
function keepOpen(ledger: Awaited<ReturnType<typeof openLedger>>) {
  return new Proxy(ledger, {
    get(target, key) {
      if (key === 'close') return async () => undefined;
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
