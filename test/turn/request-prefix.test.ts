import { describe, expect, it } from 'vitest';
import { sqliteLedger } from '../../src/ledger/sqlite-ledger.ts';
import { createGate } from '../../src/testing/gate.ts';
import { failure, type Reply, reply } from '../../src/testing/reply.ts';
import { LEDGER_KINDS, ledgerPath, openLedger } from '../support/ledgers.ts';
import { eventSeen } from '../support/run-events.ts';
import { servedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

interface WireBody {
  readonly messages: readonly unknown[];
  readonly tools: readonly unknown[];
}

/** The body of a chat-completions request: this file reads only what the server has parsed before. */
const bodyOf = (request: { readonly body: unknown } | undefined) => request?.body as WireBody;

const call = (id: string, wireId?: string) =>
  reply().call('read', { id }, wireId === undefined ? {} : { id: wireId });

describe.each(LEDGER_KINDS)('what goes back to a provider (%s)', (kind) => {
  it('extends the request before, byte for byte, over steps, retries, steering and turns', async () => {
    const slow = createGate();
    const spy = createToolSpy();
    const { server, agent } = await servedAgent(
      [
        reply().reasoning('Hm.').text('Looking.').call('read', { id: 'a' }).call('fly', {}),
        call('b').call('slow', { id: 'c' }),
        failure({ kind: 'overloaded' }),
        reply().text('First.'),
        call('d'),
        reply().text('Second.'),
      ],
      {
        tools: [
          spy.tool('read'),
          spy.tool('slow', async () => {
            await slow.pass();
            return { answer: 42, nested: { z: 1, a: 2 } };
          }),
        ],
        limits: { attempts: { baseDelayMs: 0 } },
      },
    );
    const { runtime } = watchedRuntime({ ledger: await openLedger(kind) });
    const run = runtime.run(agent, 'Go.');
    await slow.reached;
    const steered = run.steer('Faster.');
    await eventSeen(run, 'steering.accepted');
    slow.open();
    await steered;
    await run.result;
    await runtime.run(agent, 'And again.', { sessionId: run.sessionId }).result;
    server.assertPlayedOut();
    const bodies = server.requests.map(bodyOf);
    for (const [at, { messages, tools }] of bodies.entries()) {
      const before = bodies[at - 1];
      if (before === undefined) continue;
      expect(JSON.stringify(messages.slice(0, before.messages.length))).toBe(JSON.stringify(before.messages));
      expect(JSON.stringify(tools)).toBe(JSON.stringify(before.tools));
    }
  });

  it('keeps usable ids and rewrites only later repetitions, over steps and turns', async () => {
    const spy = createToolSpy();
    const { server, agent } = await servedAgent(
      [
        call('a', 'functions.read:0').call('read', { id: 'b' }, { id: 'functions.read:1' }),
        call('c', 'functions.read:0'),
        reply().text('First.'),
        call('d', 'functions.read:0'),
        reply().text('Second.'),
      ],
      { tools: [spy.tool('read')] },
    );
    const { runtime } = watchedRuntime({ ledger: await openLedger(kind) });
    const { sessionId, result } = runtime.run(agent, 'Go.');
    await result;
    await runtime.run(agent, 'Again.', { sessionId }).result;
    server.assertPlayedOut();
    const ids = server.requests.at(-1)?.messages.flatMap(({ calls }) => calls.map(({ id }) => id)) ?? [];
    expect(ids.slice(0, 2)).toEqual(['functions.read:0', 'functions.read:1']);
    expect(new Set(ids).size).toBe(4);
    expect(ids[2]).toMatch(/^call_[0-9a-f]+$/);
    // Four entries, each once: an id of the provider never stands for the call.
    expect(spy.entries.map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd']);
  });
});

describe('a session taken up by another process', () => {
  it('goes on with the very bytes its provider knows', async () => {
    const { server, agent } = await servedAgent(
      [
        call('a', 'same').text('Looking.'),
        call('b', 'same'),
        reply().text('First.'),
        reply().text('Second.'),
      ],
      { tools: [createToolSpy().tool('read')] },
    );
    const path = await ledgerPath();
    const first = watchedRuntime({ ledger: await sqliteLedger({ path }) });
    await first.runtime.run(agent, 'Go.', { sessionId: 'moved' }).result;
    await first.runtime.close();
    const second = watchedRuntime({ ledger: await sqliteLedger({ path }) });
    await second.runtime.run(agent, 'Again.', { sessionId: 'moved' }).result;
    server.assertPlayedOut();
    const [before, after] = server.requests.slice(2).map(bodyOf);
    expect(JSON.stringify(after?.messages.slice(0, before?.messages.length))).toBe(
      JSON.stringify(before?.messages),
    );
    expect(after?.messages.length).toBe((before?.messages.length ?? 0) + 2);
  });
});

describe('ids nobody can send back', () => {
  const unusable: readonly [string, Reply][] = [
    ['blanks', call('a', 'call 1')],
    ['a line end', call('a', 'call\n1')],
    ['letters outside ASCII', call('a', 'aufruf-ü')],
    ['too many characters', call('a', 'x'.repeat(129))],
  ];
  it.each(unusable)('are rewritten: %s', async (_title, first) => {
    const { server, agent } = await servedAgent([first, reply().text('Done.')], {
      tools: [createToolSpy().tool('read')],
    });
    const { runtime } = watchedRuntime();
    await runtime.run(agent, 'Go.').result;
    expect(server.requests[1]?.messages[1]?.calls[0]?.id).toMatch(/^call_[0-9a-f]{24}$/);
    expect(server.requests[1]?.messages[2]?.callId).toBe(server.requests[1]?.messages[1]?.calls[0]?.id);
  });
});
