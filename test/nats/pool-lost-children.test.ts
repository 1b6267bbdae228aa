import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { AnyAgent } from '../../src/agent/define-agent.ts';
import { defineAgent } from '../../src/agent/define-agent.ts';
import type { NewRecord } from '../../src/ledger/records.ts';
import { connectNats } from '../../src/nats/client.ts';
import { askJetStream } from '../../src/nats/jet-stream-api.ts';
import type { Runtime } from '../../src/runtime.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { ofType } from '../support/run-events.ts';
import { openLedgerOn, startLedgerServer } from './ledger-server.ts';
import { asksThenTells, chain, expectSound, poolWorld, type Request, treeOf } from './pool-world.ts';

const WITHIN = { timeout: 20_000, interval: 25 };

/** The lead asks the payer, who pays. */
const paying = (request: Request) => {
  if (request.toolNames.includes('ask_payer')) return asksThenTells('payer')(request);
  const isDone = request.messages.some(({ role }) => role === 'tool');
  return isDone ? reply().text('paid') : reply().call('pay', { id: 'a' });
};

describe.skipIf(isNatsMissing())('children that get lost', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startLedgerServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  /** Messages that the queue may hold. */
  async function allowMessages(own: NatsServer, max_msgs: number): Promise<void> {
    await using admin = connectNats(own.url);
    await admin.connected(AbortSignal.timeout(10_000));
    const info = await askJetStream(admin, 'STREAM.INFO.SWM_Q');
    const { config } = (info.type === 'answer' ? info.body : {}) as { readonly config?: object };
    const answer = await askJetStream(admin, 'STREAM.UPDATE.SWM_Q', { ...config, max_msgs });
    expect(answer.type).toBe('answer');
  }

  test('NB-14 a child that a full queue did not take is asked for once there is room', async () => {
    const own = await startLedgerServer();
    onTestFinished(() => own[Symbol.asyncDispose]());
    // Room for the parent alone, which keeps its place while it is worked on.
    await allowMessages(own, 1);
    const { runtime } = await poolWorld(own, paying, (baseURL) => chain(baseURL, ['lead', 'payer']));
    const run = runtime.run('lead', 'Go.');
    expect(await run.result).toMatchObject({ status: 'completed', text: 'lead done' });
    const tree = await treeOf(runtime, run.sessionId);
    expect(tree.map((records) => ofType(records, 'turn.closed').length)).toEqual([1, 1]);
    await expectSound(runtime, run.sessionId);
  });

  test('a run whose children wait for a person, or for the place of one that does, says so', async () => {
    const { runtime } = await poolWorld(
      server,
      ({ toolNames, messages }) => {
        const isDone = messages.some(({ role }) => role === 'tool');
        if (!toolNames.includes('ask_payer')) {
          return isDone ? reply().text('paid') : reply().call('pay', { id: 'a' });
        }
        const asks = reply().call('ask_payer', { task: '1' }).call('ask_payer', { task: '2' });
        return isDone ? reply().text('lead done') : asks;
      },
      (baseURL) => {
        const [lead, payer] = chain(baseURL, ['lead', 'payer'], { needsApproval: true }) as [
          AnyAgent,
          AnyAgent,
        ];
        const { name, model } = lead;
        const narrow = { name, model, instructions: 'Do.', agents: [payer], limits: { fanOut: 1 } };
        return [defineAgent(narrow), payer];
      },
    );
    const first = runtime.run('lead', 'Go.', { onApproval: 'pause' });
    expect(await first.result).toMatchObject({ status: 'paused', reason: 'approval' });
    await approve(runtime, first.sessionId);
    const second = runtime.resume('lead', first.sessionId, { onApproval: 'pause' });
    expect(await second.result).toMatchObject({ status: 'paused', reason: 'approval' });
    await approve(runtime, first.sessionId);
    const last = runtime.resume('lead', first.sessionId, { onApproval: 'pause' });
    expect(await last.result).toMatchObject({ status: 'completed', text: 'lead done' });
    await expectSound(runtime, first.sessionId);
  });

  async function approve(runtime: Runtime, sessionId: string): Promise<void> {
    const pending = await runtime.approvals.pending({ sessionId });
    expect(pending).toHaveLength(1);
    await runtime.approvals.decide(pending[0]?.id ?? '', { decision: 'approve' });
  }

  test('T22 a run that is cancelled while its child is about to begin ends as cancelled, and the child too', async () => {
    const gate = createGate();
    const { runtime } = await poolWorld(
      server,
      (request) => (request.toolNames.includes('ask_payer') ? paying(request) : reply().stall()),
      (baseURL) => {
        const [lead, payer] = chain(baseURL, ['lead', 'payer']) as [AnyAgent, AnyAgent];
        const { name, model, tools } = payer;
        const beforeTurn = () => gate.pass().then(() => undefined);
        const slow = defineAgent({ name, model, instructions: 'Do.', tools, hooks: { beforeTurn } });
        const asking = { name: lead.name, model: lead.model, instructions: 'Do.', agents: [slow] };
        return [defineAgent(asking), slow];
      },
      2,
    );
    const run = runtime.run('lead', 'Go.');
    await gate.reached;
    run.cancel('never mind');
    // Taken up to be stopped, while nobody can be told.
    const resumed = async () => ofType(await runtime.sessions.read(run.sessionId), 'turn.resumed').length;
    await expect.poll(resumed, WITHIN).toBe(1);
    gate.open();
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'never mind' });
    const [, child = []] = await treeOf(runtime, run.sessionId);
    expect(ofType(child, 'turn.closed').map(({ data }) => data.status)).toEqual(['cancelled']);
    await expectSound(runtime, run.sessionId);
  });

  /** A parent that could not reach the worker of its child ends without it. */
  async function giveUp(ns: string, runtime: Runtime, parent: string): Promise<void> {
    await using ledger = await openLedgerOn(server, { ns });
    const records = await runtime.sessions.read(parent);
    const [intended] = ofType(records, 'child.intended');
    const { turn = '', step = '', call = '', data } = intended ?? {};
    const { operationId = '' } = ofType(records, 'tool.dispatched')[0]?.data ?? {};
    const lost = { child: data?.child ?? '', agent: 'payer', reason: 'session-owned-elsewhere' };
    const output = { type: 'error' as const, text: 'lost' };
    const settled = { operationId, toolName: 'ask_payer', status: 'error' as const, output, durationMs: 1 };
    const closed = { status: 'cancelled' as const, stopReason: 'user-stop' as const, steps: 1, toolCalls: 1 };
    const facts = [
      { type: 'tool.settled', turn, step, call, data: settled },
      { type: 'child.lost', turn, step, call, data: lost },
      { type: 'turn.closed', turn, data: closed },
    ] as readonly NewRecord[];
    const writer = await ledger.acquire({ session: parent, root: parent, agent: 'lead' });
    expect(await writer.append(writer.head.seq, facts)).toMatchObject({ type: 'committed' });
    await writer.release();
  }

  async function childAtWork(act: (signal: AbortSignal) => Promise<void>) {
    const world = await poolWorld(server, paying, (baseURL) => chain(baseURL, ['lead', 'payer'], { act }), 0);
    const worker = await world.work();
    const run = world.runtime.run('lead', 'Go.');
    run.result.catch(() => undefined);
    return { ...world, worker, parent: run.sessionId };
  }

  const closedIn = async (runtime: Runtime, parent: string) => {
    const [, child = []] = await treeOf(runtime, parent);
    return ofType(child, 'turn.closed').map(({ data }) => data.status);
  };

  test('T22 a child whose parent gave it up while its worker could not be reached ends by itself', async () => {
    const entered = createGate();
    const { runtime, ns, parent } = await childAtWork(async (signal) => {
      await entered.pass(signal);
    });
    await entered.reached;
    await giveUp(ns, runtime, parent);
    await expect.poll(() => closedIn(runtime, parent), WITHIN).toEqual(['cancelled']);
    await expectSound(runtime, parent);
  });

  test('T22 a child that its worker left open after its parent gave it up is closed by the next one', async () => {
    const entered = createGate();
    const { runtime, ns, parent, worker, work } = await childAtWork(() => entered.pass());
    await entered.reached;
    await giveUp(ns, runtime, parent);
    await worker.close({ drainMs: 0 });
    expect(await closedIn(runtime, parent)).toEqual([]);
    await work();
    await expect.poll(() => closedIn(runtime, parent), WITHIN).toEqual(['interrupted']);
    await expectSound(runtime, parent);
  });
});
