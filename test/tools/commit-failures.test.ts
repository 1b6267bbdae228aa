import { describe, expect, it } from 'vitest';
import type { RecordType } from '../../src/ledger/records.ts';
import { createRuntime } from '../../src/runtime.ts';
import type { FaultAction } from '../../src/testing/fault-points.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';
import { reply } from '../../src/testing/reply.ts';
import { portOf } from '../support/edited-ledger.ts';
import { LEDGER_KINDS, type LedgerKind, openLedger } from '../support/ledgers.ts';
import { eventsOf, ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const FAULTS = [
  ['rejected', { type: 'reject', reason: 'conflict' }],
  ['fenced', { type: 'reject', reason: 'fenced' }],
  ['indeterminate', { type: 'indeterminate' }],
  ['thrown', { type: 'fail' }],
] as const satisfies readonly (readonly [string, FaultAction])[];

/** One call whose fact of a type cannot be written. */
async function playFault(kind: LedgerKind, record: RecordType, action: FaultAction) {
  const inner = await openLedger(kind);
  const ledger = faultyLedger(inner, [{ at: 'append', record, every: true, action }]);
  const spy = createToolSpy();
  const { model, agent } = scriptedAgent([reply().call('pay', { id: 'a' }), reply().text('Done.')], {
    tools: [spy.tool('pay')],
  });
  const { runtime, misfits } = watchedRuntime({ ledger });
  const run = runtime.run(agent, 'Go.');
  const result = await run.result;
  return { inner, spy, model, agent, run, result, misfits, records: await inner.read(run.sessionId) };
}

describe.each(LEDGER_KINDS)('facts that cannot be written (%s)', (kind) => {
  it.each(FAULTS)('TR-02 when T1 is %s nothing runs and there is no result', async (_, action) => {
    const { spy, result, model, records, misfits } = await playFault(kind, 'tool.dispatched', action);
    expect(spy.entries).toEqual([]);
    expect(result.status).toBe('failed');
    expect(model.requests).toHaveLength(1);
    expect(ofType(records, 'tool.settled')).toEqual([]);
    expect(ofType(records, 'tool.dispatched')).toEqual([]);
    expect(ofType(records, 'turn.closed')).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it.each(FAULTS)('TR-02 when T2 is %s it ran once and no result is published', async (_, action) => {
    const { spy, result, run, model, records, misfits } = await playFault(kind, 'tool.settled', action);
    expect(spy.entries).toHaveLength(1);
    expect(result.status).toBe('failed');
    expect(model.requests).toHaveLength(1);
    expect(ofType(records, 'tool.dispatched')).toHaveLength(1);
    expect(ofType(records, 'tool.settled')).toEqual([]);
    const published = await eventsOf(run);
    expect(published.filter(({ type }) => type === 'tool.settled' || type === 'turn.closed')).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('TR-02 a call whose T2 was lost is reported and not run again on its own', async () => {
    const { inner, spy, agent, run } = await playFault(kind, 'tool.settled', { type: 'fail' });
    const second = createRuntime({ ledger: portOf(inner) });
    const [report] = await second.recover(run.sessionId);
    expect(report?.indeterminate.map(({ toolName }) => toolName)).toEqual(['pay']);
    const resumed = await second.resume(agent, run.sessionId).result;
    expect(resumed).toMatchObject({ status: 'paused', reason: 'indeterminate' });
    expect(spy.entries).toHaveLength(1);
    await second.close();
  });

  it('a request that cannot be written asks nobody and runs nothing', async () => {
    const inner = await openLedger(kind);
    const ledger = faultyLedger(inner, [
      { at: 'append', record: 'permission.requested', action: { type: 'reject', reason: 'conflict' } },
    ]);
    const spy = createToolSpy();
    const { agent } = scriptedAgent([reply().call('pay', { id: 'a' })], {
      tools: [spy.tool('pay', undefined, { needsApproval: true })],
    });
    await using runtime = createRuntime({ ledger });
    const result = await runtime.run(agent, 'Go.').result;
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'ledger-rejected' } });
    expect(await runtime.approvals.pending()).toEqual([]);
    expect(spy.entries).toEqual([]);
  });
});
