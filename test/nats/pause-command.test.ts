import {
  type Agent,
  createRuntime,
  defineAgent,
  defineGraph,
  defineTool,
  type Ledger,
  type Runtime,
} from 'swarmwright';
import { sendCommand, serveCommands } from 'swarmwright/nats';
import { createGate, faultyLedger, type Gate, reply, type Script, scriptedModel } from 'swarmwright/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { LEDGER_KINDS, type LedgerKind, openLedger } from '../support/ledgers.ts';
import { isNatsMissing } from '../support/nats-server.ts';
import { clientOf, startBus, until } from './bus.ts';

/** A runtime whose commands are served. The gate opens once the owner of a session has been told something. */
async function serving(kind: LedgerKind, gate: Gate, agents: Record<string, Agent> = {}) {
  const server = await startBus();
  const ledger: Ledger = faultyLedger(await openLedger(kind), [
    { at: 'reply', when: 'after', action: { type: 'call', run: () => gate.open() } },
  ]);
  const runtime: Runtime = createRuntime({ ledger, agents });
  onTestFinished(() => runtime.close());
  const client = clientOf(server.url);
  const service = serveCommands({ connection: client, runtime, ledger });
  onTestFinished(() => service.close());
  await client.connected(AbortSignal.timeout(10_000));
  const send = (session: string, verb: 'pause' | 'resume' | 'query', id: string) =>
    sendCommand({ connection: client, session, verb, body: { id } });
  return { ledger, runtime, send };
}

/** An agent whose tool stands until the gate opens. */
function stander(script: Script, gate: Gate) {
  const stand = defineTool({
    name: 'stand',
    description: 'Stands.',
    inputSchema: z.object({}),
    execute: (_, { signal }) => gate.pass(signal),
  });
  const model = scriptedModel({ script });
  return { model, agent: defineAgent({ name: 'stander', instructions: 'Stand.', model, tools: [stand] }) };
}

describe.skipIf(isNatsMissing()).each(LEDGER_KINDS)('the command pause on %s', (kind) => {
  it('NB-09 is a fact before its answer, which names it; repeated, it is answered alike', async () => {
    const gate = createGate();
    const { agent } = stander([reply().call('stand', {})], gate);
    const { ledger, runtime, send } = await serving(kind, gate);
    const run = runtime.run(agent, 'Stand.');
    const session = run.sessionId;
    await gate.reached;
    const first = await send(session, 'pause', 'c1');
    if (!first.accepted) throw new Error(first.message);
    expect((await ledger.read(session))[first.seq - 1]).toMatchObject({
      type: 'turn.paused',
      data: { reason: 'requested', open: [] },
    });
    expect(await send(session, 'pause', 'c1')).toEqual(first);
    expect(await send(session, 'pause', 'c2')).toEqual(first);
    expect(await run.result).toMatchObject({ status: 'paused', reason: 'requested', steps: 1 });
    expect(await send(session, 'query', 'c3')).toMatchObject({ state: { activity: 'paused' } });
  });

  it('NB-09 leaves a turn that the command resume goes on with', async () => {
    const gate = createGate();
    const { agent, model } = stander([reply().call('stand', {}), reply().text('Done.')], gate);
    const { ledger, runtime, send } = await serving(kind, gate, { stander: agent });
    const run = runtime.run(agent, 'Stand.');
    const session = run.sessionId;
    await gate.reached;
    await send(session, 'pause', 'c1');
    await run.result;
    const resumed = await send(session, 'resume', 'c2');
    if (!resumed.accepted) throw new Error(resumed.message);
    expect((await ledger.read(session))[resumed.seq - 1]?.type).toBe('turn.resumed');
    await until(async () => (await ledger.read(session)).at(-1)?.type === 'turn.closed', 'the end');
    expect(model.requests).toHaveLength(2);
    expect(await send(session, 'pause', 'c3')).toMatchObject({ accepted: false, code: 'turn-not-open' });
  });
});

describe.skipIf(isNatsMissing())('the command pause that cannot be carried out', () => {
  it('NB-09 because the turn ends with its step is answered with a code', async () => {
    const gate = createGate();
    const { agent } = stander([reply().wait(gate).text('Done.')], gate);
    const { runtime, send } = await serving('memory', gate);
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    const answer = await send(run.sessionId, 'pause', 'c1');
    expect(answer).toMatchObject({ accepted: false, code: 'turn-not-open' });
    expect((await run.result).status).toBe('completed');
  });

  it('NB-09 because a graph is at work is answered with a code, and the graph goes on', async () => {
    const gate = createGate();
    const graph = defineGraph({ name: 'flow' })
      .node('stand', (_, { signal }) => gate.pass(signal).then(() => 'Done.'), { from: 'input' })
      .build({ output: 'stand' });
    const { runtime, send } = await serving('memory', gate);
    const run = runtime.run(graph, 'Go.');
    await gate.reached;
    const answer = await send(run.sessionId, 'pause', 'c1');
    expect(answer).toMatchObject({ accepted: false, code: 'not-pausable' });
    expect((await run.result).status).toBe('completed');
  });
});
