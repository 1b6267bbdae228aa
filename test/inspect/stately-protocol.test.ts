import { createInspector } from '@statelyai/inspect';
import { describe, expect, it } from 'vitest';
import type { AnyStateMachine, InspectionEvent, Observer } from 'xstate';
import { z } from 'zod';
import { allMachines } from '../../machines/index.ts';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { stately } from '../../src/inspect/stately.ts';
import { createRuntime } from '../../src/runtime.ts';
import { failure, reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { isStopped, type Message, startRelay } from '../support/stately-relay.ts';

/** A machine whose actors XState itself shows to an observer. */
function tapped<M>(machine: M, inspect: Observer<InspectionEvent>): M {
  const copy = (machine as unknown as AnyStateMachine).provide({});
  const initial = copy.getInitialSnapshot.bind(copy);
  copy.getInitialSnapshot = (scope, input) => {
    scope.system.inspect(inspect);
    // What XState told when it made the actor, a moment before the observer was there.
    inspect.next?.({ type: '@xstate.actor', actorRef: scope.self, rootId: scope.self.sessionId });
    return initial(scope, input);
  };
  return copy as unknown as M;
}

/** A turn with a retry, calls that succeed, fail, are unknown and are denied, and a second step. */
function anAgent() {
  const model = scriptedModel({
    script: [
      failure({ kind: 'overloaded' }),
      reply().call('note', { text: 'a' }).call('fail', {}).call('nowhere', {}).call('forbidden', {}),
      reply().text('done'),
    ],
  });
  const tool = (name: string, execute: () => string) =>
    defineTool({ name, description: name, inputSchema: z.object({ text: z.string().optional() }), execute });
  return defineAgent({
    name: 'clerk',
    instructions: 'Work.',
    model,
    tools: [
      tool('note', () => 'noted'),
      tool('fail', () => {
        throw new Error('no');
      }),
      tool('forbidden', () => 'never'),
    ],
    permission: ({ toolName }) => (toolName === 'forbidden' ? 'deny' : 'allow'),
    limits: { attempts: { baseDelayMs: 1 } },
  });
}

/** A message without what differs by its nature: names and ids of instances, and times. */
function comparable(messages: readonly Message[]): readonly object[] {
  const order = [...new Set(messages.map(({ sessionId }) => sessionId))];
  return messages.map((message) => {
    const {
      sessionId,
      name: _n,
      rootId: _r,
      parentId: _p,
      createdAt: _c,
      ...rest
    } = message as Message & {
      id: unknown;
    };
    // XState's own registration is converted later, and shows whatever state the actor has come to by then.
    const { snapshot: _s, ...registration } = rest;
    return { instance: order.indexOf(sessionId), ...(rest.type === '@xstate.actor' ? registration : rest) };
  });
}

/** What only the actor itself may know: free text, and what it was started with. */
function withoutText({ reason: _r, input: _i, ...event }: { type: string; [field: string]: unknown }) {
  return event;
}

describe('messages to the relay', () => {
  it('IN-01 equal those of XState for the same run, apart from ids and times', async () => {
    const relay = await startRelay();
    const theirs: Message[] = [];
    const official = createInspector(
      // As the adapter of the package writes it on the wire.
      { send: (message) => void theirs.push(JSON.parse(JSON.stringify(message))) },
      { sanitizeEvent: withoutText },
    );
    const machines = Object.fromEntries(
      Object.entries(allMachines).map(([kind, machine]) => [kind, tapped(machine, official.inspect)]),
    );
    const inspect = stately({ url: relay.url });
    await using runtime = createRuntime({ inspect, machines });
    const run = runtime.run(anAgent(), 'go');
    expect(await run.result).toMatchObject({ status: 'completed' });
    await runtime.close();

    const messages = await relay.until((all) => isStopped(all, run.sessionId));
    expect(comparable(messages)).toEqual(comparable(theirs));
    expect(inspect.stats()).toMatchObject({ sent: messages.length, dropped: 0, coalesced: 0 });
  });

  it('register an instance in its first state', async () => {
    const relay = await startRelay();
    await using runtime = createRuntime({ inspect: stately({ url: relay.url }) });
    const run = runtime.run(anAgent(), 'go');
    await run.result;
    const messages = await relay.until((all) => isStopped(all, run.sessionId));
    const first = messages
      .filter(({ type }) => type === '@xstate.actor')
      .map(({ snapshot }) => snapshot?.value);
    expect(new Set(first)).toEqual(new Set(['idle', 'opening', 'capturing', 'received']));
  });

  it('hold no prompt, argument, result or reason', async () => {
    const relay = await startRelay();
    const secret = 'sk-live-0123456789';
    const model = scriptedModel({
      script: [reply().text(secret).call('echo', { text: secret }), reply().text(secret)],
    });
    const agent = defineAgent({
      name: 'clerk',
      instructions: secret,
      model,
      tools: [
        defineTool({
          name: 'echo',
          description: 'Echoes.',
          inputSchema: z.object({ text: z.string() }),
          execute: ({ text }) => text,
        }),
      ],
      permission: () => 'deny',
    });
    await using runtime = createRuntime({ inspect: stately({ url: relay.url }) });
    const run = runtime.run(agent, secret);
    await run.result;
    run.cancel(secret);
    const messages = await relay.until((all) => isStopped(all, run.sessionId));
    expect(JSON.stringify(messages)).not.toContain(secret);
  });
});
