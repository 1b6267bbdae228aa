import { describe, expect, it } from 'vitest';
import { SwarmError } from '../../src/errors.ts';
import { createRuntime } from '../../src/index.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import type { LedgerRecord } from '../../src/ledger/records.ts';
import { settlePromises } from '../../src/testing/fake-clock.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { editedLedger, portOf } from '../support/edited-ledger.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { ofType } from '../support/run-events.ts';
import { scriptedAgent, servedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';

describe.each(LEDGER_KINDS)('outcomes and the next request (%s)', (kind) => {
  it('MA-03 each call runs once, keeps its id, and is settled before the next request', async () => {
    const ledger = await openLedger(kind);
    const spy = createToolSpy();
    const settledAtRequest: number[] = [];
    const { server, agent } = await servedAgent(
      async (_request, index) => {
        settledAtRequest.push(ofType(await ledger.read('kept'), 'tool.settled').length);
        return [
          reply()
            .call('read', { id: 'a' }, { id: 'call-one' })
            .call('fail', { id: 'b' }, { id: 'call-two' })
            .call('read', { id: 'c' }, { id: 'call-three' }),
          reply().text('Done.'),
        ][index];
      },
      {
        tools: [
          spy.tool('read'),
          spy.tool('fail', () => {
            throw new SwarmError('fault-injected', 'no such thing');
          }),
        ],
      },
    );
    await using runtime = createRuntime({ ledger });
    await runtime.run(agent, 'Go.', { sessionId: 'kept' }).result;
    expect(settledAtRequest).toEqual([0, 3]);
    expect(spy.entries.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect(new Set(spy.entries.map(({ operationId }) => operationId)).size).toBe(3);
    const [user, assistant, ...results] = server.requests[1]?.messages ?? [];
    expect(user?.text).toBe('Go.');
    expect(assistant?.calls.map(({ id }) => id)).toEqual(['call-one', 'call-two', 'call-three']);
    expect(results.map(({ callId, text }) => [callId, text])).toEqual([
      ['call-one', 'read a'],
      ['call-two', 'no such thing'],
      ['call-three', 'read c'],
    ]);
  });
});

describe('what the store says', () => {
  it('MA-04 an outcome edited between steps is what the next request carries', async () => {
    const ledger = editedLedger(memoryLedger(), (record) =>
      record.type === 'tool.settled'
        ? { ...record, data: { ...record.data, output: { type: 'text', text: 'edited' } } }
        : record,
    );
    const { model, agent } = scriptedAgent([reply().call('read', { id: 'a' }), reply().text('Done.')], {
      tools: [createToolSpy().tool('read')],
    });
    await using runtime = createRuntime({ ledger });
    await runtime.run(agent, 'Go.').result;
    expect(model.requests[1]?.lastText).toBe('edited');
  });

  it('MA-04 history that was already sent is read again once the store holds another', async () => {
    let isEdited = false;
    const edit = (record: LedgerRecord): LedgerRecord =>
      isEdited && record.type === 'turn.opened'
        ? { ...record, data: { ...record.data, input: [{ type: 'text', text: 'Go elsewhere.' }] } }
        : record;
    const { model, agent } = scriptedAgent([reply().call('read', { id: 'a' }), reply().text('Done.')], {
      tools: [
        createToolSpy().tool('read', () => {
          isEdited = true;
          return 'read a';
        }),
      ],
    });
    await using runtime = createRuntime({ ledger: editedLedger(memoryLedger(), edit) });
    await runtime.run(agent, 'Go.').result;
    expect(model.requests.map(({ messages }) => messages[0]?.text)).toEqual(['Go.', 'Go elsewhere.']);
    expect(model.requests[1]?.messages).toHaveLength(3);
  });

  it('MA-21 a store that cannot be read fails the turn before any tool runs', async () => {
    const inner = memoryLedger();
    let isBroken = false;
    const spy = createToolSpy();
    const { model, agent } = scriptedAgent(
      () => {
        isBroken = true;
        return reply().call('read', { id: 'a' }).call('read', { id: 'b' });
      },
      { tools: [spy.tool('read')] },
    );
    const ledger = portOf(inner);
    await using runtime = createRuntime({
      ledger: {
        ...ledger,
        read: (session, fromSeq) =>
          isBroken
            ? Promise.reject(new SwarmError('ledger-unavailable', 'the disk is gone'))
            : ledger.read(session, fromSeq),
      },
    });
    const run = runtime.run(agent, 'Go.');
    const result = await run.result;
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'ledger-unavailable' } });
    expect(spy.entries).toEqual([]);
    expect(model.requests).toHaveLength(1);
    // The calls stand in the ledger, so each has its other half.
    const records = await inner.read(run.sessionId);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual([
      'turn-ended',
      'turn-ended',
    ]);
    expect(records.at(-1)).toMatchObject({ type: 'turn.closed', data: { status: 'failed' } });
  });

  it('MA-22 after one failed commit the siblings finish, then the turn fails', async () => {
    const inner = memoryLedger();
    const ledger = faultyLedger(inner, [
      { at: 'append', record: 'tool.settled', action: { type: 'reject', reason: 'conflict' } },
    ]);
    const slow = createGate();
    const spy = createToolSpy();
    const { model, agent } = scriptedAgent([reply().call('quick', { id: 'a' }).call('slow', { id: 'b' })], {
      tools: [
        spy.tool('quick'),
        spy.tool('slow', async () => {
          await slow.pass();
          return 'slow b';
        }),
      ],
    });
    await using runtime = createRuntime({ ledger });
    const run = runtime.run(agent, 'Go.');
    await slow.reached;
    let isSettled = false;
    void run.result.then(() => {
      isSettled = true;
    });
    while (ledger.faults.fired.length === 0) await settlePromises();
    await settlePromises();
    expect(isSettled).toBe(false);
    slow.open();
    const result = await run.result;
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'ledger-rejected' } });
    expect(model.requests).toHaveLength(1);
    const settled = ofType(await inner.read(run.sessionId), 'tool.settled');
    expect(settled.map(({ data }) => data.toolName)).toEqual(['slow']);
    // The outcome of the first is known to nobody, and that is said.
    const [report] = await runtime.recover(run.sessionId);
    expect(report?.indeterminate.map(({ toolName }) => toolName)).toEqual(['quick']);
  });
});
