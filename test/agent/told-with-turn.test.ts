import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AnyAgent, defineAgent } from '../../src/agent/define-agent.ts';
import type { Run } from '../../src/agent/run.ts';
import { SwarmError } from '../../src/errors.ts';
import { workOf } from '../../src/graph/turn-work.ts';
import type { LedgerRecord, RecordData } from '../../src/ledger/records.ts';
import type { Hooks } from '../../src/lifecycle/hooks.ts';
import type { LimitOptions } from '../../src/limits.ts';
import type { QueueEntry } from '../../src/nats/queue-entry.ts';
import type { EntryEnd } from '../../src/nats/work-on-entry.ts';
import { createRuntime } from '../../src/runtime.ts';
import type { Fault } from '../../src/testing/fault-points.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import type { Script } from '../../src/testing/script.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { violationsOf } from '../invariants/session.ts';
import { portOf } from '../support/edited-ledger.ts';
import { entryOf, type HandedWorker, memoryPool } from '../support/memory-pool.ts';
import { ofType } from '../support/run-events.ts';

const TOGETHER = 'turn.closed+run.settled';

const PAID = reply().text('paid').usage(3, 1);

function agentOf(name: string, script: Script, more: Partial<Parameters<typeof defineAgent>[0]> = {}) {
  return defineAgent({ name, instructions: 'Do.', model: scriptedModel({ script }), ...more });
}

/** A lead with a tool. */
function paying(script: Script, limits: LimitOptions = {}, needsApproval = false): AnyAgent {
  const execute = () => 'paid';
  const inputSchema = z.object({});
  const pay = defineTool({ name: 'pay', description: 'Pays.', inputSchema, needsApproval, execute });
  return agentOf('lead', script, { tools: [pay], limits });
}

/** A lead that asks a payer who may be on another worker, and one that hands over to it. */
function teamOf(how: 'alone' | 'asks' | 'hands over'): readonly AnyAgent[] {
  const payer = agentOf('payer', () => PAID.finish('length'));
  const script: Script = ({ messages, toolNames }) => {
    const isDone = messages.some(({ role }) => role === 'tool');
    if (how === 'alone' || isDone) return reply().text('done').usage(2, 1);
    const asks = toolNames.includes('ask_payer');
    return asks
      ? reply().call('ask_payer', { task: 'Pay.' })
      : reply().call('transfer_to_payer', { message: 'Pay.' });
  };
  const ways = how === 'asks' ? { agents: [payer] } : how === 'alone' ? {} : { handoffs: [payer] };
  return [agentOf('lead', script, ways), payer];
}

interface World {
  readonly pool: Awaited<ReturnType<typeof memoryPool>>;
  readonly run: Run<unknown>;
}

/** A run that was given to a pool, and is in its queue. */
async function given(agents: readonly AnyAgent[]): Promise<World> {
  const pool = await memoryPool(agents);
  const run = pool.runtimeOf().run('lead', 'Go.', { sessionId: 's-1', runId: 'r-1' });
  await turnOfLoop();
  return { pool, run };
}

/** Hands out what is in the queue until there is nothing left. What is for later comes again. */
async function workOff({ pool }: World, worker: HandedWorker): Promise<readonly EntryEnd[]> {
  const ends: EntryEnd[] = [];
  for (let entry = pool.entries.shift(); entry !== undefined; entry = pool.entries.shift()) {
    const end = await worker.hand(entry);
    if (end.type === 'later') pool.entries.push(entry);
    ends.push(end);
  }
  return ends;
}

/** Hands out what is in the queue until the worker dies; what it died of is in the queue still. */
async function workUntil({ pool }: World, fault: Fault | undefined): Promise<readonly string[]> {
  const ledger = faultyLedger(pool.store, fault === undefined ? [] : [fault]);
  const died = Promise.withResolvers<'died'>();
  ledger.faults.onHalt(() => died.resolve('died'));
  const worker = pool.mortal(portOf(ledger));
  for (let entry: QueueEntry | undefined = pool.entries[0]; entry !== undefined; entry = pool.entries[0]) {
    if ((await Promise.race([worker.hand(entry), died.promise])) === 'died') break;
    pool.entries.shift();
  }
  return ledger.faults.passed.filter((passed) => passed.startsWith('append:'));
}

async function sessionsOf({ pool: { store } }: World): Promise<readonly (readonly LedgerRecord[])[]> {
  return Promise.all((await store.sessions()).map(({ sessionId }) => store.read(sessionId)));
}

