import { describe, expect, it } from 'vitest';
import type { AgentDefinition } from '../../src/agent/define-agent.ts';
import type { Run } from '../../src/agent/run.ts';
import type { Ledger, LedgerWriter } from '../../src/ledger/ledger.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import type { RecordType } from '../../src/ledger/records.ts';
import { settlePromises } from '../../src/testing/fake-clock.ts';
import type { Fault } from '../../src/testing/fault-points.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import type { ScriptedResponse } from '../../src/testing/script.ts';
import type { Tool, ToolContext } from '../../src/tools/tool.ts';
import { violationsOf } from '../invariants/session.ts';
import { portOf } from '../support/edited-ledger.ts';
import { ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

interface Setup {
  readonly faults?: readonly Fault[];
  readonly script?: readonly ScriptedResponse[];
  readonly tools?: (spy: ReturnType<typeof createToolSpy>) => readonly Tool<unknown>[];
  readonly agent?: Partial<AgentDefinition<unknown>>;
}

const TWO_CALLS = () => [reply().call('read', { id: 'a' }).call('read', { id: 'b' }), reply().text('Done.')];

/** A run of an agent over a ledger with faults; `passed` is everything the ledger was asked, in order. */
function start({ faults = [], script = TWO_CALLS(), tools, agent: more }: Setup) {
  const spy = createToolSpy();
  const inner = memoryLedger();
  const faulty = faultyLedger(inner, faults);
  const { model, agent } = scriptedAgent(script, { tools: tools?.(spy) ?? [spy.tool('read')], ...more });
  const watched = watchedRuntime({ ledger: faulty });
  const run: Run = watched.runtime.run(agent, 'Go.', { sessionId: 'kept' });
  return { ...watched, spy, inner, model, agent, run, passed: faulty.faults.passed, faults: faulty.faults };
}

/** Starts a run and stops its ledger before it stores the first batch with such a record. */
async function heldAt(record: RecordType, setup: Setup = {}) {
  const gate = createGate();
  const held = start({ ...setup, faults: [{ at: 'append', record, action: { type: 'pause', gate } }] });
  await gate.reached;
  // Whatever would not wait for the store has its chance.
  for (let turns = 0; turns < 20; turns += 1) await settlePromises();
  return { ...held, gate };
}

const appends = (passed: readonly string[]) =>
  passed.filter((one) => one.startsWith('append:')).map((one) => one.slice('append:'.length));

describe('the order of facts and acts', () => {
  it('W1 no work begins before the turn is durable', async () => {
    const asked: string[] = [];
    const { gate, model, run, transitions } = await heldAt('turn.opened', {
      agent: {
        hooks: {
          beforeRequest: () => {
            asked.push('request');
            return undefined;
          },
        },
      },
    });
    expect([asked, model.requests.length]).toEqual([[], 0]);
    expect(transitions.findLast(({ kind }) => kind === 'turn')?.to).toBe('opening');
    gate.open();
    expect((await run.result).status).toBe('completed');
  });

  it('W2 no request is sent before it is durable what it is, for each attempt', async () => {
    const { gate, model, run, passed } = await heldAt('request.prepared');
    expect(model.requests).toHaveLength(0);
    gate.open();
    await run.result;
    expect(model.requests).toHaveLength(2);
    const prepared = appends(passed).filter((batch) => batch.includes('request.prepared+attempt.started'));
    expect(prepared).toHaveLength(2);
  });

  it('W3 an answer and all its calls are one batch, and nothing of them begins before it is durable', async () => {
    const gated: string[] = [];
    const { gate, spy, run, passed } = await heldAt('assistant.message', {
      agent: {
        hooks: {
          beforeToolCall: ({ callId }) => {
            gated.push(callId);
            return undefined;
          },
        },
      },
    });
    expect([gated, spy.entries]).toEqual([[], []]);
    expect(appends(passed)).toContain('assistant.message+tool.called+tool.called+step.closed');
    gate.open();
    await run.result;
    expect(spy.entries).toHaveLength(2);
  });

  const gatedTools: Setup = {
    tools: (spy) => [spy.tool('read', undefined, { needsApproval: true })],
    script: [reply().call('read', { id: 'a' }), reply().text('Done.')],
  };

  it('W4 nobody is asked before the request is durable', async () => {
    const { gate, run, runtime, transitions } = await heldAt('permission.requested', gatedTools);
    expect(await runtime.approvals.pending()).toEqual([]);
    expect(transitions.findLast(({ kind }) => kind === 'tool-call')?.to).toBe('admitted');
    gate.open();
    for await (const event of run.events()) if (event.type === 'approval.requested') break;
    const [request] = await runtime.approvals.pending();
    await runtime.approvals.decide(request?.id ?? '', { decision: 'approve' });
    expect((await run.result).status).toBe('completed');
  });

  it('W4 an approved call has no intent before the decision is durable', async () => {
    const gate = createGate();
    const { run, runtime, spy, passed, faults } = start({
      ...gatedTools,
      faults: [{ at: 'append', record: 'permission.decided', action: { type: 'pause', gate } }],
    });
    for await (const event of run.events()) if (event.type === 'approval.requested') break;
    const [request] = await runtime.approvals.pending();
    const deciding = runtime.approvals.decide(request?.id ?? '', { decision: 'approve' });
    await gate.reached;
    for (let turns = 0; turns < 20; turns += 1) await settlePromises();
    expect(faults.fired).toHaveLength(1);
    expect(appends(passed).filter((batch) => batch.includes('tool.dispatched'))).toEqual([]);
    expect(spy.entries).toEqual([]);
    gate.open();
    await deciding;
    await run.result;
    expect(spy.entries).toHaveLength(1);
  });

  it('W5 an implementation is not entered before its intent is durable', async () => {
    const { gate, spy, run } = await heldAt('tool.dispatched');
    expect(spy.entries).toEqual([]);
    gate.open();
    await run.result;
    expect(spy.entries).toHaveLength(2);
  });

  it('W5 an intent that stands already is not entered again', async () => {
    const { run, spy, inner } = start({
      faults: [{ at: 'append', record: 'tool.dispatched', action: { type: 'reject', reason: 'duplicate' } }],
      script: [reply().call('read', { id: 'a' })],
    });
    expect(await run.result).toMatchObject({ status: 'failed', error: { kind: 'ledger-rejected' } });
    expect(spy.entries).toEqual([]);
    expect((await inner.listOpen()).map(({ sessionId }) => sessionId)).toEqual(['kept']);
  });

  it('W6 an outcome is told to nobody before it is durable', async () => {
    const { gate, run, model, transitions } = await heldAt('tool.settled', {
      script: [reply().call('read', { id: 'a' }), reply().text('Done.')],
    });
    const told: string[] = [];
    const reading = (async () => {
      for await (const event of run.events()) told.push(event.type);
    })();
    for (let turns = 0; turns < 20; turns += 1) await settlePromises();
    expect(told).toContain('tool.dispatched');
    expect(told).not.toContain('tool.settled');
    expect(model.requests).toHaveLength(1);
    expect(transitions.findLast(({ kind }) => kind === 'tool-call')?.to).toBe('committing');
    expect(transitions.findLast(({ kind }) => kind === 'turn')?.to).toBe('settling');
    gate.open();
    await run.result;
    await reading;
    expect(told).toContain('tool.settled');
  });

  it('W7 each request is made of what the ledger says after the last fact of the turn', async () => {
    const { run, passed } = start({});
    await run.result;
    const lastOutcome = passed.findLastIndex((one) => one.includes('tool.settled'));
    const nextRequest = passed.findIndex((one, at) => at > lastOutcome && one.includes('request.prepared'));
    expect(passed.slice(lastOutcome + 1, nextRequest)).toContain('read');
  });

  it('W8 a text is injected in the batch of the step that carries it', async () => {
    const gate = createGate();
    const { run, passed } = start({
      tools: (spy) => [spy.tool('read', () => gate.pass())],
      script: [reply().call('read', { id: 'a' }), reply().text('Done.')],
    });
    await gate.reached;
    const steering = run.steer('Be quick.');
    for await (const event of run.events()) if (event.type === 'steering.accepted') break;
    gate.open();
    expect(await steering).toMatchObject({ delivered: true });
    await run.result;
    expect(appends(passed)).toContain('steering.injected+step.opened+request.prepared+attempt.started');
  });

  it('W10 nothing of a turn is written after its end, whatever its tools still say', async () => {
    const kept: ToolContext[] = [];
    const { run, inner, misfits, passed } = start({
      tools: (spy) => [spy.tool('read', (_, ctx) => void kept.push(ctx))],
      script: [reply().call('read', { id: 'a' }), reply().text('Done.')],
    });
    await run.result;
    kept[0]?.progress('still here');
    for (let turns = 0; turns < 20; turns += 1) await settlePromises();
    const records = await inner.read('kept');
    expect(records.at(-1)?.type).toBe('turn.closed');
    // The store would refuse it; it is not even asked.
    expect(appends(passed).at(-1)).toContain('turn.closed');
    expect(violationsOf({ records })).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it.each([
    ['stored', 'after'],
    ['not stored', 'before'],
  ] as const)('W11 after an append of unknown outcome (%s) only a new owner writes', async (_, when) => {
    const { run, inner, passed, runtime, agent, spy } = start({
      faults: [{ at: 'append', record: 'tool.settled', when, action: { type: 'indeterminate' } }],
      script: [reply().call('read', { id: 'a' }), reply().text('Done.')],
    });
    expect(await run.result).toMatchObject({ status: 'failed', error: { kind: 'ledger-indeterminate' } });
    expect(appends(passed).at(-1)).toBe('tool.settled');
    const stored = ofType(await inner.read('kept'), 'tool.settled').length;
    expect(stored).toBe(when === 'after' ? 1 : 0);
    const [report] = await runtime.recover('kept');
    expect(report?.indeterminate).toHaveLength(1 - stored);
    const resumed = runtime.resume(agent, 'kept', { indeterminate: () => ({ settle: 'settled by hand' }) });
    expect((await resumed.result).status).toBe('completed');
    const records = await inner.read('kept');
    expect(new Set(records.map(({ epoch }) => epoch))).toEqual(new Set([1, 2]));
    expect(violationsOf({ records })).toEqual([]);
    expect(spy.entries).toHaveLength(1);
  });

  it('W11 nothing more is sent to a writer that does not know what it wrote', async () => {
    const inner = memoryLedger();
    const asked: string[] = [];
    const slow = createGate();
    const unsure: Ledger = {
      ...portOf(inner),
      async acquire(identity) {
        const writer = await inner.acquire(identity);
        return withAppend(writer, async (expectedSeq, batch) => {
          asked.push(batch.map(({ type }) => type).join('+'));
          // One that goes on as if nothing had happened: the rule does not lie with the store alone.
          const isUnsure = batch.some(({ type }) => type === 'tool.settled');
          return isUnsure ? { type: 'indeterminate', cause: 'test' } : writer.append(expectedSeq, batch);
        });
      },
    };
    const spy = createToolSpy();
    const { agent } = scriptedAgent([reply().call('quick', { id: 'a' }).call('slow', { id: 'b' })], {
      tools: [
        spy.tool('quick', async () => {
          await slow.reached;
          return 'quick a';
        }),
        spy.tool('slow', () => slow.pass()),
      ],
    });
    const { runtime } = watchedRuntime({ ledger: unsure });
    const run = runtime.run(agent, 'Go.', { sessionId: 'kept' });
    while (asked.at(-1) !== 'tool.settled') await settlePromises();
    slow.open();
    expect(await run.result).toMatchObject({ status: 'failed', error: { kind: 'ledger-indeterminate' } });
    expect(asked.at(-1)).toBe('tool.settled');
    expect(asked.filter((batch) => batch === 'tool.settled')).toHaveLength(1);
  });
});

function withAppend(writer: LedgerWriter, append: LedgerWriter['append']): LedgerWriter {
  return {
    identity: writer.identity,
    epoch: writer.epoch,
    get head() {
      return writer.head;
    },
    lost: writer.lost,
    append,
    appendLast: append,
    release: () => writer.release(),
    [Symbol.asyncDispose]: () => writer.release(),
  };
}
