import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createGate } from '../../src/testing/gate.ts';
import { failure, reply } from '../../src/testing/reply.ts';
import {
  adds,
  factsOf,
  factsSeen,
  item,
  promptOf,
  resultsIn,
  runtimeOf,
  stops,
  team,
  yields,
} from './team.ts';

describe('works', () => {
  it('run at the same time, each in a session of its own', async () => {
    const all = createGate();
    const { swarm, worker } = team({
      lead: [adds(item('A'), item('B'), item('C')), yields(), reply().text('Done.')],
      worker: (task) => reply().wait(all).text(task),
    });
    const { runtime, ledger } = runtimeOf(swarm);
    const run = runtime.run(swarm, 'Go.');
    await worker.arrived(2);
    all.open();
    expect(await run.result).toMatchObject({ status: 'completed' });
    const sessions = (await runtime.sessions.list()).filter(({ parentId }) => parentId === run.sessionId);
    expect(sessions.map(({ agent }) => agent)).toEqual(['worker', 'worker', 'worker']);
    const openings = (await factsOf(ledger, 'session.opened')).map(({ data }) => data);
    expect(openings.slice(1)).toMatchObject(Array(3).fill({ agentPath: ['lead', 'worker'], depth: 1 }));
    for (const { messages } of worker.requests) expect(messages).toHaveLength(1);
  });

  it('GS-08 wait for results they are given, and get them', async () => {
    const { swarm, worker } = team({
      lead: [
        adds(item('A'), item('B')),
        adds(item('C', { input_ids: ['w1.1.0.1', 'w1.1.0.2'] })),
        yields(),
        reply().text('Done.'),
      ],
      worker: (task) => reply().text(`<b>${task}</b>`),
    });
    const { runtime } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed' });
    const prompt = promptOf(worker.requests[2] ?? { messages: [] });
    expect(prompt.split('\n')[0]).toBe('C');
    expect(prompt).toContain('\\u003cb\\u003eA\\u003c/b\\u003e');
    expect(prompt).toContain('"work_id":"w1.1.0.2"');
  });

  it('GS-08 are begun at most so many in one pass', async () => {
    const gate = createGate();
    const { swarm, lead, worker } = team({
      lead: [
        adds(...Array.from({ length: 32 }, (_, at) => item(`${at}`))),
        adds(item('32')),
        yields(),
        reply().text('Done.'),
      ],
      worker: (task) => reply().wait(gate).text(task),
      limits: { fanOut: 64, activations: 31 },
    });
    const { runtime } = runtimeOf(swarm);
    const run = runtime.run(swarm, 'Go.');
    await lead.arrived(1);
    expect(resultsIn(lead, 1)[0]).toMatchObject({ graph: { counts: { running: 31, queued: 1 } } });
    expect(JSON.stringify(resultsIn(lead, 1)[0]).match(/activation-limit/g)).toHaveLength(1);
    gate.open();
    expect(await run.result).toMatchObject({ status: 'completed' });
    expect(worker.requests).toHaveLength(33);
  });

  it('TR-07 are at work at most `fanOut` at once, the next in order', async () => {
    const order: string[] = [];
    let now = 0;
    let most = 0;
    const { swarm } = team({
      lead: [adds(...Array.from({ length: 7 }, (_, at) => item(`${at}`))), yields(), reply().text('Done.')],
      worker: (task) => {
        order.push(task);
        now += 1;
        most = Math.max(most, now);
        return reply()
          .wait(async () => {
            await new Promise(setImmediate);
            now -= 1;
          })
          .text(task);
      },
      limits: { fanOut: 2 },
    });
    const { runtime } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed' });
    expect(most).toBe(2);
    expect(order).toEqual(['0', '1', '2', '3', '4', '5', '6']);
  });

  it('GS-11 after a join run once, with what failed among what they are given', async () => {
    const { swarm, worker } = team({
      lead: [
        adds(item('good'), item('bad')),
        adds(item('join', { input_ids: ['w1.1.0.1', 'w1.1.0.2'] })),
        yields(),
        yields(),
        reply().text('Done.'),
      ],
      worker: (task) => (task === 'bad' ? failure({ kind: 'invalid-request' }) : reply().text(task)),
    });
    const { runtime, ledger } = runtimeOf(swarm);
    await runtime.run(swarm, 'Go.').result;
    const joins = worker.requests.filter((request) => promptOf(request).startsWith('join'));
    expect(joins).toHaveLength(1);
    const prompt = promptOf(joins[0] ?? { messages: [] });
    expect(prompt).toContain('"status":"failed"');
    expect(prompt).toContain('"status":"completed"');
    const claims = (await factsOf(ledger, 'graph.claimed')).map(({ data }) => data.work);
    expect(new Set(claims).size).toBe(claims.length);
  });

  it('of a map follow each result of the operators it names', async () => {
    const { swarm, worker } = team({
      lead: [
        adds(item('A'), item('B')),
        adds(item('check', { input_ids: ['w1.1.0.1', 'o1.1.0.2'], join: 'map' })),
        yields(),
        reply().text('Done.'),
      ],
    });
    const { runtime } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed' });
    const checks = worker.requests.filter((request) => promptOf(request).startsWith('check'));
    expect(checks).toHaveLength(2);
    expect(checks.map((request) => /Did: (.)/.exec(promptOf(request))?.[1]).sort()).toEqual(['A', 'B']);
    // One operator: a map is one session.
    expect(await runtime.sessions.list()).toHaveLength(4);
  });

  it('whose output is no JSON hand it on as JSON', async () => {
    const { swarm } = team({
      lead: [adds(item('A')), yields(), reply().text('Done.')],
      worker: () => reply().call('submit_output', { n: 2 }),
      workerMore: { output: z.object({ n: z.number() }).transform(({ n }) => BigInt(n)) as never },
    });
    const { runtime, ledger } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(await factsOf(ledger, 'node.finished')).toMatchObject([
      { data: { status: 'completed', output: '2' } },
    ]);
  });

  it('GS-12 that fail stop nothing else, and stay failed', async () => {
    const { swarm, lead } = team({
      mode: 'graph',
      lead: [
        adds(item('bad'), item('good')),
        yields(),
        yields(),
        reply().call('view_agent_graph', {}).call('agent_output', { target_id: 'w1.1.0.1' }),
        reply().text('Done.'),
      ],
      worker: (task) =>
        task === 'bad'
          ? failure({ kind: 'invalid-request' })
          : reply()
              .wait(() => factsSeen(ledger, 'node.finished'))
              .text('good'),
    });
    const { runtime, ledger } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed' });
    const [view, output] = resultsIn(lead, 4);
    expect(view).toMatchObject({
      counts: { completed: 1, failed: 1 },
      ended_works: [
        { work_id: 'w1.1.0.2', status: 'completed' },
        { work_id: 'w1.1.0.1', status: 'failed', why: 'invalid-request' },
      ],
    });
    expect(output).toMatchObject({ status: 'failed', result: { text: expect.stringContaining('invalid') } });
  });

  it('GS-17 that are stopped end alone', async () => {
    const { swarm, worker } = team({
      lead: [adds(item('stuck'), item('good')), stops('o1.1.0.1'), yields(), reply().text('Done.')],
      worker: (task) => (task === 'stuck' ? reply().stall() : reply().text('good')),
    });
    const { runtime, ledger, misfits } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed' });
    const ends = (await factsOf(ledger, 'node.finished')).map(({ data }) => data);
    expect(ends.find(({ work }) => work === 'w1.1.0.1')).toMatchObject({ status: 'cancelled' });
    expect(ends.find(({ work }) => work === 'w1.1.0.2')).toMatchObject({ status: 'completed' });
    expect(worker.requests.find((request) => promptOf(request).startsWith('stuck'))?.aborted ?? true).toBe(
      true,
    );
    expect(misfits).toEqual([]);
  });

  it('with a result that is too large for a record hand on the beginning of all of it', async () => {
    const long = 'x'.repeat(100_000);
    const { swarm, lead, worker } = team({
      lead: [
        adds(item('A')),
        yields(),
        adds(item('B', { input_ids: ['w1.1.0.1'] })),
        yields(),
        reply().call('agent_output', { target_id: 'w1.1.0.1', max_bytes: 131_072 }),
        reply().text('Done.'),
      ],
      worker: (task) => reply().text(task === 'A' ? long : 'B'),
    });
    const { runtime, ledger } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed' });
    expect((await factsOf(ledger, 'node.finished'))[0]?.data.outputRef).toBeDefined();
    expect(promptOf(worker.requests[1] ?? { messages: [] })).toContain('"original_bytes":100000');
    expect(resultsIn(lead, 5)[0]).toMatchObject({ result: { text: long, result_id: 'w1.1.0.1' } });
  });
});