function endsIn(records: readonly LedgerRecord[]): readonly RecordData<'run.settled'>[] {
  return ofType(records, 'run.settled').flatMap(({ data }) => (data.status === 'paused' ? [] : data));
}

const LAST = { at: 'append', record: 'run.settled' } as const;

/** Works off a run of a lead alone, with faults at appends that tell what became of it. */
async function withFaults(agents: readonly AnyAgent[], faults: readonly Fault[]) {
  const world = await given(agents);
  const ledger = faultyLedger(world.pool.store, faults);
  const ends = await workOff(world, world.pool.worker({ acquire: ledger.acquire }));
  const records = await world.pool.store.read('s-1');
  expect(violationsOf({ records })).toEqual([]);
  const appends = ledger.faults.passed.flatMap((one) => (one.startsWith('append:') ? one.slice(7) : []));
  return { ...world, ends, records, appends };
}

describe('the end of a run on a worker', () => {
  it('is told in the append that closes its turn and gives its session up', async () => {
    const { run, pool, appends, records } = await withFaults(teamOf('alone'), []);
    expect(appends).toHaveLength(4);
    expect(appends.at(-1)).toBe(TOGETHER);
    expect(await pool.store.summary('s-1')).toMatchObject({ owned: false });
    const used = { inputTokens: 2, outputTokens: 1, totalTokens: 3 };
    expect(endsIn(records)).toEqual([
      {
        run: 'r-1',
        pool: 'memory',
        status: 'completed',
        stopReason: 'end-turn',
        usage: { total: used, byAgent: { lead: used }, reported: used },
        steps: 1,
        toolCalls: 0,
      },
    ]);
    expect(await run.result).toMatchObject({ status: 'completed', text: 'done', steps: 1 });
  });

  it('is told of a child in the same way, and its parent hears of it', async () => {
    const world = await given(teamOf('asks'));
    const appends = await workUntil(world, undefined);
    expect(appends.filter((one) => one.includes('turn.closed'))).toEqual(Array(2).fill(`append:${TOGETHER}`));
    expect(await world.run.result).toMatchObject({ status: 'completed', text: 'done', steps: 2 });
    const [lead = [], payer = []] = await sessionsOf(world);
    expect(ofType(payer, 'turn.closed')[0]?.data.stopReason).toBe('max-tokens');
    // Its session is taken once, and not once more for what is told of it.
    expect(new Set(payer.map(({ epoch }) => epoch)).size).toBe(1);
    expect(endsIn(payer)).toMatchObject([
      { run: 'r-1', status: 'completed', steps: 1, stopReason: 'end-turn' },
    ]);
    const finished = ofType(lead, 'child.finished')[0];
    expect(finished?.data).toMatchObject({ status: 'completed', headSeq: payer.length });
  });

  it('is told to whoever had it taken up as well', async () => {
    const isAnswered = (messages: readonly { readonly role: string }[]) =>
      messages.some(({ role }) => role === 'tool');
    const script: Script = ({ messages }) =>
      isAnswered(messages) ? reply().text('done') : reply().call('pay', {});
    const world = await given([paying(script, {}, true)]);
    const worker = world.pool.worker();
    await workOff(world, worker);
    const giver = world.pool.runtimeOf();
    const [request] = await giver.approvals.pending();
    const resumed = giver.resume('lead', 's-1');
    await giver.approvals.decide(request?.id ?? '', { decision: 'approve' });
    await turnOfLoop();
    await workOff(world, worker);
    expect(await resumed.result).toMatchObject({ status: 'completed', text: 'done', steps: 2, toolCalls: 1 });
    expect(await world.run.result).toMatchObject({ status: 'completed', text: 'done', steps: 2 });
    const records = await world.pool.store.read('s-1');
    expect(violationsOf({ records })).toEqual([]);
    expect(endsIn(records)).toMatchObject([
      { run: 'r-1', by: resumed.id, status: 'completed', steps: 2, toolCalls: 1 },
    ]);
    expect(records.slice(-2).map(({ type }) => type)).toEqual(['turn.closed', 'run.settled']);
  });

  it('is told where it was given, after the end of the turn it handed over to', async () => {
    const world = await given(teamOf('hands over'));
    const appends = await workUntil(world, undefined);
    expect(appends.filter((one) => one.includes('turn.closed'))).toEqual(Array(2).fill('append:turn.closed'));
    expect(await world.run.result).toMatchObject({ status: 'completed', text: 'paid', steps: 2 });
    const [lead = [], payer = []] = await sessionsOf(world);
    expect(endsIn(lead)).toMatchObject([{ status: 'completed', steps: 2, toolCalls: 1 }]);
    expect(endsIn(payer)).toEqual([]);
  });

  it('is told with why it failed', async () => {
    const lead = paying(() => reply().text('paid').call('pay', {}), { steps: 1 });
    const { appends, records, run } = await withFaults([lead], []);
    expect(appends.at(-1)).toContain(TOGETHER);
    const why = { status: 'failed', error: { kind: 'step-limit' }, text: 'paid' };
    expect(endsIn(records)).toMatchObject([{ ...why, steps: 1, toolCalls: 1 }]);
    expect(await run.result).toMatchObject(why);
  });

  it('is told by whoever finds it, where its failure is that of the store', async () => {
    const world = await given([paying(() => reply().call('pay', {}))]);
    const { store } = world.pool;
    let failures = 0;
    const ledger = faultyLedger(store, []);
    const worker = world.pool.worker({
      acquire: ledger.acquire,
      async read(session, fromSeq) {
        const records = await store.read(session, fromSeq);
        // The calls of the step are to be run, and nobody could read what became of them.
        if (records.at(-1)?.type !== 'step.closed' || failures > 0) return records;
        failures += 1;
        throw new SwarmError('ledger-unavailable', 'the store is away');
      },
    });
    expect((await workOff(world, worker)).map(({ type }) => type)).toEqual(['later', 'done']);
    const appends = ledger.faults.passed.filter((one) => one.includes('turn.closed') || one.includes('run.'));
    expect(appends.map((one) => one.split('+').at(-1))).toEqual(['append:turn.closed', 'append:run.settled']);
    expect(endsIn(await store.read('s-1'))).toMatchObject([
      { status: 'failed', error: { kind: 'ledger-unavailable' } },
    ]);
  });

  it('is told with why it was cancelled', async () => {
    const world = await given([agentOf('lead', () => reply().stall())]);
    const working = workOff(world, world.pool.worker());
    await expect
      .poll(async () => ofType(await world.pool.store.read('s-1'), 'attempt.started'))
      .toHaveLength(1);
    world.run.cancel('enough');
    expect(await world.run.result).toMatchObject({ status: 'cancelled', reason: 'enough' });
    await working;
    const records = await world.pool.store.read('s-1');
    expect(records.slice(-2).map(({ type, at }) => [type, at])).toEqual([
      ['turn.closed', records.at(-1)?.at],
      ['run.settled', records.at(-1)?.at],
    ]);
    expect(endsIn(records)).toMatchObject([{ status: 'cancelled', reason: 'enough' }]);
  });

  it('is told alone where both facts are too much for one append', async () => {
    const action = { type: 'reject', reason: 'limit' } as const;
    const { appends, records, ends, run } = await withFaults(teamOf('alone'), [{ ...LAST, action }]);
    expect(appends.slice(-3)).toEqual([TOGETHER, 'turn.closed', 'run.settled']);
    expect(ends).toEqual([{ type: 'done', how: 'worked' }]);
    expect(endsIn(records)).toMatchObject([{ run: 'r-1', status: 'completed', steps: 1 }]);
    expect(await run.result).toMatchObject({ status: 'completed', text: 'done' });
  });

  it.each(['conflict', 'fenced'] as const)(
    'is left to others where its append is refused: %s',
    async (reason) => {
      const action = { type: 'reject', reason } as const;
      const { appends, records, ends, run } = await withFaults(teamOf('alone'), [{ ...LAST, action }]);
      expect(ends).toEqual([{ type: 'later' }, { type: 'done', how: 'worked' }]);
      expect(appends.slice(-3)).toEqual([TOGETHER, 'turn.resumed', TOGETHER]);
      expect(endsIn(records)).toHaveLength(1);
      expect(await run.result).toMatchObject({ status: 'completed', text: 'done' });
    },
  );

  it.each(['before', 'after'] as const)('is told once where nobody knows of its append: %s', async (when) => {
    const { records, ends, run } = await withFaults(teamOf('alone'), [
      { ...LAST, when, action: { type: 'indeterminate' } },
    ]);
    const how = when === 'before' ? 'worked' : 'repeated';
    expect(ends).toEqual([{ type: 'later' }, { type: 'done', how }]);
    expect(endsIn(records)).toHaveLength(1);
    expect(await run.result).toMatchObject({ status: 'completed', text: 'done' });
  });

  it('is seen to by effects while its session is held', async () => {
    const owned: (boolean | undefined)[] = [];
    const hooks: Hooks = {
      async afterTurn() {
        owned.push((await world.pool.store.summary('s-1'))?.owned);
      },
    };
    const world = await given([agentOf('lead', () => PAID, { hooks })]);
    const appends = await workUntil(world, undefined);
    expect(appends.slice(-2)).toEqual([`append:${TOGETHER}`, 'append:effect.done']);
    expect(owned).toEqual([true]);
    expect(await world.pool.store.summary('s-1')).toMatchObject({ owned: false });
  });

  it('waits for the effects of earlier facts before it gives its session up', async () => {
    const world = await given([agentOf('lead', () => PAID, { hooks: { afterStep: () => turnOfLoop() } })]);
    const appends = await workUntil(world, undefined);
    expect(appends.slice(-2)).toEqual(['append:effect.done', `append:${TOGETHER}`]);
  });

  it('leaves the session with whoever waits for it in the same process', async () => {
    const gate = createGate();
    const lead = agentOf('lead', () => reply().wait(gate).text('done'));
    const { store } = await memoryPool([]);
    const ledger = faultyLedger({ ...portOf(store), close: () => Promise.resolve() }, []);
    await using runtime = createRuntime({ ledger, agents: { lead } });
    const recorded = workOf(runtime)?.run({ run: 'r-1', session: 's-1', target: 'lead', input: 'Go.' });
    await gate.reached;
    const next = runtime.run(lead, 'Again.', { sessionId: 's-1' });
    await turnOfLoop();
    gate.open();
    expect(await recorded).toMatchObject({ type: 'told', result: { status: 'completed' } });
    expect(await next.result).toMatchObject({ status: 'completed' });
    expect(ledger.faults.passed.filter((one) => one.startsWith('append:turn.closed'))).toEqual([
      `append:${TOGETHER}`,
      'append:turn.closed',
    ]);
    expect(ledger.faults.passed.filter((one) => one === 'acquire')).toHaveLength(1);
  });

  it('hands a run back that comes while its append is on its way, which is run when it comes again', async () => {
    const world = await given(teamOf('alone'));
    const second = entryOf({ run: 'r-2', session: 's-1', target: 'lead', input: 'Go.' });
    const handed = Promise.withResolvers<EntryEnd>();
    const run = () => void handed.resolve(worker.hand(second));
    const ledger = faultyLedger(world.pool.store, [
      { ...LAST, when: 'after', action: { type: 'call', run } },
    ]);
    const worker = world.pool.worker({ acquire: ledger.acquire });
    await workOff(world, worker);
    expect((await handed.promise).type).toBe('later');
    expect(await worker.hand(second)).toEqual({ type: 'done', how: 'worked' });
    const told = endsIn(await world.pool.store.read('s-1'));
    expect(told.map((one) => one.run)).toEqual(['r-1', 'r-2']);
  });

  it('is told to nobody where nobody in another process waits', async () => {
    const { store } = await memoryPool([]);
    await using runtime = createRuntime({ ledger: { ...portOf(store), close: () => Promise.resolve() } });
    const ended = await runtime.run(
      agentOf('lead', () => PAID),
      'Go.',
      { sessionId: 's-1' },
    ).result;
    expect(ended.status).toBe('completed');
    expect((await store.read('s-1')).at(-1)?.type).toBe('turn.closed');
  });

  it.each(['alone', 'asks', 'hands over'] as const)(
    'is told once, wherever its worker dies: %s',
    async (how) => {
      const undisturbed = await given(teamOf(how));
      const appends = (await workUntil(undisturbed, undefined)).length;
      const expected = await undisturbed.run.result;
      for (let skip = 0; skip < appends; skip += 1) {
        for (const when of ['before', 'after'] as const) {
          const at = `${when} append ${skip}`;
          const world = await given(teamOf(how));
          await workUntil(world, { at: 'append', skip, when, action: { type: 'halt' } });
          const heir = world.pool.worker();
          await workOff(world, heir);
          const { status, steps, toolCalls, ...told } = await world.run.result;
          expect({ status, steps, toolCalls }, at).toEqual({
            status: expected.status,
            steps: expected.steps,
            toolCalls: expected.toolCalls,
          });
          expect('text' in told && 'text' in expected && told.text === expected.text, at).toBe(true);
          for (const records of await sessionsOf(world)) {
            expect(violationsOf({ records }), at).toEqual([]);
            expect(ofType(records, 'turn.closed'), at).toHaveLength(1);
            const isTold = how !== 'hands over' || records[0]?.session === 's-1';
            expect(endsIn(records), at).toHaveLength(isTold ? 1 : 0);
          }
          expect(await world.pool.store.listOpen(), at).toEqual([]);
        }
      }
    },
  );
});
