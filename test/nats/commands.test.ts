import {
  createRuntime,
  defineAgent,
  defineTool,
  type Hooks,
  type Ledger,
  memoryLedger,
  type Run,
  sqliteLedger,
} from 'swarmwright';
import { sendCommand, serveCommands } from 'swarmwright/nats';
import { createGate, reply, scriptedModel } from 'swarmwright/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { NATS_LIMITS } from '../../src/limits.ts';
import type { CommandReply } from '../../src/nats/command-messages.ts';
import { type LedgerKind, ledgerPath, openLedger } from '../support/ledgers.ts';
import { isNatsMissing } from '../support/nats-server.ts';
import { eventSeen } from '../support/run-events.ts';
import { clientOf, startBus, until } from './bus.ts';

/** A turn that stands in a tool until the gate opens, and a service that takes commands for it. */
async function standing(kind: LedgerKind, { hooks }: { readonly hooks?: Hooks } = {}) {
  const server = await startBus();
  const path = await ledgerPath();
  const ledger = kind === 'memory' ? memoryLedger() : await sqliteLedger({ path });
  const gate = createGate();
  const stand = defineTool({
    name: 'stand',
    description: 'Stands.',
    inputSchema: z.object({}),
    execute: (_, { signal }) => gate.pass(signal),
  });
  const model = scriptedModel({ script: [reply().call('stand', {}), reply().text('Done.')] });
  const agent = defineAgent({ name: 'stander', instructions: 'Stand.', model, tools: [stand] });
  const runtime = createRuntime({
    ledger,
    agents: { stander: agent },
    ...(hooks === undefined ? {} : { hooks }),
  });
  onTestFinished(() => runtime.close());
  const service = serveCommands({ connection: server.url, runtime, ledger });
  onTestFinished(() => service.close());
  const run = runtime.run(agent, 'Stand.');
  await gate.reached;
  const client = clientOf(server.url);
  await client.connected(AbortSignal.timeout(10_000));
  // The service hears commands once it is connected, too.
  await until(async () => (await query(run.sessionId)).accepted, 'the service');
  function query(session: string) {
    return sendCommand({ connection: client, session, verb: 'query', body: {}, timeoutMs: 3_000 }).catch(
      () => ({
        accepted: false as const,
      }),
    );
  }
  return { server, path, ledger, gate, model, runtime, service, run, client, session: run.sessionId };
}

async function factAt(ledger: Ledger, session: string, seq: number) {
  return (await ledger.read(session))[seq - 1];
}

describe.skipIf(isNatsMissing()).each<[LedgerKind]>([['memory'], ['sqlite']])('a command on %s', (kind) => {
  it('NB-09 steering is a fact before its answer, which names it; repeated, it is answered alike', async () => {
    const { client, session, ledger, gate, run, model } = await standing(kind);
    const send = () =>
      sendCommand({
        connection: client,
        session,
        verb: 'steer',
        body: { id: 'c1', text: 'Sit.', actor: 'ann' },
      });
    const first = await send();
    if (!first.accepted) throw new Error(first.message);
    expect(await factAt(ledger, session, first.seq)).toMatchObject({
      type: 'steering.accepted',
      data: { id: 'c1', text: 'Sit.', actor: 'nats: ann' },
    });
    expect(await Promise.all([send(), send()])).toEqual([first, first]);
    gate.open();
    expect((await run.result).status).toBe('completed');
    const texts = model.requests[1]?.messages.map((message) => JSON.stringify(message)) ?? [];
    expect(texts.filter((text) => text.includes('Sit.'))).toHaveLength(1);
    expect((await ledger.read(session)).filter(({ type }) => type === 'steering.accepted')).toHaveLength(1);
  });

  it('NB-09 a cancelled turn is closed in the ledger before the answer; repeated, it is answered alike', async () => {
    const { client, session, ledger, run } = await standing(kind);
    const send = (id: string) =>
      sendCommand({ connection: client, session, verb: 'cancel', body: { id, reason: 'wrong branch' } });
    const first = await send('c1');
    if (!first.accepted) throw new Error(first.message);
    expect(await factAt(ledger, session, first.seq)).toMatchObject({
      type: 'turn.closed',
      data: { status: 'cancelled', reason: 'wrong branch' },
    });
    expect(await send('c1')).toEqual(first);
    expect(await send('c2')).toEqual(first);
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'wrong branch' });
  });

  it('NB-09 a query tells how a session is, and nothing that was said in it', async () => {
    const { client, session, run, gate } = await standing(kind);
    const ask = () => sendCommand({ connection: client, session, verb: 'query', body: {} });
    expect(await ask()).toMatchObject({
      accepted: true,
      state: { agent: 'stander', activity: 'at-work', turn: `${session}.1`, steps: 1, approvals: [] },
    });
    gate.open();
    await run.result;
    await until(async () => {
      const reply = await ask();
      return reply.accepted && reply.state?.['activity'] === 'idle';
    }, 'an idle session');
    const after = await ask();
    expect(after).toMatchObject({ state: { status: 'completed' } });
    expect(JSON.stringify(after)).not.toContain('Stand.');
  });
});

