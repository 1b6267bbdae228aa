import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/runtime.ts';
import { reply } from '../../src/testing/reply.ts';
import { violationsOf } from '../invariants/session.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { ofType } from '../support/run-events.ts';
import { crashedRun } from './fixtures/crashed-run.ts';
import { replayedTurn } from './fixtures/replayed.ts';

describe.each(LEDGER_KINDS)('giving a turn up (%s)', (kind) => {
  it('ends every call, request and text of it in one append, and executes nothing', async () => {
    const { ledger, spy, agent, model, restart } = await crashedRun({
      ledger: await openLedger(kind),
      script: [
        reply().call('read', { id: 'a' }).call('write', { id: 'b' }).call('read', { id: 'c' }).usage(10, 2),
        reply().text('Hello again.'),
      ],
      tools: ['read', 'write'],
      asks: ['write'],
      agent: { limits: { toolConcurrency: 2 } },
      crash: { record: 'tool.dispatched', when: 'after' },
    });
    const entered = spy.entries.length;
    const { runtime, misfits } = restart();
    const before = (await ledger.read('kept')).length;
    await runtime.abandon('kept', 'not needed');
    const added = (await ledger.read('kept')).slice(before);
    expect(new Set(added.map(({ at }) => at)).size).toBe(1);
    expect(added.at(-1)).toMatchObject({ data: { status: 'interrupted', reason: 'not needed', steps: 1 } });
    expect(spy.entries).toHaveLength(entered);
    expect(model.requests).toHaveLength(1);
    expect(await runtime.recover('kept')).toEqual([]);
    expect(await runtime.approvals.pending()).toEqual([]);
    // The history is whole: the next input is answered with it.
    expect((await runtime.run(agent, 'Hello?', { sessionId: 'kept' }).result).status).toBe('completed');
    const records = await ledger.read('kept');
    expect(violationsOf({ records })).toEqual([]);
    expect(replayedTurn(records, 'kept.1').unfinished).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('ends a step that was never answered', async () => {
    const { ledger, restart } = await crashedRun({
      ledger: await openLedger(kind),
      script: [reply().text('Never read.')],
      crash: { record: 'attempt.started', when: 'after' },
    });
    await restart().runtime.abandon('kept', 'not needed');
    const records = await ledger.read('kept');
    expect(records.slice(-3).map(({ type }) => type)).toEqual([
      'attempt.failed',
      'step.closed',
      'turn.closed',
    ]);
    const { states, unfinished, misfits } = replayedTurn(records, 'kept.1');
    expect([unfinished, misfits]).toEqual([[], []]);
    expect(states.get('step kept.1.1')).toBe('aborted');
  });

  it('is refused where nothing is open', async () => {
    const { restart } = await crashedRun({
      ledger: await openLedger(kind),
      script: [reply().text('Never read.')],
      crash: { record: 'attempt.started', when: 'after' },
    });
    const { runtime } = restart();
    await runtime.abandon('kept', 'not needed');
    await expect(runtime.abandon('kept', 'again')).rejects.toMatchObject({ code: 'nothing-to-resume' });
    await expect(runtime.abandon('unheard-of', 'why')).rejects.toMatchObject({ code: 'unknown-session' });
  });
});

describe('giving a turn up', () => {
  it('tells a text that no request carried undelivered', async () => {
    const { ledger, restart } = await crashedRun({
      script: [reply().text('Half').stall()],
      steers: 'Be quick.',
    });
    const { runtime } = restart();
    expect(await runtime.recover('kept')).toMatchObject([{ steering: 1 }]);
    await runtime.abandon('kept', 'not needed');
    const [undelivered] = ofType(await ledger.read('kept'), 'steering.undelivered');
    expect(undelivered?.data.reason).toBe('not needed');
  });

  it('takes more calls than one append holds', async () => {
    const ids = Array.from({ length: 140 }, (_, index) => String(index));
    const { ledger, restart } = await crashedRun({
      script: [ids.reduce((answer, id) => answer.call('write', { id }), reply())],
      tools: ['write'],
      asks: ['write'],
      crash: { record: 'permission.requested', when: 'after', skip: 1 },
    });
    const { runtime } = restart();
    expect((await runtime.recover('kept'))[0]?.parked).toHaveLength(140);
    await runtime.abandon('kept', 'not needed');
    const records = await ledger.read('kept');
    expect(ofType(records, 'tool.refused')).toHaveLength(140);
    expect(violationsOf({ records })).toEqual([]);
  });

  it('of a session that another runtime has at work is refused, and nothing happens to it', async () => {
    const ledger = await openLedger('sqlite');
    const { runtime } = (
      await crashedRun({
        ledger,
        script: [reply().text('Never read.')],
        crash: { record: 'attempt.started', when: 'after' },
      })
    ).restart();
    const writer = await ledger.acquire({ session: 'kept', root: 'kept', agent: 'worker' });
    await expect(runtime.abandon('kept', 'mine')).rejects.toMatchObject({ code: 'session-owned-elsewhere' });
    expect(await runtime.recover('kept')).toMatchObject([{ owned: true }]);
    await writer.release();
    await runtime.abandon('kept', 'mine');
  });

  it('of a run at work in this process ends the run', async () => {
    const { agent } = await crashedRun({
      script: [reply().text('Half').stall(), reply().text('Half').stall()],
    });
    await using runtime = createRuntime();
    const run = runtime.run(agent, 'Go.');
    for await (const text of run.text()) if (text !== '') break;
    await runtime.abandon(run.sessionId, 'not needed');
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'not needed', text: 'Half' });
    const records = await runtime.sessions.read(run.sessionId);
    expect(records.at(-1)).toMatchObject({ type: 'turn.closed', data: { status: 'interrupted' } });
  });
});
