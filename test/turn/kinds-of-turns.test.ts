import { describe, expect, it } from 'vitest';
import type { Run } from '../../src/agent/run.ts';
import type { RecordType } from '../../src/ledger/records.ts';
import type { Runtime } from '../../src/runtime.ts';
import { failure, reply } from '../../src/testing/reply.ts';
import type { Script } from '../../src/testing/script.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { violationsOf } from '../invariants/session.ts';
import { LEDGER_KINDS, type LedgerKind, openLedger } from '../support/ledgers.ts';
import { eventSeen } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

/** One way a turn may go: what the model says, what happens meanwhile, and how it shows. */
interface Kind {
  readonly title: string;
  readonly script: Script;
  readonly meanwhile?: (run: Run<unknown>, runtime: Runtime) => Promise<unknown>;
  readonly status: 'completed' | 'cancelled' | 'interrupted';
  /** Facts that make it the kind it is. */
  readonly facts: readonly RecordType[];
  /** Entries of tools, by name. */
  readonly entries: readonly string[];
  readonly contextWindow?: number;
}

const done = reply().text('Done.');
const look = (id = '1') => reply().call('look', { id });
/** Goes on until it is stopped, once something was said. */
const endless = reply()
  .text('So far.')
  .wait((signal) => new Promise((_, reject) => signal.addEventListener('abort', reject)));

const KINDS: readonly Kind[] = [
  { title: 'text only', script: [done], status: 'completed', facts: ['assistant.message'], entries: [] },
  {
    title: 'one call',
    script: [look(), done],
    status: 'completed',
    facts: ['tool.settled'],
    entries: ['look'],
  },
  {
    title: 'several calls in one step',
    script: [look('1').call('look', { id: '2' }).call('look', { id: '3' }), done],
    status: 'completed',
    facts: ['tool.settled', 'tool.settled', 'tool.settled'],
    entries: ['look', 'look', 'look'],
  },
  {
    title: 'a tool that fails',
    script: [reply().call('fail', { id: '1' }), done],
    status: 'completed',
    facts: ['tool.settled'],
    entries: ['fail'],
  },
  {
    title: 'a wait for permission',
    script: [reply().call('del', { id: '1' }), done],
    async meanwhile(run, runtime) {
      const { data } = await eventSeen(run, 'approval.requested');
      await runtime.approvals.decide(data.request, { decision: 'approve' });
    },
    status: 'completed',
    facts: ['permission.requested', 'permission.decided', 'tool.settled'],
    entries: ['del'],
  },
  {
    title: 'steering',
    script: [look(), done],
    meanwhile: (run) => run.steer('And the sea?'),
    status: 'completed',
    facts: ['steering.accepted', 'steering.injected'],
    entries: ['look'],
  },
  {
    title: 'compaction',
    contextWindow: 4_000,
    script({ system, messages }) {
      if (system.includes('memory of an assistant')) return reply().text('Summary.');
      const isFolded = messages.some(({ text }) => text.includes('Summary.'));
      return isFolded ? done : look('x'.repeat(4_000));
    },
    status: 'completed',
    facts: ['compaction.committed'],
    entries: ['look', 'look', 'look'],
  },
  {
    title: 'a retry',
    script: [failure({ kind: 'overloaded' }), done],
    status: 'completed',
    facts: ['attempt.failed', 'attempt.retry-scheduled'],
    entries: [],
  },
  {
    title: 'an abort',
    script: [endless],
    async meanwhile(run) {
      for await (const _ of run.text()) run.cancel('enough');
    },
    status: 'cancelled',
    facts: ['assistant.message', 'turn.closed'],
    entries: [],
  },
  {
    title: 'an interruption',
    script: [endless],
    async meanwhile(run, runtime) {
      for await (const _ of run.text()) await runtime.abandon(run.sessionId, 'the machine is needed');
    },
    status: 'interrupted',
    facts: ['turn.closed'],
    entries: [],
  },
];

async function play(ledgerKind: LedgerKind, kind: Kind) {
  const spy = createToolSpy();
  const fails = () => {
    throw new TypeError('no such place');
  };
  const { contextWindow } = kind;
  const model = scriptedModel({
    script: kind.script,
    ...(contextWindow === undefined ? {} : { contextWindow }),
  });
  const { agent } = scriptedAgent([], {
    model,
    tools: [
      spy.tool('look', ({ id }) => `seen ${id.length}`),
      spy.tool('fail', fails),
      spy.tool('del', undefined, { needsApproval: true }),
    ],
    limits: { attempts: { baseDelayMs: 0 } },
  });
  const { runtime, ledger, misfits } = watchedRuntime({ ledger: await openLedger(ledgerKind) });
  const run = runtime.run(agent, 'Go.');
  const meanwhile = kind.meanwhile?.(run, runtime);
  const result = await run.result;
  await meanwhile;
  const records = await ledger.read(run.sessionId);
  expect(violationsOf({ records })).toEqual([]);
  expect(misfits).toEqual([]);
  expect(model.requests.flatMap(({ violations }) => violations)).toEqual([]);
  return { result, records, entries: spy.entries.map(({ toolName }) => toolName) };
}

describe.each(LEDGER_KINDS)('a turn, with the %s ledger,', (ledgerKind) => {
  it.each(KINDS)('MA-08 with $title ends once, as it should, and has every call in a pair', async (kind) => {
    const { records, entries } = await play(ledgerKind, kind);
    const closed = records.filter((record) => record.type === 'turn.closed');
    expect(closed.map(({ data }) => data.status)).toEqual([kind.status]);
    const types = records.map(({ type }) => type);
    for (const fact of new Set(kind.facts)) {
      const wanted = kind.facts.filter((one) => one === fact).length;
      expect(types.filter((type) => type === fact).length, fact).toBeGreaterThanOrEqual(wanted);
    }
    expect(entries.slice(0, kind.entries.length)).toEqual(kind.entries);
  });
});