describe.skipIf(isNatsMissing())('a command that cannot be carried out', () => {
  it('NB-09 for an unknown session is answered with a code, after those who may know it had their say', async () => {
    const { client } = await standing('memory');
    const answer = await sendCommand({
      connection: client,
      session: 's-nobody',
      verb: 'steer',
      body: { text: 'Go.' },
    });
    expect(answer).toMatchObject({ accepted: false, code: 'unknown-session' });
  });

  it('NB-11 are refused by nobody who has not the session, however many there are', async () => {
    const { server, client, session } = await standing('memory');
    const ledger = memoryLedger();
    const runtime = createRuntime({ ledger });
    onTestFinished(() => runtime.close());
    const stranger = serveCommands({ connection: server.url, runtime, ledger });
    onTestFinished(() => stranger.close());
    const ask = (of: string) => sendCommand({ connection: client, session: of, verb: 'query', body: {} });
    const answers: CommandReply[] = [];
    const strange: Promise<CommandReply>[] = [];
    // Whoever keeps strange commands among those at work has no place left for the next ones.
    for (let round = 0; round < 3; round += 1) {
      for (let at = 0; at < NATS_LIMITS.commands / 2; at += 1) strange.push(ask(`s-none-${round}-${at}`));
      answers.push(await ask(session));
    }
    expect(answers.filter(({ accepted }) => !accepted)).toEqual([]);
    await Promise.all(strange);
  });

  it('NB-09 is answered by the process that has the session, whoever else listens', async () => {
    const { client, server, session } = await standing('memory');
    const other = await openLedger('memory');
    const runtime = createRuntime({ ledger: other });
    onTestFinished(() => runtime.close());
    const stranger = serveCommands({ connection: server.url, runtime, ledger: other });
    onTestFinished(() => stranger.close());
    for (let turn = 0; turn < 5; turn += 1) {
      const answer = await sendCommand({ connection: client, session, verb: 'query', body: {} });
      expect(answer.accepted).toBe(true);
    }
  });

  it('NB-09 for a turn that is over is answered with a code', async () => {
    const { client, session, gate, run } = await standing('sqlite');
    gate.open();
    await run.result;
    const answer = await sendCommand({ connection: client, session, verb: 'steer', body: { text: 'Go.' } });
    expect(answer).toMatchObject({ accepted: false, code: 'turn-not-open' });
  });

  it('NB-09 because a gate refused the text is answered with a code, and is no fact', async () => {
    const hooks = { name: 'house', beforeSteering: () => ({ refuse: 'Not now.' }) };
    const { client, session, ledger } = await standing('memory', { hooks });
    const answer = await sendCommand({ connection: client, session, verb: 'steer', body: { text: 'Go.' } });
    expect(answer).toMatchObject({ accepted: false, code: 'turn-not-open', message: 'Not now.' });
    expect((await ledger.read(session)).some(({ type }) => type === 'steering.accepted')).toBe(false);
  });

  it.each([
    ['no JSON', '{'],
    ['without an id', '{"text":"Go."}'],
    ['with an id that is no token', '{"id":"a b","text":"Go."}'],
    ['without a text', '{"id":"c1"}'],
  ])('NB-09 that is %s is answered with a code', async (_, body) => {
    const { client, session } = await standing('memory');
    const subject = `swm.v1.default.cmd.${session}.steer`;
    const answer = await client.request(subject, new TextEncoder().encode(body));
    expect(JSON.parse(Buffer.from(answer.data).toString())).toMatchObject({
      v: 1,
      accepted: false,
      code: 'invalid-input',
    });
  });

  it('NB-09 is an error where nobody serves commands', async () => {
    const server = await startBus();
    const sent = sendCommand({ connection: server.url, session: 's-1', verb: 'query', body: {} });
    await expect(sent).rejects.toMatchObject({ code: 'nats-unavailable' });
  });
});

describe.skipIf(isNatsMissing())('a process that serves commands and has no turn at work', () => {
  it('NB-09 brings them to the one that has it, through the ledger they share', async () => {
    const { server, session, path, gate, run, ledger, service: own } = await standing('sqlite');
    await own.close();
    const other = await sqliteLedger({ path });
    const runtime = createRuntime({ ledger: other });
    onTestFinished(() => runtime.close());
    const service = serveCommands({ connection: server.url, runtime, ledger: other });
    onTestFinished(() => service.close());
    const client = clientOf(server.url);
    const send = () =>
      sendCommand({
        connection: client,
        session,
        verb: 'steer',
        body: { id: 'c1', text: 'Sit.' },
        timeoutMs: 3_000,
      });
    await until(
      () =>
        send().then(
          ({ accepted }) => accepted,
          () => false,
        ),
      'the service',
    );
    const answer = await send();
    if (!answer.accepted) throw new Error(answer.message);
    expect((await factAt(ledger, session, answer.seq))?.type).toBe('steering.accepted');
    gate.open();
    expect((await run.result).status).toBe('completed');
  });
});

