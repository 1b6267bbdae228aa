import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/runtime.ts';
import { reply } from '../../src/testing/reply.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { crashedRun } from './fixtures/crashed-run.ts';

describe.each(LEDGER_KINDS)('the report of what is left (%s)', (kind) => {
  it('names what is unknown, what never ran and who waits, and changes nothing', async () => {
    const { ledger, restart, spy, model } = await crashedRun({
      ledger: await openLedger(kind),
      script: [reply().call('write', { id: 'a' }).call('read', { id: 'b' }).call('read', { id: 'c' })],
      tools: ['read', 'write'],
      asks: ['write'],
      agent: { limits: { toolConcurrency: 2 } },
      crash: { record: 'tool.settled', when: 'before' },
    });
    const before = await ledger.read('kept');
    const { runtime } = restart();
    const [report, ...more] = await runtime.recover();
    expect(more).toEqual([]);
    expect(report).toEqual({
      sessionId: 'kept',
      agent: 'worker',
      turnId: 'kept.1',
      owned: false,
      paused: false,
      steps: 1,
      unanswered: false,
      indeterminate: [{ callId: 'kept.1.1.1', toolName: 'read', operationId: spy.entries[0]?.operationId }],
      notDispatched: [{ callId: 'kept.1.1.2', toolName: 'read' }],
      parked: [{ requestId: 'kept.1.1.0.ask', callId: 'kept.1.1.0', toolName: 'write' }],
      steering: 0,
    });
    expect(await runtime.recover('kept')).toEqual([report]);
    expect(await runtime.recover('another')).toEqual([]);
    expect(await ledger.read('kept')).toEqual(before);
    expect([spy.entries.length, model.requests.length]).toEqual([1, 1]);
  });

  it('says of a turn at work that somebody has it', async () => {
    const ledger = await openLedger(kind);
    const { agent } = scriptedAgent([reply().text('Half').stall()]);
    await using runtime = createRuntime({ ledger });
    const run = runtime.run(agent, 'Go.');
    for await (const text of run.text()) if (text !== '') break;
    expect(await runtime.recover()).toMatchObject([
      { sessionId: run.sessionId, owned: true, unanswered: true },
    ]);
    run.cancel();
    await run.result;
    expect(await runtime.recover()).toEqual([]);
  });
});

describe('resuming what cannot be', () => {
  it('is told with the reason', async () => {
    const { agent, restart } = await crashedRun({
      script: [reply().text('Never read.'), reply().text('Done.')],
      crash: { record: 'assistant.message', when: 'before' },
    });
    const { runtime } = restart();
    const kinds: string[] = [];
    for (const session of ['kept', 'kept', 'unheard-of']) {
      const result = await runtime.resume(agent, session).result;
      kinds.push(result.status === 'failed' ? result.error.kind : result.status);
    }
    expect(kinds).toEqual(['completed', 'nothing-to-resume', 'unknown-session']);
    expect(() => runtime.resume('nobody', 'kept')).toThrow(
      expect.objectContaining({ code: 'unknown-agent' }),
    );
  });

  it('waits its turn behind a run of the same session', async () => {
    const { agent } = scriptedAgent([reply().text('Done.')]);
    await using runtime = createRuntime({ agents: { worker: agent } });
    const run = runtime.run(agent, 'Go.');
    const resumed = runtime.resume('worker', run.sessionId);
    expect((await run.result).status).toBe('completed');
    // Nothing of the session is stored when it is asked for.
    const kind = await resumed.result.then((one) => one.status === 'failed' && one.error.kind);
    expect(['nothing-to-resume', 'unknown-session']).toContain(kind);
  });
});