describe('the output of an operator', () => {
  it('is its result, what it did, or both, within bounds', async () => {
    const { swarm, lead } = team({
      lead: [
        adds(item('A')),
        yields(),
        reply()
          .call('agent_output', { target_id: 'o1.1.0.1', view: 'all' })
          .call('agent_output', { target_id: 'o1.1.0.1', view: 'events', max_events: 1 })
          .call('agent_output', { target_id: 'nothing' }),
        reply().text('Done.'),
      ],
    });
    const { runtime } = runtimeOf(swarm);
    await runtime.run(swarm, 'Go.').result;
    const [all, events, unknown] = resultsIn(lead, 3);
    expect(all).toMatchObject({
      work_id: 'w1.1.0.1',
      result: { text: 'Did: A', result_id: 'w1.1.0.1' },
      events: [
        { kind: 'message', text: 'Did: A' },
        { kind: 'terminal', status: 'completed' },
      ],
    });
    expect(events).toMatchObject({ events: [{ kind: 'terminal' }] });
    expect(unknown).toContain('unknown-target');
    expect(JSON.stringify([all, events])).not.toContain('s-');
  });
});

describe('large instructions', () => {
  it('stand in the ledger whole, and what is too large for it is a result', async () => {
    const long = (of: string) => `${of}\n${'x'.repeat(59_000)}`;
    const { swarm, lead, worker } = team({
      lead: [
        adds(item(long('A')), item(long('B')), item(long('C'))),
        adds(...Array.from({ length: 32 }, (_, at) => item(long(`${at}`)))),
        yields(),
        reply().text('Done.'),
      ],
    });
    const { runtime, ledger } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(worker.requests).toHaveLength(3);
    expect(promptOf(worker.requests[0] ?? { messages: [] })).toContain(long('A'));
    expect(resultsIn(lead, 2)[0]).toMatch(/update_agent_graph|limit|large|bytes/);
    expect(await factsOf(ledger, 'graph.updated')).toHaveLength(1);
  });
});