/** A run that waits for a person, and a service that may decide. */
async function waiting(approvals: 'off' | 'decide' | 'edit', onApproval: 'wait' | 'pause' = 'wait') {
  const server = await startBus();
  const ledger = await openLedger('sqlite');
  const deleted: string[] = [];
  const del = defineTool({
    name: 'del',
    description: 'Deletes.',
    inputSchema: z.object({ path: z.string() }),
    needsApproval: true,
    execute: ({ path }) => {
      deleted.push(path);
      return 'gone';
    },
  });
  const model = scriptedModel({ script: [reply().call('del', { path: 'a.txt' }), reply().text('Done.')] });
  const agent = defineAgent({ name: 'deleter', instructions: 'Delete.', model, tools: [del] });
  const runtime = createRuntime({ ledger, agents: { deleter: agent } });
  onTestFinished(() => runtime.close());
  const client = clientOf(server.url);
  const service = serveCommands({ connection: client, runtime, ledger, approvals });
  onTestFinished(() => service.close());
  await client.connected(AbortSignal.timeout(10_000));
  const run: Run = runtime.run(agent, 'Delete.', { onApproval });
  const { data } = await eventSeen(run, 'approval.requested');
  const { request, argsHash } = data;
  return { client, run, runtime, ledger, deleted, session: run.sessionId, request, argsHash };
}

describe.skipIf(isNatsMissing())('a decision from elsewhere', () => {
  it('NB-11 is refused unless it is switched on', async () => {
    const { client, session, request, argsHash, deleted } = await waiting('off');
    for (const verb of ['approve', 'deny'] as const) {
      const answer = await sendCommand({ connection: client, session, verb, body: { request, argsHash } });
      expect(answer).toMatchObject({ accepted: false, code: 'command-disabled' });
    }
    expect(deleted).toEqual([]);
  });

  it('NB-11 is refused for other arguments than those that wait', async () => {
    const { client, session, request, deleted, runtime } = await waiting('decide');
    const body = { request, argsHash: 'f'.repeat(64) };
    const answer = await sendCommand({ connection: client, session, verb: 'approve', body });
    expect(answer).toMatchObject({ accepted: false, code: 'approval-arguments-differ' });
    expect(deleted).toEqual([]);
    expect(await runtime.approvals.pending()).toHaveLength(1);
  });

  it('NB-11 lets the very call run; repeated, it is answered alike, and another one is refused', async () => {
    const { client, session, request, argsHash, deleted, run, ledger } = await waiting('decide');
    const send = (verb: 'approve' | 'deny', id: string) =>
      sendCommand({ connection: client, session, verb, body: { id, request, argsHash, actor: 'ann' } });
    const first = await send('approve', 'c1');
    if (!first.accepted) throw new Error(first.message);
    expect(await factAt(ledger, session, first.seq)).toMatchObject({
      type: 'permission.decided',
      data: { decision: 'approve', actor: 'nats: ann', argsHash },
    });
    await run.result;
    expect(await send('approve', 'c1')).toEqual(first);
    expect(await send('approve', 'c2')).toEqual(first);
    expect(await send('deny', 'c3')).toMatchObject({ accepted: false, code: 'approval-conflict' });
    expect(deleted).toEqual(['a.txt']);
  });

  it('NB-11 brings no other arguments along unless that is switched on', async () => {
    const strict = await waiting('decide');
    const edit = ({ client, session, request, argsHash }: typeof strict) =>
      sendCommand({
        connection: client,
        session,
        verb: 'approve',
        body: { request, argsHash, editedInput: { path: 'b.txt' } },
      });
    expect(await edit(strict)).toMatchObject({ accepted: false, code: 'command-disabled' });
    const open = await waiting('edit');
    expect(await edit(open)).toMatchObject({ accepted: true });
    await open.run.result;
    expect([strict.deleted, open.deleted]).toEqual([[], ['b.txt']]);
  });

  it('NB-11 for a paused turn is stored, and a command resumes the turn', async () => {
    const { client, session, request, argsHash, deleted, run, ledger } = await waiting('decide', 'pause');
    expect((await run.result).status).toBe('paused');
    await until(async () => {
      const [summary] = await ledger.sessions();
      return summary?.owned === false;
    }, 'a session that nobody has');
    const decided = await sendCommand({
      connection: client,
      session,
      verb: 'approve',
      body: { request, argsHash },
    });
    expect(decided).toMatchObject({ accepted: true });
    expect(deleted).toEqual([]);
    const resumed = await sendCommand({ connection: client, session, verb: 'resume', body: { id: 'c2' } });
    if (!resumed.accepted) throw new Error(resumed.message);
    expect((await factAt(ledger, session, resumed.seq))?.type).toBe('turn.resumed');
    await until(() => deleted.length === 1, 'the call');
    expect(await sendCommand({ connection: client, session, verb: 'resume', body: { id: 'c2' } })).toEqual(
      resumed,
    );
  });
});
