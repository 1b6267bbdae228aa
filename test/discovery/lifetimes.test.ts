import { describe, expect, it } from 'vitest';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import type { Inspector } from '../../src/lifecycle/inspector.ts';
import { createRuntime } from '../../src/runtime.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';
import { createGate } from '../../src/testing/gate.ts';
import { failure, reply } from '../../src/testing/reply.ts';
import type { Script } from '../../src/testing/script.ts';
import { crashedRun } from '../recovery/fixtures/crashed-run.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { lastResults } from '../support/requests.ts';
import { eventSeen, ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import {
  activationsOf,
  deferredTool,
  deferredTools,
  searching,
  toldBy,
  toolsOf,
} from '../support/search-turns.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const done = reply().text('Done.');
const tools = deferredTools('paint_fence', 'wash_car');
const SESSION = 's-lifetimes';

/** A runtime and an agent whose turns search; all in one session. */
function start(script: Script, agent: Parameters<typeof scriptedAgent>[1] = {}) {
  const made = scriptedAgent(script, { tools, ...agent });
  const watched = watchedRuntime();
  const run = (options: object = {}) =>
    watched.runtime.run(made.agent, 'Go.', { sessionId: SESSION, ...options });
  return { ...made, ...watched, run };
}

describe('the next turn', () => {
  it('TS-09 starts without what a completed one had found', async () => {
    const { model, run, ledger } = start([searching('fence'), done, done]);
    await run().result;
    await run().result;
    expect(toolsOf(model)).toEqual([['tool_search'], ['tool_search', 'paint_fence'], ['tool_search']]);
    const records = await ledger.read(SESSION);
    expect(ofType(records, 'tools.cleared').map(({ data }) => data.names)).toEqual([['paint_fence']]);
  });

  it('TS-09 starts without what a failed one had found', async () => {
    const { model, run } = start([searching('fence'), failure({ kind: 'auth' }), done]);
    expect((await run().result).status).toBe('failed');
    await run().result;
    expect(toolsOf(model).at(-1)).toEqual(['tool_search']);
  });

  it('TS-09 starts without what a cancelled one had found', async () => {
    const { model, run } = start([searching('fence'), reply().text('I ').stall(), done]);
    const first = run();
    await model.arrived(1);
    first.cancel();
    expect((await first.result).status).toBe('cancelled');
    await run().result;
    expect(toolsOf(model).at(-1)).toEqual(['tool_search']);
  });

  it('TS-09 starts after one that a gate never let open', async () => {
    let refuses = true;
    const hooks = { beforeTurn: () => (refuses ? { refuse: 'closed' } : undefined) };
    const { model, run, runtime } = start([searching('fence'), done], { hooks });
    expect((await run().result).status).toBe('failed');
    refuses = false;
    expect((await run().result).status).toBe('completed');
    expect(toolsOf(model)).toEqual([['tool_search'], ['tool_search', 'paint_fence']]);
    expect(await runtime.recover()).toEqual([]);
  });

  it.each([
    ['completed', [searching('fence'), done]],
    ['failed', [searching('fence'), failure({ kind: 'auth' })]],
  ] as const)('TS-09 leaves no scope of a %s one behind', async (status, script) => {
    const live: string[][] = [];
    let kinds: () => string[] = () => [];
    const inspect: Inspector = {
      observe: () => void live.push(kinds()),
      attach: (instances) => {
        kinds = () => instances().map(({ kind }) => kind);
      },
    };
    await using runtime = createRuntime({ inspect });
    const { agent } = scriptedAgent(script, { tools });
    expect((await runtime.run(agent, 'Go.').result).status).toBe(status);
    expect(live.flat()).toContain('turn');
    expect(kinds().filter((kind) => kind !== 'agent')).toEqual([]);
  });

  it('TS-12 takes nothing from calls of earlier ways to load tools in its history', async () => {
    const old = ['load_tool', 'load_tools', 'connect_tool_source'].reduce(
      (answer, name) => answer.call(name, { name: 'paint_fence', group: 'other', tools: ['paint_fence'] }),
      reply(),
    );
    const { model, run, ledger } = start([old, done, reply().call('paint_fence', {}), done]);
    await run().result;
    await run().result;
    expect(model.requests[2]?.messages.flatMap(({ calls }) => calls.map(({ name }) => name))).toContain(
      'load_tools',
    );
    expect(toolsOf(model)[2]).toEqual(['tool_search']);
    const refused = ofType(await ledger.read(SESSION), 'tool.refused').map(({ data }) => data.code);
    expect(refused.at(-1)).toBe('not-active');
  });

  it('TS-12 takes nothing from a search in its history', async () => {
    const { run, ledger } = start([searching('fence'), done, reply().call('paint_fence', {}), done]);
    await run().result;
    await run().result;
    const refused = ofType(await ledger.read(SESSION), 'tool.refused').map(({ data }) => data.code);
    expect(refused).toEqual(['not-active']);
  });
});

describe('turns at the same time', () => {
  it('TS-22 have their own sets, and the end of one leaves the other alone', async () => {
    const gate = createGate();
    const script: Script = ({ messages, ordinal }) => {
      const [first] = messages;
      const isFence = first?.text === 'fence';
      if (messages.length === 1) return searching(isFence ? 'fence' : 'car');
      const results = messages.filter(({ role }) => role === 'tool').length;
      if (isFence && results === 1) return reply().wait(gate).call('paint_fence', {});
      return reply().text(`Done ${ordinal}.`);
    };
    const { model, agent, runtime } = { ...scriptedAgent(script, { tools }), ...watchedRuntime() };
    const fence = runtime.run(agent, 'fence');
    await eventSeen(fence, 'discovery.activated');
    const car = runtime.run(agent, 'car');
    expect((await car.result).status).toBe('completed');
    gate.open();
    expect((await fence.result).status).toBe('completed');
    const seen = model.requests.map(({ request, messages }) => [
      messages[0]?.text,
      request.tools.map((tool) => tool.name).slice(1),
    ]);
    expect(seen.filter(([input]) => input === 'fence').map(([, names]) => names)).toEqual([
      [],
      ['paint_fence'],
      ['paint_fence'],
    ]);
    expect(seen.filter(([input]) => input === 'car').map(([, names]) => names)).toEqual([[], ['wash_car']]);
  });

  it('TS-26 a search that settles when its turn is over changes no newer one', async () => {
    const started = Promise.withResolvers<void>();
    const late = Promise.withResolvers<readonly string[]>();
    const reranker = {
      rank: (_: string, candidates: readonly { readonly name: string }[]) => {
        started.resolve();
        return candidates.length > 1 ? late.promise : Promise.resolve([]);
      },
    };
    const agent = {
      tools: deferredTools('paint_fence', 'paint_door'),
      discovery: { reranker, rerankTimeoutMs: 3_600_000 },
      limits: { tools: { graceMs: 0 } },
    };
    const { model, run, ledger } = start([searching('paint'), done, done], agent);
    const first = run();
    await started.promise;
    first.cancel();
    expect((await first.result).status).toBe('cancelled');
    const second = run();
    late.resolve(['paint_door', 'paint_fence']);
    expect((await second.result).status).toBe('completed');
    expect(toolsOf(model)).toEqual([['tool_search'], ['tool_search']]);
    expect(activationsOf(await ledger.read(SESSION))).toEqual([]);
  });

  it('TS-21 a search that is stopped activates nothing', async () => {
    const started = Promise.withResolvers<void>();
    const ranker = () => ({
      rank: () => {
        started.resolve();
        return ['paint_fence', 'wash_car'].map((name) => ({ name, score: 1, exact: false }));
      },
    });
    const hooks = { beforeActivation: () => new Promise<undefined>(() => undefined) };
    const { run, ledger } = start([searching('all')], { discovery: { ranker }, hooks });
    const first = run();
    await started.promise;
    first.cancel();
    await first.result;
    const records = await ledger.read(SESSION);
    expect(activationsOf(records)).toEqual([]);
    expect(ofType(records, 'tool.settled').map(({ data }) => data.status)).not.toContain('success');
  });
});

describe('an activation and its fact', () => {
  it('is neither without the other: a commit that fails activates nothing', async () => {
    const { model, agent } = scriptedAgent([searching('fence'), done], { tools });
    const ledger = faultyLedger(memoryLedger(), [
      { at: 'append', record: 'tools.activated', action: { type: 'reject', reason: 'conflict' } },
    ]);
    const { runtime } = watchedRuntime({ ledger });
    const result = await runtime.run(agent, 'Go.').result;
    expect(result.status).toBe('failed');
    expect(toolsOf(model)).toEqual([['tool_search']]);
  });
});

describe.each(LEDGER_KINDS)('a turn taken up by another process (%s)', (kind) => {
  const painting = { tools: [deferredTool('paint_fence'), deferredTool('wash_car')] };

  it('TS-09 has what it found itself, and nothing of an earlier turn', async () => {
    const { ledger, agent, model, restart } = await crashedRun({
      ledger: await openLedger(kind),
      script: [
        searching('fence'),
        reply().text('Never.'),
        reply().call('paint_fence', {}),
        done,
        searching('car'),
        done,
      ],
      crash: { record: 'assistant.message', when: 'before', skip: 1 },
      agent: painting,
    });
    const { runtime, misfits } = restart();
    expect((await runtime.resume(agent, 'kept').result).status).toBe('completed');
    const active = ['tool_search', 'paint_fence'];
    expect(toolsOf(model)).toEqual([['tool_search'], active, active, active]);
    await runtime.run(agent, 'Again.', { sessionId: 'kept' }).result;
    expect(toolsOf(model).slice(4)).toEqual([['tool_search'], ['tool_search', 'wash_car']]);
    expect(ofType(await ledger.read('kept'), 'tool.refused')).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('an interrupted search is answered as such and may be made again', async () => {
    const { agent, model, restart } = await crashedRun({
      ledger: await openLedger(kind),
      script: [searching('fence'), searching('fence'), done],
      crash: { record: 'tool.dispatched', when: 'after' },
      agent: painting,
    });
    const { runtime } = restart();
    expect((await runtime.resume(agent, 'kept').result).status).toBe('completed');
    expect(lastResults(model, 1)[0]).toContain('was interrupted');
    expect(toldBy(lastResults(model, 2)[0]).activated).toEqual(['paint_fence']);
    expect(toolsOf(model)).toEqual([['tool_search'], ['tool_search'], ['tool_search', 'paint_fence']]);
  });

  it('TS-07 judges the calls of its open step by the tools that step began with', async () => {
    const { ledger, agent, restart } = await crashedRun({
      ledger: await openLedger(kind),
      script: [searching('fence').call('paint_fence', {}), done],
      crash: { record: 'tool.called', when: 'after' },
      agent: painting,
    });
    const { runtime } = restart();
    expect((await runtime.resume(agent, 'kept').result).status).toBe('completed');
    const records = await ledger.read('kept');
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['not-active']);
    expect(activationsOf(records)).toEqual([['paint_fence']]);
  });
});
