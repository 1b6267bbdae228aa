import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { defineGraph } from '../../src/graph/define-graph.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import type { LedgerRecord } from '../../src/ledger/records.ts';
import { createRuntime } from '../../src/runtime.ts';
import type { Fault } from '../../src/testing/fault-points.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { portOf } from '../support/edited-ledger.ts';
import { ofType } from '../support/run-events.ts';

/** A graph with every kind of node, and what it does to the world outside. */
function createWorld() {
  const ledger = memoryLedger();
  const entered: string[] = [];
  const enter = <T>(name: string, value: T): T => {
    entered.push(name);
    return value;
  };
  const model = scriptedModel({ script: (request) => reply().text(`said ${request.lastText}`) });
  const writer = defineAgent({ name: 'writer', instructions: 'Write.', model });
  const inner = defineGraph({ name: 'inner' })
    .node('shout', (text) => enter('inner.shout', text.toUpperCase()), { from: 'input' })
    .build({ output: 'shout' });
  const graph = defineGraph({ name: 'g', input: z.array(z.string()) })
    .map('each', (item, { work }) => enter(work, `${item}!`), { from: 'input', recovery: 'replay_safe' })
    .map('said', writer, { from: 'each' })
    .node('once', (items) => enter('once', items.join(' ')), { from: 'each' })
    .node('left', () => enter('left', 'out'), { from: 'once', when: () => false })
    .node('grow', (text, { work }) => enter(work, `${text}.`), { from: 'once', recovery: 'idempotent' })
    .loop('grown', { from: 'grow', back: 'grow', while: (text) => text.length < 8, max: 5 })
    .node('loud', inner, { from: 'grown' })
    .join('all', { from: ['said', 'loud', 'left'] }, (got) =>
      enter('all', `${got.said.join(',')} ${got.loud}`),
    )
    .build({ output: 'all' });
  return { ledger, graph, entered };
}

type World = ReturnType<typeof createWorld>;
const SESSION = 'kept';
const OUTPUT = 'said a!,said b! A! B!...';

/** A process on the ledger; with faults, it dies there. */
function startProcess(ledger: Ledger, faults: readonly Fault[] = []) {
  const faulty = faultyLedger({ ...portOf(ledger), close: async () => undefined }, faults);
  const halted = Promise.withResolvers<void>();
  faulty.faults.onHalt(halted.resolve);
  const misfits: string[] = [];
  const runtime = createRuntime({
    ledger: faulty,
    random: () => 0,
    inspect: {
      observe(record) {
        if (record.illegal === true || record.fault === true) {
          misfits.push(`${record.kind} ${record.event} in ${record.from}`);
        }
      },
    },
  });
  onTestFinished(() => (faulty.faults.isHalted ? undefined : runtime.close()));
  return { runtime, misfits, halted: halted.promise, faults: faulty.faults };
}

async function runUntil({ ledger, graph }: World, faults: readonly Fault[]) {
  const process = startProcess(ledger, faults);
  const run = process.runtime.run(graph, ['a', 'b'], { sessionId: SESSION });
  await Promise.race([run.result, process.halted]);
  return process;
}

/** Works whose outcome is known, by session. */
function settledWorks(records: readonly LedgerRecord[]): readonly string[] {
  return ofType(records, 'node.finished')
    .filter(({ data }) => data.status !== 'indeterminate')
    .map(({ session, data }) => `${session} ${data.work}`);
}

async function allRecords(ledger: Ledger): Promise<readonly LedgerRecord[]> {
  const sessions = await ledger.sessions();
  return (await Promise.all(sessions.map(({ sessionId }) => ledger.read(sessionId)))).flat();
}

async function finish(world: World, at: string): Promise<void> {
  const before = await allRecords(world.ledger);
  const settled = new Set(settledWorks(before));
  const process = startProcess(world.ledger);
  const open = await process.runtime.recover(SESSION);
  if (open.length === 0) return;
  const unknown = open.flatMap(({ indeterminate }) => indeterminate.map(({ toolName }) => toolName));
  const entries = world.entered.length;
  if (unknown.length > 0) {
    const blocked = await process.runtime.resume(world.graph, SESSION).result;
    expect(blocked, at).toMatchObject({ status: 'paused', reason: 'indeterminate' });
    expect(
      world.entered.slice(entries).filter((name) => unknown.includes(name)),
      at,
    ).toEqual([]);
  }
  const run = process.runtime.resume(world.graph, SESSION, { indeterminate: () => 'retry' });
  const result = await run.result;
  expect(result, at).toMatchObject({ status: 'completed', output: OUTPUT, steps: 2 });
  expect(process.misfits, at).toEqual([]);
  const records = await allRecords(world.ledger);
  const again = settledWorks(records).filter((one) => settled.has(one));
  expect(again, `${at}: settled works have one outcome`).toHaveLength(settled.size);
  expect(new Set(settledWorks(records)).size, at).toBe(settledWorks(records).length);
  expect(
    ofType(records, 'graph.finished').filter(({ session }) => session === SESSION),
    at,
  ).toHaveLength(1);
  expect(await process.runtime.recover(), `${at}: nothing is left open`).toEqual([]);
  await process.runtime.close();
}

describe('a graph whose process dies', { timeout: 120_000 }, () => {
  it('GS-09 goes on at every append, with settled nodes as they are', async () => {
    const first = createWorld();
    const { faults } = await runUntil(first, []);
    const appends = faults.passed.filter((passed) => passed.startsWith('append')).length;
    expect(appends).toBeGreaterThan(40);
    expect(first.entered.toSorted()).toEqual(
      ['all', 'each[0]', 'each[1]', 'grow', 'grow#2', 'grow#3', 'inner.shout', 'once'].sort(),
    );
    for (let skip = 0; skip < appends; skip += 1) {
      for (const when of ['before', 'after'] as const) {
        const world = createWorld();
        await runUntil(world, [{ at: 'append', skip, when, action: { type: 'halt' } }]);
        await finish(world, `${when} append ${skip}`);
      }
    }
  });

  it('GS-09 fails for what had failed, also where its process died right behind that fact', async () => {
    const ledger = memoryLedger();
    const graph = defineGraph({ name: 'g', input: z.string() })
      .node('good', () => 'done', { from: 'input' })
      .node(
        'bad',
        () => {
          throw new Error('no');
        },
        { from: 'good' },
      )
      .build({ output: 'good' });
    const failed = { at: 'append', record: 'node.finished', skip: 2, when: 'after' } as const;
    const { runtime, halted } = startProcess(ledger, [{ ...failed, action: { type: 'halt' } }]);
    const run = runtime.run(graph, 'x', { sessionId: SESSION });
    await Promise.race([run.result, halted]);
    expect(ofType(await ledger.read(SESSION), 'node.finished').at(-1)?.data.status).toBe('failed');
    const successor = startProcess(ledger);
    const result = await successor.runtime.resume(graph, SESSION).result;
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'node-failed' } });
    expect(successor.misfits).toEqual([]);
  });
});
