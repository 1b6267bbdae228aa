import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../src/index.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { sqliteLedger } from '../../src/ledger/sqlite-ledger.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';
import { reply } from '../../src/testing/reply.ts';
import type { ScriptedResponse } from '../../src/testing/script.ts';
import { type ScriptedServer, scriptedServer } from '../../src/testing/scripted-server.ts';
import { violationsOf } from '../invariants/session.ts';
import { LEDGER_KINDS, ledgerPath, openLedger } from '../support/ledgers.ts';
import { ofType } from '../support/run-events.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';
import { payingAgent } from './paying-agent.ts';

async function serve(script: readonly ScriptedResponse[]): Promise<ScriptedServer> {
  const server = await scriptedServer({ script });
  onTestFinished(() => server.close());
  return server;
}

const pays = () => reply().text('Paying.').call('pay', { amount: 5 });

/** A turn whose process ended between the execution of its tool and the record of the outcome. */
async function crashed(ledger: Ledger, script: readonly ScriptedResponse[] = [pays()]) {
  const server = await serve(script);
  const entered: string[] = [];
  const agent = payingAgent(server.baseURL, ({ operationId }) => {
    entered.push(operationId);
    return `paid (${entered.length})`;
  });
  const halting = faultyLedger(ledger, [{ at: 'append', record: 'tool.settled', action: { type: 'halt' } }]);
  const dead = createRuntime({ ledger: halting });
  const dying = Promise.withResolvers<void>();
  halting.faults.onHalt(dying.resolve);
  void dead.run(agent, 'Pay.', { sessionId: 'paying' }).result;
  await dying.promise;
  return { server, agent, entered, ...watchedRuntime({ ledger }) };
}

describe.each(LEDGER_KINDS)('a call that was entered and has no outcome (%s)', (kind) => {
  it('MA-09 is reported, blocks, and is never executed again on its own', async () => {
    const { runtime, server, agent, entered, ledger, misfits } = await crashed(await openLedger(kind));
    const [report] = await runtime.recover('paying');
    expect(report?.indeterminate).toEqual([
      { callId: 'paying.1.1.0', toolName: 'pay', operationId: entered[0] },
    ]);
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      expect(await runtime.resume(agent, 'paying').result).toMatchObject({
        status: 'paused',
        reason: 'indeterminate',
        calls: report?.indeterminate,
      });
    }
    expect(entered).toHaveLength(1);
    expect(server.requests).toHaveLength(1);
    const records = await ledger.read('paying');
    expect(ofType(records, 'tool.indeterminate')).toHaveLength(1);
    expect(violationsOf({ records })).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('MA-09 goes on with an outcome somebody settles, which is the text of its result', async () => {
    const { runtime, server, agent, entered, ledger } = await crashed(await openLedger(kind), [
      pays(),
      reply().text('Paid, then.'),
    ]);
    await runtime.resume(agent, 'paying').result;
    const run = runtime.resume(agent, 'paying', { indeterminate: () => ({ settle: 'The bank says yes.' }) });
    expect(await run.result).toMatchObject({
      status: 'completed',
      text: 'Paid, then.',
      steps: 2,
      toolCalls: 1,
    });
    expect(entered).toHaveLength(1);
    expect(server.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', text: 'The bank says yes.' });
    expect(violationsOf({ records: await ledger.read('paying') })).toEqual([]);
  });

  it('MA-09 runs once more for each decision to retry, under the same operation id', async () => {
    const { runtime, server, agent, entered, ledger } = await crashed(await openLedger(kind), [
      pays(),
      reply().text('Paid.'),
    ]);
    expect(await runtime.resume(agent, 'paying', { indeterminate: () => 'retry' }).result).toMatchObject({
      status: 'completed',
    });
    expect(entered).toHaveLength(2);
    expect(new Set(entered).size).toBe(1);
    expect(server.requests[1]?.messages.at(-1)?.text).toBe('paid (2)');
    const records = await ledger.read('paying');
    expect(ofType(records, 'tool.reconciled').map(({ data }) => data.decision)).toEqual(['retry']);
    expect(violationsOf({ records })).toEqual([]);
  });

  it('MA-09 can be given up, and the model is told that nobody knows', async () => {
    const { runtime, server, agent, entered } = await crashed(await openLedger(kind), [
      pays(),
      reply().text('I will ask the bank.'),
    ]);
    expect(await runtime.resume(agent, 'paying', { indeterminate: () => 'abandon' }).result).toMatchObject({
      status: 'completed',
    });
    expect(entered).toHaveLength(1);
    expect(server.requests[1]?.messages.at(-1)?.text).toContain('unknown');
  });

  it('MA-09 ends with its turn when that is abandoned', async () => {
    const { runtime, agent, entered, ledger, server } = await crashed(await openLedger(kind), [
      pays(),
      reply().text('Hello again.'),
    ]);
    await runtime.abandon('paying', 'not needed');
    expect(await runtime.recover('paying')).toEqual([]);
    const next = runtime.run(agent, 'Hello?', { sessionId: 'paying' });
    expect(await next.result).toMatchObject({ status: 'completed', text: 'Hello again.' });
    expect(entered).toHaveLength(1);
    const records = await ledger.read('paying');
    expect(ofType(records, 'turn.closed').map(({ data }) => data.status)).toEqual([
      'interrupted',
      'completed',
    ]);
    expect(violationsOf({ records })).toEqual([]);
    server.assertPlayedOut();
  });
});

describe('a process killed inside a tool', () => {
  it('MA-09 leaves a call nobody runs again', async () => {
    const server = await serve([pays(), reply().text('Paid, then.')]);
    const path = await ledgerPath();
    const program = fileURLToPath(new URL('dies-in-its-tool.ts', import.meta.url));
    const signal = await new Promise((resolve) => {
      const args = ['--conditions=swarmwright-source', program, path, server.baseURL];
      execFile(process.execPath, args, (error) => resolve(error?.signal));
    });
    expect(signal).toBe('SIGKILL');
    let entered = 0;
    const agent = payingAgent(server.baseURL, () => {
      entered += 1;
      return 'paid twice';
    });
    const { runtime, ledger } = watchedRuntime({ ledger: await sqliteLedger({ path }) });
    const [report] = await runtime.recover();
    expect(report).toMatchObject({ sessionId: 'paying', owned: false, indeterminate: [{ toolName: 'pay' }] });
    expect(await runtime.resume(agent, 'paying').result).toMatchObject({ status: 'paused' });
    const run = runtime.resume(agent, 'paying', { indeterminate: () => ({ settle: 'paid' }) });
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Paid, then.' });
    expect(entered).toBe(0);
    expect(violationsOf({ records: await ledger.read('paying') })).toEqual([]);
    server.assertPlayedOut();
  });
});
