import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { reply } from '../../src/testing/reply.ts';
import { requestOf, requestsOf, startApprovalRun } from '../support/approval-run.ts';
import { LEDGER_KINDS } from '../support/ledgers.ts';
import { lastResults } from '../support/requests.ts';
import { ofType } from '../support/run-events.ts';

const HOUR_MS = 3_600_000;
const approve = { decision: 'approve' } as const;
const two = () => [reply().call('del', { id: 'a' }).call('wipe', { id: 'b' }), reply().text('Done.')];

describe.each(LEDGER_KINDS)('requests nobody decides on (%s)', (kind) => {
  it('TD-06 expire after the time they were given, each for itself, and a late answer is an error', async () => {
    const clock = fakeClock();
    const { runtime, run, spy, model, finish } = await startApprovalRun(kind, two(), {
      runtime: { clock, limits: { approvals: { expiryMs: HOUR_MS } } },
    });
    const [del = '', wipe = ''] = await requestsOf(run, 2);
    await runtime.approvals.decide(wipe, approve);
    await clock.advance(HOUR_MS - 1);
    expect((await runtime.approvals.pending()).map(({ id }) => id)).toEqual([del]);
    await clock.advance(1);
    const { result, records } = await finish();
    expect(result.status).toBe('completed');
    expect(lastResults(model, 1)[0]).toContain('expired');
    expect(lastResults(model, 1)[1]).toBe('wipe b');
    expect(spy.entries.map(({ toolName }) => toolName)).toEqual(['wipe']);
    expect(ofType(records, 'permission.expired').map(({ data }) => data.request)).toEqual([del]);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['expired']);
    expect(await runtime.approvals.pending()).toEqual([]);
    await expect(runtime.approvals.decide(del, approve)).rejects.toMatchObject({ code: 'approval-settled' });
    expect(clock.pending).toBe(0);
  });

  it('TD-06 an answer that comes with the last millisecond is late or in time, never both', async () => {
    const clock = fakeClock();
    const { runtime, run, spy, finish } = await startApprovalRun(
      kind,
      [reply().call('del', { id: 'a' }), reply().text('Done.')],
      { runtime: { clock, limits: { approvals: { expiryMs: HOUR_MS } } } },
    );
    const id = await requestOf(run);
    const [answer] = await Promise.allSettled([
      clock.advance(HOUR_MS).then(() => runtime.approvals.decide(id, approve)),
    ]);
    const { records } = await finish();
    const outcomes = records.filter(({ type }) =>
      ['permission.decided', 'permission.expired'].includes(type),
    );
    expect(outcomes).toHaveLength(1);
    expect(spy.entries).toHaveLength(answer?.status === 'fulfilled' ? 1 : 0);
  });

  it('TD-06 an answer after the time is late, also where the timer is later still', async () => {
    const still = fakeClock();
    let aheadMs = 0;
    const clock = { ...still, now: () => still.now() + aheadMs };
    const { runtime, run, spy, finish } = await startApprovalRun(
      kind,
      [reply().call('del', { id: 'a' }), reply().text('Done.')],
      { runtime: { clock, limits: { approvals: { expiryMs: HOUR_MS } } } },
    );
    const id = await requestOf(run);
    // As after the sleep of a machine: the time is over, and no timer has run yet.
    aheadMs = HOUR_MS;
    await expect(runtime.approvals.decide(id, approve)).rejects.toMatchObject({ code: 'approval-settled' });
    const { records } = await finish();
    expect(ofType(records, 'permission.expired')).toHaveLength(1);
    expect(spy.entries).toEqual([]);
  });

  it('expire after 24 hours by default', async () => {
    const clock = fakeClock();
    const { runtime, run, finish } = await startApprovalRun(kind, two(), { runtime: { clock } });
    await requestsOf(run, 2);
    const [pending] = await runtime.approvals.pending();
    expect(pending?.expiresAt).toBe(clock.now() + 24 * HOUR_MS);
    await clock.advance(24 * HOUR_MS);
    expect((await finish()).result.status).toBe('completed');
  });

  it('never expire where the time is 0', async () => {
    const clock = fakeClock();
    const { runtime, run, finish } = await startApprovalRun(kind, two(), {
      runtime: { clock, limits: { approvals: { expiryMs: 0 } } },
    });
    const ids = await requestsOf(run, 2);
    await clock.advance(10_000 * HOUR_MS);
    const pending = await runtime.approvals.pending();
    expect(pending.map(({ id }) => id)).toEqual(ids);
    expect(pending[0]).not.toHaveProperty('expiresAt');
    for (const id of ids) await runtime.approvals.decide(id, approve);
    expect((await finish()).result.status).toBe('completed');
  });

  it('wait longer than one timer can', async () => {
    const clock = fakeClock();
    const monthMs = 30 * 24 * HOUR_MS;
    const { runtime, run, finish } = await startApprovalRun(kind, two(), {
      runtime: { clock, limits: { approvals: { expiryMs: monthMs } } },
    });
    await requestsOf(run, 2);
    await clock.advance(monthMs - 1);
    expect(await runtime.approvals.pending()).toHaveLength(2);
    await clock.advance(1);
    expect((await finish()).result.status).toBe('completed');
  });

  it('run out of time while the turn is paused: late decisions fail and the resumed turn goes on', async () => {
    const clock = fakeClock();
    const { runtime, run, agent, model, spy, finish } = await startApprovalRun(kind, two(), {
      runtime: { clock, limits: { approvals: { expiryMs: HOUR_MS } } },
      run: { onApproval: 'pause' },
    });
    expect((await run.result).status).toBe('paused');
    const [del, wipe] = await runtime.approvals.pending();
    await runtime.approvals.decide(wipe?.id ?? '', approve);
    await clock.advance(HOUR_MS);
    expect(await runtime.approvals.pending()).toEqual([]);
    await expect(runtime.approvals.decide(del?.id ?? '', approve)).rejects.toMatchObject({
      code: 'approval-settled',
    });
    const { result, records } = await finish(runtime.resume(agent, run.sessionId, { onApproval: 'pause' }));
    expect(result.status).toBe('completed');
    expect(lastResults(model, 1)[0]).toContain('expired');
    expect(spy.entries.map(({ toolName }) => toolName)).toEqual(['wipe']);
    expect(ofType(records, 'permission.expired')).toHaveLength(1);
  });

  it('keep their time over a resume: a new process gives nobody more of it', async () => {
    const clock = fakeClock();
    const { runtime, run, agent, finish } = await startApprovalRun(kind, two(), {
      runtime: { clock, limits: { approvals: { expiryMs: HOUR_MS } } },
      run: { onApproval: 'pause' },
    });
    await run.result;
    await clock.advance(HOUR_MS / 2);
    const resumed = runtime.resume(agent, run.sessionId);
    await clock.whenPending(2);
    await clock.advance(HOUR_MS / 2);
    expect((await finish(resumed)).result.status).toBe('completed');
  });
});
