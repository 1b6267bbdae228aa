import { describe, expect, it } from 'vitest';
import { reply } from '../../src/testing/reply.ts';
import { violationsOf } from '../invariants/session.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { ofType } from '../support/run-events.ts';
import { crashedRun } from './fixtures/crashed-run.ts';

describe.each(LEDGER_KINDS)('steering over a crash (%s)', (kind) => {
  it('MA-16 a text that was accepted and carried by no request is carried by the next one, once', async () => {
    const { agent, ledger, model, restart } = await crashedRun({
      ledger: await openLedger(kind),
      script: [reply().text('Half').stall(), reply().call('read', { id: 'a' }), reply().text('Done.')],
      steers: 'Be quick.',
    });
    const { runtime, misfits } = restart();
    expect(await runtime.recover('kept')).toMatchObject([{ steering: 1 }]);
    expect((await runtime.resume(agent, 'kept').result).status).toBe('completed');
    expect(model.requests.map(({ messages }) => messages.map(({ text }) => text))).toEqual([
      ['Go.'],
      ['Go.', 'Be quick.'],
      ['Go.', 'Be quick.', '', 'read a'],
    ]);
    const records = await ledger.read('kept');
    expect(ofType(records, 'steering.injected')).toHaveLength(1);
    expect(violationsOf({ records })).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('MA-16 a text in a request whose answer was lost goes with that request again, and is injected once', async () => {
    const { agent, ledger, model, restart } = await crashedRun({
      ledger: await openLedger(kind),
      script: [reply().text('Half').stall(), reply().text('Never read.'), reply().text('Done.')],
      steers: 'Be quick.',
    });
    await restart({ record: 'assistant.message', when: 'before' }).resumeToCrash();
    const { runtime, misfits } = restart();
    expect(await runtime.recover('kept')).toMatchObject([{ steering: 0, unanswered: true }]);
    await runtime.resume(agent, 'kept').result;
    expect(model.requests.map(({ messages }) => messages.map(({ text }) => text))).toEqual([
      ['Go.'],
      ['Go.', 'Be quick.'],
      ['Go.', 'Be quick.'],
    ]);
    const records = await ledger.read('kept');
    expect(ofType(records, 'steering.injected')).toHaveLength(1);
    expect(violationsOf({ records })).toEqual([]);
    expect(misfits).toEqual([]);
  });
});
