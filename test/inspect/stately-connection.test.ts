import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { stately } from '../../src/inspect/stately.ts';
import { DROPPED_EVENT } from '../../src/inspect/stately-messages.ts';
import { createRuntime } from '../../src/runtime.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { recordingHost, startStep, startTurn } from '../lifecycle/instances.ts';
import { startProgram } from '../support/child-process.ts';
import { freePort, isStopped, type Message, startRelay } from '../support/stately-relay.ts';

/** An agent whose tool waits until it is let through. */
function waitingAgent(wait: () => Promise<void>) {
  const model = scriptedModel({ script: [reply().call('wait', {}), reply().text('done')] });
  const tool = defineTool({
    name: 'wait',
    description: 'Waits.',
    inputSchema: z.object({}),
    execute: async () => {
      await wait();
      return 'waited';
    },
  });
  return defineAgent({ name: 'clerk', instructions: 'Work.', model, tools: [tool] });
}

const registrations = (messages: readonly Message[]) =>
  messages.filter(({ type }) => type === '@xstate.actor');

describe('the relay', () => {
  it('IN-02 is told of parents and children, parents first', async () => {
    const relay = await startRelay();
    await using runtime = createRuntime({ inspect: stately({ url: relay.url }) });
    const run = runtime.run(
      waitingAgent(() => Promise.resolve()),
      'go',
    );
    await run.result;
    const messages = await relay.until((all) => isStopped(all, run.sessionId));
    const links = registrations(messages).map(({ sessionId, parentId, rootId, name }) => ({
      name,
      parent: parentId,
      root: rootId,
      id: sessionId,
    }));
    const session = run.sessionId;
    expect(links).toEqual([
      { name: 'agent clerk', parent: undefined, root: session, id: session },
      { name: 'turn 1', parent: session, root: session, id: `${session}.1` },
      { name: 'step 1', parent: `${session}.1`, root: session, id: `${session}.1.1` },
      { name: 'call wait', parent: `${session}.1`, root: session, id: `${session}.1.1.0` },
      { name: 'step 2', parent: `${session}.1`, root: session, id: `${session}.1.2` },
    ]);
  });

  it('IN-02 hears of what is live anew when it comes back, then of what follows', async () => {
    const relay = await startRelay();
    const through = createGate();
    const inspect = stately({ url: relay.url });
    await using runtime = createRuntime({ inspect });
    const run = runtime.run(
      waitingAgent(() => through.pass()),
      'go',
    );
    await through.reached;
    await relay.until((all) => all.some(({ snapshot }) => snapshot?.value === 'executing'));
    await relay.kill();
    const again = await startRelay(relay.port);
    await again.until((all) => registrations(all).length >= 3);
    expect(
      registrations(again.messages).map(({ sessionId, snapshot }) => [sessionId, snapshot?.value]),
    ).toEqual([
      [run.sessionId, 'running'],
      [`${run.sessionId}.1`, 'settling'],
      [`${run.sessionId}.1.1.0`, 'executing'],
    ]);
    through.open();
    expect(await run.result).toMatchObject({ status: 'completed' });
    await again.until((all) => isStopped(all, run.sessionId));
    expect(inspect.stats()).toMatchObject({ connections: 2, dropped: 0 });
  });

  it('IN-02 that comes late is told what happened before', async () => {
    const port = await freePort();
    const inspect = stately({ url: `ws://localhost:${port}` });
    await using runtime = createRuntime({ inspect });
    const run = runtime.run(
      waitingAgent(() => Promise.resolve()),
      'go',
    );
    await run.result;
    expect(await inspect.flushed()).toBe(false);
    const relay = await startRelay(port);
    const messages = await relay.until((all) => isStopped(all, run.sessionId));
    expect(registrations(messages)).toHaveLength(5);
  });

  it('IN-03 is told how much was dropped, and of nobody it does not know', async () => {
    const relay = await startRelay();
    const inspect = stately({ url: relay.url, maxQueued: 10 });
    const { host } = recordingHost({ observe: (record) => inspect.observe(record) });
    const turn = startTurn(host);
    turn.send({ type: 'OPENED' });
    turn.send({ type: 'PROJECTED' });
    for (let at = 1; at <= 50; at += 1) startStep(host, `s-1.1.${at}`);
    expect(inspect.stats().queued).toBeLessThanOrEqual(10);
    expect(await inspect.flushed()).toBe(true);
    turn.send({ type: 'CANCEL' });
    const messages = await relay.until((all) => all.some(({ event }) => event?.type === 'CANCEL'));
    const told = messages.find(({ event }) => event?.type === DROPPED_EVENT);
    const { dropped, sent } = inspect.stats();
    expect(told?.event).toMatchObject({ count: dropped });
    expect(dropped).toBeGreaterThan(100);
    expect(sent).toBeLessThan(20);
    const known = new Set<string>();
    for (const message of messages) {
      if (message.type === '@xstate.actor') known.add(message.sessionId);
      else expect(known).toContain(message.sessionId);
    }
    await inspect.close();
  });
});

describe('a process that shows its machines', () => {
  it.each(['nobody', 'a relay', 'somebody who never answers'])(
    'IN-03 ends by itself when its work is done and %s listens',
    async (listener) => {
      const program = startProgram('programs/stately-run.ts', [await addressOf(listener)]);
      await program.said('ended completed');
      expect(await program.ended).toBe(0);
    },
  );

  it('has sent all of a run before it ends, if it waits for that', async () => {
    const relay = await startRelay();
    const program = startProgram('programs/stately-run.ts', [relay.url, 'flush']);
    await program.said('ended completed');
    await relay.until((all) => all.some(({ snapshot }) => snapshot?.value === 'stopped'));
    expect(await program.ended).toBe(0);
  });
});

async function addressOf(listener: string): Promise<string> {
  if (listener === 'a relay') return (await startRelay()).url;
  if (listener === 'nobody') return `ws://localhost:${await freePort()}`;
  const server = createServer(() => undefined).listen(0);
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const address = server.address();
  return `ws://localhost:${typeof address === 'object' && address !== null ? address.port : 0}`;
}

describe('stately', () => {
  it.each([
    ['an address that is none', { url: 'localhost:8080' }],
    ['an address of another protocol', { url: 'http://localhost:8080' }],
    ['a queue without a place', { maxQueued: 0 }],
    ['an option it does not have', { port: 1 } as object],
  ])('refuses %s', (_, options) => {
    expect(() => stately(options)).toThrow(expect.objectContaining({ code: 'invalid-inspector' }));
  });
});
