import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { defineGraph } from '../../src/graph/define-graph.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { createRuntime } from '../../src/runtime.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { portOf } from '../support/edited-ledger.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { memoryPool } from '../support/memory-pool.ts';
import { createToolSpy } from '../support/tool-spy.ts';

const never = new AbortController().signal;

/** A word whose sender waits, though nobody has the session. */
const leftFor = (ledger: Ledger, kind: string, body: Record<string, string>) =>
  ledger.post({ id: `word ${kind}`, session: 's-1', kind, body }, never);

/** A session that had the run `r-1`, with an agent whose next answer waits. */
async function sessionWithRun(kind: 'memory' | 'sqlite') {
  const ledger = portOf(await openLedger(kind));
  const gate = createGate();
  const model = scriptedModel({ script: [reply().text('one'), reply().wait(gate).text('two')] });
  const agent = defineAgent({ name: 'worker', instructions: 'Work.', model });
  const runtime = createRuntime({ ledger, agents: { worker: agent } });
  onTestFinished(() => runtime.close());
  await runtime.run(agent, 'Go.', { sessionId: 's-1', runId: 'r-1' }).result;
  const next = () => runtime.run(agent, 'Go on.', { sessionId: 's-1', runId: 'r-2' });
  return { ledger, gate, next };
}

describe.each(LEDGER_KINDS)('a word that waited for the owner of a session (%s)', (kind) => {
  const WORDS = { cancel: { reason: 'enough' }, steer: { text: 'left' }, pause: {}, 'stop-after-step': {} };

  it.each(Object.entries(WORDS))('is not for the next run, where it names one: %s', async (word, body) => {
    const { ledger, gate, next } = await sessionWithRun(kind);
    const stale = leftFor(ledger, word, { ...body, run: 'r-1' });
    const run = next();
    await gate.reached;
    expect(await stale).toMatchObject({ type: 'rejected', code: 'turn-not-open' });
    gate.open();
    expect(await run.result).toMatchObject({ status: 'completed', text: 'two' });
  });

  it.each([['r-2'], [undefined]])(
    'ends the run that it names, or whichever is at work: %s',
    async (named) => {
      const { ledger, next } = await sessionWithRun(kind);
      const word = leftFor(ledger, 'cancel', {
        reason: 'enough',
        ...(named === undefined ? {} : { run: named }),
      });
      expect(await next().result).toMatchObject({ status: 'cancelled', reason: 'enough' });
      expect(await word).toMatchObject({ type: 'accepted' });
    },
  );

  it('is left there without a look at other sessions', async () => {
    const { ledger, gate, next } = await sessionWithRun(kind);
    const run = next();
    await gate.reached;
    const listing = () => Promise.reject(new Error('listed'));
    const close = () => Promise.resolve();
    const other = createRuntime({ ledger: { ...ledger, sessions: listing, listOpen: listing, close } });
    await other.sessions.cancel('s-1', 'enough');
    await other.close();
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'enough' });
  });

  it('does not end a graph that it does not name', async () => {
    const ledger = portOf(await openLedger(kind));
    const gate = createGate();
    const graph = defineGraph({ name: 'g' })
      .node('only', (text) => (text === 'Go.' ? text : gate.pass().then(() => text)), { from: 'input' })
      .build({ output: 'only' });
    const runtime = createRuntime({ ledger });
    onTestFinished(() => runtime.close());
    await runtime.run(graph, 'Go.', { sessionId: 's-1', runId: 'r-1' }).result;
    const stale = leftFor(ledger, 'cancel', { reason: 'enough', run: 'r-1' });
    const run = runtime.run(graph, 'Go on.', { sessionId: 's-1', runId: 'r-2' });
    await gate.reached;
    expect(await stale).toMatchObject({ type: 'rejected', code: 'turn-not-open' });
    gate.open();
    expect(await run.result).toMatchObject({ status: 'completed', output: 'Go on.' });
  });
});

describe('a run on workers', () => {
  it('is ended by whoever gave it, also after another one took it up', async () => {
    const spy = createToolSpy();
    const gate = createGate();
    const model = scriptedModel({
      script: [reply().call('del', { id: 'a' }), reply().wait(gate).text('no')],
    });
    const tools = [spy.tool('del', undefined, { needsApproval: true })];
    const pool = await memoryPool([defineAgent({ name: 'payer', instructions: 'Pay.', model, tools })]);
    const giver = pool.runtimeOf();
    const given = giver.run('payer', 'Go.', { sessionId: 's-1', runId: 'r-1' });
    const worker = pool.worker();
    await turnOfLoop();
    await Promise.all(pool.entries.splice(0).map((entry) => worker.hand(entry)));
    const [request] = await giver.approvals.pending();
    await giver.approvals.decide(request?.id ?? '', { decision: 'approve' });
    pool.entries.splice(0);
    const resumed = giver.resume('payer', 's-1');
    await turnOfLoop();
    const working = Promise.all(pool.entries.splice(0).map((entry) => worker.hand(entry)));
    await gate.reached;
    given.cancel('enough');
    await turnOfLoop();
    const other = pool.worker();
    await Promise.all(pool.entries.splice(0).map((entry) => other.hand(entry)));
    await working;
    expect(await given.result).toMatchObject({ status: 'cancelled', reason: 'enough' });
    expect(await resumed.result).toMatchObject({ status: 'cancelled', reason: 'enough' });
  });
});
