import { createRuntime, defineAgent, defineTool, memoryLedger, type Run, type RunEvent } from 'swarmwright';
import {
  type Connection,
  connectNats,
  natsSink,
  provision,
  sendCommand,
  serveCommands,
  subscribe,
} from 'swarmwright/nats';
import { reply, scriptedModel } from 'swarmwright/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { isNatsMissing, type NatsServer, startNatsServer } from '../support/nats-server.ts';
import { until } from './bus.ts';

const LARGE = 'y'.repeat(90_000);

/** A worker as user `worker`, with an agent that asks before it deletes. */
async function atWork(): Promise<{ server: NatsServer; run: Run }> {
  const server = await startNatsServer({ conf: 'project' });
  onTestFinished(() => server[Symbol.asyncDispose]());
  await using admin = connectNats(server.urlOf('provisioner'));
  expect((await provision(admin)).verdict).toBe('ready');
  const ledger = memoryLedger();
  const del = defineTool({
    name: 'del',
    description: 'Deletes.',
    inputSchema: z.object({ path: z.string() }),
    needsApproval: true,
    maxResultBytes: 1_000,
    execute: () => LARGE,
  });
  const model = scriptedModel({ script: [reply().call('del', { path: 'a.txt' }), reply().text('Done.')] });
  const agent = defineAgent({ name: 'deleter', instructions: 'Delete.', model, tools: [del] });
  const connection = connectNats(server.urlOf('worker'));
  onTestFinished(() => connection.close());
  const runtime = createRuntime({ ledger, sinks: [natsSink({ connection, content: ['tool'] })] });
  onTestFinished(() => runtime.close());
  const service = serveCommands({ connection, runtime, ledger, approvals: 'decide' });
  onTestFinished(() => service.close());
  await connection.connected(AbortSignal.timeout(10_000));
  return { server, run: runtime.run(agent, 'Delete.') };
}

/** The first stored event of a type, as a user sees it. */
async function firstOf<T extends RunEvent['type']>(connection: Connection, type: T) {
  const [kind = '', name = ''] = type.split('.');
  for await (const item of subscribe({ connection, from: 'start', kind, name })) {
    // The filter names this type alone.
    if (item.type === 'event') return item.event as Extract<RunEvent, { type: T }>;
  }
  throw new Error(`no ${type}`);
}

describe.skipIf(isNatsMissing())('the users of nats.conf together', () => {
  it('NB-10 one works, one watches, one steers, one decides', async () => {
    const { server, run } = await atWork();
    const session = run.sessionId;
    const asked = await firstOf(server.urlOf('observer'), 'approval.requested');
    const { request, argsHash } = asked.data;

    const steered = await sendCommand({
      connection: server.urlOf('operator'),
      session,
      verb: 'steer',
      body: { text: 'Only this one.' },
    });
    expect(steered).toMatchObject({ accepted: true });
    const decided = sendCommand({
      connection: server.urlOf('operator'),
      session,
      verb: 'approve',
      body: { request, argsHash },
    });
    await expect(decided).rejects.toMatchObject({ code: 'nats-rejected' });
    const approved = await sendCommand({
      connection: server.urlOf('approver'),
      session,
      verb: 'approve',
      body: { request, argsHash, actor: 'ann' },
    });
    expect(approved).toMatchObject({ accepted: true });
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect((await firstOf(server.urlOf('observer'), 'turn.closed')).data.status).toBe('completed');
  });

  it('NB-08 NB-10 an observer reads what the worker put aside', async () => {
    const { server, run } = await atWork();
    const { data } = await firstOf(server.urlOf('observer'), 'approval.requested');
    await sendCommand({
      connection: server.urlOf('approver'),
      session: run.sessionId,
      verb: 'approve',
      body: { request: data.request, argsHash: data.argsHash },
    });
    const settled = await firstOf(server.urlOf('observer'), 'tool.settled');
    await using reader = subscribe({ connection: server.urlOf('observer') });
    const bytes = await reader.readArtifact(settled.data.resultRef ?? { sha256: '' });
    expect(Buffer.from(bytes).toString()).toContain(LARGE);
    await run.result;
  });

  it('NB-10 an approver hears what waits, and nothing else', async () => {
    const { server } = await atWork();
    await using approver = connectNats(server.urlOf('approver'));
    await approver.connected(AbortSignal.timeout(10_000));
    const heard: string[] = [];
    approver.subscribe('swm.v1.default.evt.*.*.approval.>', ({ subject }) => heard.push(subject));
    approver.subscribe('swm.v1.default.evt.>', ({ subject }) => heard.push(`too much: ${subject}`));
    await until(() => approver.state.message !== undefined, 'a refusal');
    expect(approver.state.message).toContain('swm.v1.default.evt.>');
    expect(heard.filter((subject) => subject.startsWith('too much'))).toEqual([]);
  });

  it('NB-10 an approver reads what is to be decided, as it comes and again, and decides it', async () => {
    const { server, run } = await atWork();
    const connection = server.urlOf('approver');
    const { data } = await firstOf(connection, 'approval.requested');
    const { request, argsHash } = data;
    const decided = new AbortController();
    const news = subscribe({ connection, kind: 'approval', signal: decided.signal })[Symbol.asyncIterator]();
    const next = news.next();
    await using observer = connectNats(server.urlOf('provisioner'));
    await observer.connected(AbortSignal.timeout(10_000));
    await until(async () => {
      const { data } = await observer.request('$JS.API.STREAM.INFO.SWM_EVT', new Uint8Array());
      return JSON.parse(Buffer.from(data).toString()).state.consumer_count > 0;
    }, 'a follower');
    await sendCommand({ connection, session: run.sessionId, verb: 'approve', body: { request, argsHash } });
    expect((await next).value).toMatchObject({ event: { type: 'approval.decided', data: { request } } });
    decided.abort();
    await news.return?.();
    await expect(firstOf(connection, 'tool.settled')).rejects.toMatchObject({ code: 'nats-rejected' });
    expect(await run.result).toMatchObject({ status: 'completed' });
  });
});
