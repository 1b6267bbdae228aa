import { describe, expect, it } from 'vitest';
import { SwarmError } from '../../src/errors.ts';
import type { AppendResult, Ledger, LedgerWriter } from '../../src/ledger/ledger.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import type { NewRecord, RecordType } from '../../src/ledger/records.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { reply } from '../../src/testing/reply.ts';
import { DRIVERS, PRESET_NAMES } from '../support/discovery-presets.ts';
import { editedLedger, portOf } from '../support/edited-ledger.ts';
import { lastResults } from '../support/requests.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { swarmOn } from '../support/swarm-run.ts';
import { createToolSpy } from '../support/tool-spy.ts';

/** A ledger that does not know what became of some appends of sessions of one agent, and takes them from their owner. */
function losing(ledger: Ledger, agent: string, record: RecordType, times: number): Ledger {
  let left = times;
  const wrapped = (writer: LedgerWriter): LedgerWriter => {
    const dead = new AbortController();
    const losingSome = async (batch: readonly NewRecord[], append: () => Promise<AppendResult>) => {
      if (left === 0 || !batch.some(({ type }) => type === record)) return append();
      left -= 1;
      dead.abort();
      await writer.release();
      return { type: 'indeterminate', cause: 'lost' } as const;
    };
    return {
      identity: writer.identity,
      epoch: writer.epoch,
      get head() {
        return writer.head;
      },
      lost: AbortSignal.any([writer.lost, dead.signal]),
      append: (expectedSeq, batch) => losingSome(batch, () => writer.append(expectedSeq, batch)),
      appendLast: (expectedSeq, batch) => losingSome(batch, () => writer.appendLast(expectedSeq, batch)),
      release: () => writer.release(),
      [Symbol.asyncDispose]: () => writer.release(),
    };
  };
  return {
    ...portOf(ledger),
    acquire: async (identity) => {
      const writer = await ledger.acquire(identity);
      return identity.agent === agent ? wrapped(writer) : writer;
    },
  };
}

/** A child that looks once and then answers, whichever process or restart asks. */
function family() {
  const spy = createToolSpy();
  const child = scriptedAgent(
    ({ messages }) =>
      (messages.some(({ role }) => role === 'tool')
        ? reply().text('Seen.')
        : reply().call('look', { id: 'a' })
      ).usage(5, 1),
    { name: 'child', tools: [spy.tool('look')] },
  );
  const lead = scriptedAgent([reply().call('ask_child', { task: 'x' }), reply().text('Done.')], {
    name: 'lead',
    agents: [child.agent],
  });
  return { lead, child, spy };
}

describe('a child whose turn breaks by a fault of the runtime', () => {
  it('is taken up again, at most three times, and its parent hears nothing of it', async () => {
    const { lead, child, spy } = family();
    const play = swarmOn(losing(memoryLedger(), 'child', 'step.closed', 3));
    const result = await play.runtime.run(lead.agent, 'Go.').result;
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(lastResults(lead.model, 1)).toEqual(['Seen.']);
    expect(spy.entries).toHaveLength(1);
    expect(child.model.requests).toHaveLength(5);
    expect(await play.recordsOf('child.intended')).toHaveLength(1);
    expect((await play.recordsOf('turn.resumed')).map(({ agent }) => agent)).toEqual([
      'child',
      'child',
      'child',
    ]);
  });

  it('is lost after that, which its parent hears as a result', async () => {
    const { lead } = family();
    const play = swarmOn(losing(memoryLedger(), 'child', 'step.closed', 99), { clock: fakeClock() });
    const result = await play.runtime.run(lead.agent, 'Go.').result;
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(lastResults(lead.model, 1)[0]).toMatch(/^child is lost: .*\[ledger-indeterminate at lead > child/);
    expect((await play.recordsOf('child.lost')).map(({ data }) => data.reason)).toEqual([
      'ledger-indeterminate',
    ]);
    expect((await play.recordsOf('turn.resumed')).map(({ agent }) => agent)).toEqual([
      'child',
      'child',
      'child',
    ]);
  });

  it('is not entered again where a tool of it may have acted, and its parents pause', async () => {
    const { lead, spy } = family();
    const play = swarmOn(losing(memoryLedger(), 'child', 'tool.settled', 1));
    const run = play.runtime.run(lead.agent, 'Go.');
    expect(await run.result).toMatchObject({
      status: 'paused',
      reason: 'indeterminate',
      calls: [{ toolName: 'look' }],
    });
    const resumed = play.runtime.resume(lead.agent, run.sessionId, {
      indeterminate: () => ({ settle: 'settled by hand' }),
    });
    expect(await resumed.result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(spy.entries).toHaveLength(1);
  });
});

describe('the store of a child', () => {
  it('MA-04 is read again before each of its requests', async () => {
    const { lead, child } = family();
    const play = swarmOn(
      editedLedger(memoryLedger(), (record) =>
        record.type === 'tool.settled' && record.agent === 'child'
          ? { ...record, data: { ...record.data, output: { type: 'text', text: 'edited' } } }
          : record,
      ),
    );
    await play.runtime.run(lead.agent, 'Go.').result;
    expect(child.model.requests[1]?.lastText).toBe('edited');
  });

  it('MA-21 fails the child before any tool of it runs, where it cannot be read', async () => {
    const { lead, child, spy } = family();
    const inner = memoryLedger();
    const port = portOf(inner);
    const play = swarmOn({
      ...port,
      async read(session, fromSeq) {
        const records = await port.read(session, fromSeq);
        const isAsked = records.some(({ type, agent }) => type === 'tool.called' && agent === 'child');
        if (isAsked && child.model.requests.length === 1) {
          throw new SwarmError('ledger-unavailable', 'the disk is gone');
        }
        return records;
      },
    });
    const result = await play.runtime.run(lead.agent, 'Go.').result;
    expect(result).toMatchObject({ status: 'completed' });
    expect(spy.entries).toEqual([]);
    expect(lastResults(lead.model, 1)[0]).toContain('ledger-unavailable');
  });
});

describe.each(PRESET_NAMES)('children under the preset %s', (preset) => {
  it('XC-03 GS-01 GS-02 are in every request without a search, and settle like any tool', async () => {
    const spy = createToolSpy();
    const child = scriptedAgent([reply().text('Here.')], { name: 'child' });
    const lead = scriptedAgent([reply().call('ask_child', { task: 'x' }), reply().text('Done.')], {
      name: 'lead',
      agents: [child.agent],
      discovery: { preset: DRIVERS[preset].preset },
      tools: [spy.tool('zap', undefined, { defer: 'always' })],
    });
    const play = swarmOn(memoryLedger());
    expect(await play.runtime.run(lead.agent, 'Go.').result).toMatchObject({ status: 'completed' });
    expect(lastResults(lead.model, 1)).toEqual(['Here.']);
    for (const { request } of lead.model.requests) {
      expect(request.tools?.map(({ name }) => name)).toContain('ask_child');
    }
    for (const { data } of await play.recordsOf('step.opened'))
      expect(data.active).not.toContain('ask_child');
    expect((await play.recordsOf('tool.dispatched')).map(({ data }) => [data.toolName, data.own])).toEqual([
      ['ask_child', true],
    ]);
  });
});
