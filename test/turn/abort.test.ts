import { describe, expect, it } from 'vitest';
import type { AgentDefinition } from '../../src/agent/define-agent.ts';
import type { Run } from '../../src/agent/run.ts';
import type { RuntimeOptions } from '../../src/agent/runtime-options.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import type { RecordType } from '../../src/ledger/records.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';
import { createGate, type Gate } from '../../src/testing/gate.ts';
import { failure, reply } from '../../src/testing/reply.ts';
import type { ScriptedResponse } from '../../src/testing/script.ts';
import { violationsOf } from '../invariants/session.ts';
import { eventSeen, eventsOf, ofType } from '../support/run-events.ts';
import { servedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

/** A place in a turn at which it is cancelled, and what is then true. */
interface Phase {
  readonly title: string;
  readonly script?: (gate: Gate) => readonly ScriptedResponse[];
  readonly agent?: (gate: Gate) => Partial<AgentDefinition<unknown>>;
  readonly options?: (gate: Gate) => RuntimeOptions;
  /** Resolves when the turn is there. Default: when the gate is reached. */
  readonly reached?: (run: Run) => Promise<unknown>;
  readonly requests: number;
  readonly entries: number;
  readonly text?: string;
  /** How the call of the script ends. */
  readonly call?: string;
}

const pausedAt = (record: RecordType, when: 'before' | 'after' = 'before') => ({
  options: (gate: Gate): RuntimeOptions => ({
    ledger: faultyLedger(memoryLedger(), [{ at: 'append', record, when, action: { type: 'pause', gate } }]),
  }),
});

const pass = async (gate: Gate) => {
  await gate.pass();
  return undefined;
};

const PHASES: readonly Phase[] = [
  { title: 'while the turn is opened', ...pausedAt('turn.opened'), requests: 0, entries: 0 },
  {
    title: 'while the request is built',
    agent: (gate) => ({ hooks: { beforeRequest: () => pass(gate) } }),
    requests: 0,
    entries: 0,
  },
  { title: 'while the request is written', ...pausedAt('request.prepared'), requests: 0, entries: 0 },
  {
    title: 'before anything came back',
    script: (gate) => [reply().wait(gate).text('Late.')],
    requests: 1,
    entries: 0,
  },
  {
    title: 'in the middle of the answer',
    script: (gate) => [reply().text('Half of').wait(gate).text(' it.')],
    reached: async (run) => {
      for await (const text of run.text()) if (text !== '') return;
    },
    requests: 1,
    entries: 0,
    text: 'Half of',
  },
  {
    title: 'between two attempts',
    script: () => [failure({ kind: 'overloaded' })],
    options: () => ({ clock: fakeClock() }),
    reached: (run) => eventSeen(run, 'attempt.retry-scheduled'),
    requests: 1,
    entries: 0,
  },
  {
    title: 'while the answer is written',
    ...pausedAt('assistant.message'),
    requests: 1,
    entries: 0,
    call: 'turn-ended',
  },
  {
    title: 'while a gate judges the call',
    agent: (gate) => ({ hooks: { beforeToolCall: () => pass(gate) } }),
    requests: 1,
    entries: 0,
    call: 'turn-ended',
  },
  {
    title: 'while a person is asked',
    reached: (run) => eventSeen(run, 'approval.requested'),
    requests: 1,
    entries: 0,
    call: 'turn-ended',
  },
  {
    title: 'while the intent is written',
    ...pausedAt('tool.dispatched'),
    requests: 1,
    entries: 0,
    call: 'aborted',
  },
  {
    title: 'in a tool that heeds its signal',
    reached: (run) => eventSeen(run, 'tool.dispatched'),
    requests: 1,
    entries: 1,
    call: 'aborted',
  },
  {
    title: 'while the outcome is written',
    ...pausedAt('tool.settled'),
    requests: 1,
    entries: 1,
    call: 'success',
  },
  {
    title: 'while it decides on another step',
    agent: (gate) => ({ hooks: { beforeContinue: () => pass(gate) } }),
    requests: 1,
    entries: 1,
    call: 'success',
  },
  {
    title: 'while it decides to end',
    script: () => [reply().text('All of it.')],
    agent: (gate) => ({ hooks: { beforeComplete: () => pass(gate) } }),
    requests: 1,
    entries: 0,
    text: 'All of it.',
  },
];

const HEEDING = 'in a tool that heeds its signal';

function toolFor({ title }: Phase, spy: ReturnType<typeof createToolSpy>) {
  const heed = (_: unknown, { signal }: { readonly signal: AbortSignal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  return spy.tool('work', title === HEEDING ? heed : undefined, {
    needsApproval: title === 'while a person is asked',
  });
}

describe('cancelling', () => {
  it.each(PHASES)('MA-17 a cancel $title wins, keeps what is there and ends once', async (phase) => {
    const gate = createGate();
    const spy = createToolSpy();
    const script = phase.script?.(gate) ?? [reply().call('work', { id: 'a' }), reply().text('Done.')];
    const { server, agent } = await servedAgent(script, {
      tools: [toolFor(phase, spy)],
      ...phase.agent?.(gate),
    });
    const { runtime, ledger, misfits } = watchedRuntime(phase.options?.(gate));
    const run = runtime.run(agent, 'Go.');
    await (phase.reached?.(run) ?? gate.reached);
    run.cancel('enough');
    gate.open();
    const result = await run.result;
    expect(result).toMatchObject({ status: 'cancelled', reason: 'enough', text: phase.text ?? '' });
    const records = await ledger.read(run.sessionId);
    expect(ofType(records, 'turn.closed').map(({ data }) => [data.status, data.stopReason])).toEqual([
      ['cancelled', 'user-stop'],
    ]);
    expect(records.at(-1)?.type).toBe('turn.closed');
    expect((await eventsOf(run)).filter(({ type }) => type === 'turn.closed')).toHaveLength(1);
    expect(server.requests).toHaveLength(phase.requests);
    expect(spy.entries).toHaveLength(phase.entries);
    const ends = [
      ...ofType(records, 'tool.refused').map(({ data }) => data.code),
      ...ofType(records, 'tool.settled').map(({ data }) => data.status),
    ];
    expect(ends).toEqual(phase.call === undefined ? [] : [phase.call]);
    expect(violationsOf({ records })).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('MA-17 a cancel after the end is too late: the turn completed and says so once', async () => {
    const gate = createGate();
    const { agent } = await servedAgent([reply().text('All of it.')]);
    const { runtime, ledger, misfits } = watchedRuntime(pausedAt('turn.closed').options(gate));
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    run.cancel('enough');
    gate.open();
    expect(await run.result).toMatchObject({ status: 'completed', text: 'All of it.' });
    const records = await ledger.read(run.sessionId);
    expect(ofType(records, 'turn.closed').map(({ data }) => data.status)).toEqual(['completed']);
    expect(misfits).toEqual([]);
  });

  it('MA-17 partial text stands in the history of the next turn', async () => {
    const gate = createGate();
    const { server, agent } = await servedAgent([
      reply().text('Half of').wait(gate).text(' it.'),
      reply().text('Again.'),
    ]);
    const { runtime } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    for await (const text of run.text()) if (text !== '') break;
    run.cancel();
    await run.result;
    await runtime.run(agent, 'Go on.', { sessionId: run.sessionId }).result;
    expect(server.requests[1]?.messages.map(({ role, text }) => [role, text])).toEqual([
      ['user', 'Go.'],
      ['assistant', 'Half of'],
      ['user', 'Go on.'],
    ]);
  });
});
