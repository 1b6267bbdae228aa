import { describe, expect, it, onTestFinished } from 'vitest';
import { EFFECT_HOOKS } from '../../machines/hooks.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { LedgerRecord } from '../../src/ledger/records.ts';
import { sqliteLedger } from '../../src/ledger/sqlite-ledger.ts';
import type { Hooks } from '../../src/lifecycle/hooks.ts';
import { createRuntime } from '../../src/runtime.ts';
import { fakeClock, settlePromises } from '../../src/testing/fake-clock.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedServer } from '../../src/testing/scripted-server.ts';
import { requestOf } from '../support/approval-run.ts';
import { startProgram } from '../support/child-process.ts';
import { portOf } from '../support/edited-ledger.ts';
import { LEDGER_KINDS, ledgerPath, openLedger } from '../support/ledgers.ts';
import { eventSeen, ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const call = () => reply().call('work', { id: 'a' });

/** Effects of every kind, each of which writes down its fact and whether that was durable by then. */
function listening(told: string[], ledger: Ledger): Hooks {
  const effect = async (fact: LedgerRecord, { id }: { readonly id: string }) => {
    const stored = await ledger.read(fact.session);
    told.push(`${fact.type} ${stored.some((record) => record.id === id && id === fact.id)}`);
  };
  return Object.fromEntries(Object.keys(EFFECT_HOOKS).map((hook) => [hook, effect]));
}

describe.each(LEDGER_KINDS)('effects (%s)', (kind) => {
  it('HK-05 run once for each fact of theirs, after it is durable, in the order of the facts', async () => {
    const told: string[] = [];
    const ledger = await openLedger(kind);
    const gate = createGate();
    const { agent } = scriptedAgent([call(), reply().wait(gate).text('One.'), reply().text('Two.')], {
      tools: [createToolSpy().tool('work', undefined, { needsApproval: true })],
    });
    const { runtime } = watchedRuntime({ ledger, hooks: listening(told, ledger) });
    const run = runtime.run(agent, 'Go.');
    await runtime.approvals.decide(await requestOf(run), { decision: 'approve' });
    await gate.reached;
    const steered = run.steer('And this.');
    await eventSeen(run, 'steering.accepted');
    gate.open();
    await steered;
    await run.result;
    // Bookkeeping of the session comes after its effects.
    await runtime.sessions.read(run.sessionId);
    while (told.length < 7) await settlePromises();
    expect(told).toEqual([
      'step.closed true',
      'permission.decided true',
      'tool.settled true',
      'step.closed true',
      'steering.injected true',
      'step.closed true',
      'turn.closed true',
    ]);
  });

  it('HK-05 do not run for a fact that was not written', async () => {
    const told: string[] = [];
    const inner = await openLedger(kind);
    const ledger = faultyLedger(inner, [
      { at: 'append', record: 'tool.settled', action: { type: 'reject', reason: 'conflict' } },
    ]);
    const { agent } = scriptedAgent([call()], { tools: [createToolSpy().tool('work')] });
    const runtime = createRuntime({ ledger, hooks: { afterToolCall: () => void told.push('ran') } });
    expect((await runtime.run(agent, 'Go.').result).status).toBe('failed');
    await runtime.close();
    expect(told).toEqual([]);
  });

  it('HK-05 one that fails is counted, delays no turn, and runs again with the same id', async () => {
    const ids: string[] = [];
    const { agent } = scriptedAgent(
      [call(), reply().text('One.'), reply().text('Two.'), reply().text('Three.')],
      {
        tools: [createToolSpy().tool('work')],
        hooks: {
          afterToolCall(_, { id }) {
            ids.push(id);
            if (ids.length === 1) throw new RangeError('the mail server is down');
          },
        },
      },
    );
    const { runtime, ledger } = watchedRuntime({ ledger: await openLedger(kind) });
    const run = runtime.run(agent, 'Go.');
    expect((await run.result).status).toBe('completed');
    await runtime.run(agent, 'Next.', { sessionId: run.sessionId }).result;
    await runtime.run(agent, 'Last.', { sessionId: run.sessionId }).result;
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
    expect(runtime.hookStats().afterToolCall).toMatchObject({ fired: 2, failed: 1 });
    const records = await ledger.read(run.sessionId);
    expect(ofType(records, 'effect.done').map(({ data }) => data.fact)).toEqual([ids[0]]);
    expect(records.find(({ id }) => id === ids[0])?.type).toBe('tool.settled');
  });

  it('HK-05 one that hangs is given up at its deadline and does not hold the turn', async () => {
    const clock = fakeClock();
    const entered = createGate();
    const { agent } = scriptedAgent([call(), reply().text('Done.')], {
      tools: [createToolSpy().tool('work')],
      hooks: { afterToolCall: () => entered.pass() },
    });
    const { runtime } = watchedRuntime({ ledger: await openLedger(kind, clock), clock });
    const run = runtime.run(agent, 'Go.');
    await entered.reached;
    expect((await run.result).status).toBe('completed');
    await clock.advance(30_000);
    expect(runtime.hookStats().afterToolCall).toMatchObject({ fired: 1, hung: 1 });
  });

  it('HK-05 what one process left undone another does, and neither does what is done', async () => {
    const inner = await openLedger(kind);
    onTestFinished(() => inner.close());
    const ran: string[] = [];
    const { agent } = scriptedAgent([call(), reply().text('One.'), reply().text('Two.')], {
      tools: [createToolSpy().tool('work')],
      hooks: {
        name: 'mail',
        afterStep: ({ id }) => void ran.push(`step ${id}`),
        afterToolCall: ({ id }) => void ran.push(`tool ${id}`),
      },
    });
    // The process dies when the effect of the step is recorded, before that of the tool has run.
    const halting = faultyLedger(portOf(inner), [
      { at: 'append', record: 'effect.done', when: 'after', action: { type: 'halt' } },
    ]);
    const first = createRuntime({ ledger: halting });
    const run = first.run(agent, 'Go.');
    while (!halting.faults.isHalted) await settlePromises();
    expect(ran.filter((one) => one.startsWith('tool'))).toEqual([]);
    const second = createRuntime({ ledger: portOf(inner) });
    const records = await inner.read(run.sessionId);
    const open = records.every(({ type }) => type !== 'turn.closed');
    await (open
      ? second.resume(agent, run.sessionId)
      : second.run(agent, 'Next.', { sessionId: run.sessionId })
    ).result;
    const facts = await inner.read(run.sessionId);
    const [settled] = ofType(facts, 'tool.settled');
    expect(ran.filter((one) => one.startsWith('tool'))).toEqual([`tool ${settled?.id}`]);
    expect(new Set(ran).size).toBe(ran.length);
  });
});

describe('effects of a killed process (sqlite)', () => {
  it('HK-05 run again after kill -9 between fact and effect, with the same id', async () => {
    const server = await scriptedServer({
      script: [call(), reply().text('One.'), reply().text('Two.')],
    });
    onTestFinished(() => server.close());
    const path = await ledgerPath();
    const args = [path, server.baseURL, 's-effects'];
    const first = startProgram('programs/effectful-agent.ts', [...args, 'Go.', 'stay']);
    const begun = await first.said('effect');
    await first.said('result completed');
    await first.kill();
    const second = startProgram('programs/effectful-agent.ts', [...args, 'Next.', 'go']);
    expect(await second.said('effect')).toBe(begun);
    await second.said('closed');
    await using ledger = await sqliteLedger({ path });
    const records = await ledger.read('s-effects');
    const [settled] = ofType(records, 'tool.settled');
    expect(begun).toBe(`${settled?.id} tool.settled success`);
    expect(ofType(records, 'effect.done').map(({ data }) => data)).toEqual([
      { hook: 'mail.afterToolCall', fact: settled?.id },
    ]);
  });
});
