import { describe, expect, it } from 'vitest';
import type { OrchestrationInput } from '../../src/graph/orchestration-tools.ts';
import { Schedule } from '../../src/graph/schedule.ts';
import { readUpdateCall } from '../../src/graph/schedule-call.ts';
import { reply } from '../../src/testing/reply.ts';
import { FactLog, operator, work } from '../graph/fact-log.ts';
import { adds, factsOf, finishes, item, itemFor, resultsIn, runtimeOf, stops, team, yields } from './team.ts';

type Update = OrchestrationInput['update_agent_graph'];

const basis = (schedule: Schedule, callId = 's-graph.1.2.0') => ({
  callId,
  schedule,
  presets: new Set(['worker']),
});

const one: Update = {
  operation: 'add_work',
  add_work: [{ target: { type: 'new_agent', id: 'worker' }, instruction: 'Do it.' }],
};

function requestOf(input: Update, schedule: Schedule, callId?: string) {
  const call = readUpdateCall(input, basis(schedule, callId));
  if (call.type === 'wrong') throw new Error(call.message);
  return call.request;
}

describe('an update of a graph', () => {
  it('GS-07 is the same for the same call, and another one for another call', () => {
    const log = new FactLog();
    log.update(requestOf(one, log.schedule));
    expect(log.schedule.propose(requestOf(one, log.schedule))).toMatchObject({
      type: 'repeated',
      revision: 1,
    });
    const second = log.schedule.propose(requestOf(one, log.schedule, 's-graph.1.3.0'));
    expect(second).toMatchObject({ type: 'new', data: { revision: 2 } });
  });

  it('GS-07 with the identity of another one and other content is refused', () => {
    const log = new FactLog();
    log.update(requestOf(one, log.schedule));
    const other: Update = { ...one, add_work: [{ ...one.add_work?.[0], instruction: 'Else.' } as never] };
    expect(log.schedule.propose(requestOf(other, log.schedule))).toMatchObject({
      type: 'rejected',
      code: 'identity-reused',
    });
  });

  it('GS-22 that names an agent, work or operator nobody knows changes nothing', () => {
    const log = new FactLog();
    log.update({ update: 'a', operators: [operator('a')], works: [work('a')] });
    const withTarget = (type: 'new_agent' | 'existing_operator', id: string): Update => ({
      operation: 'add_work',
      add_work: [{ target: { type, id }, instruction: 'x' }],
    });
    expect(readUpdateCall(withTarget('new_agent', 'nobody'), basis(log.schedule))).toMatchObject({
      type: 'wrong',
      code: 'unknown-agent',
    });
    expect(
      log.schedule.propose(requestOf(withTarget('existing_operator', 'nobody'), log.schedule)),
    ).toMatchObject({ type: 'rejected', code: 'unknown-operator' });
    const withInput = { ...one, add_work: [{ ...one.add_work?.[0], input_ids: ['nothing'] } as never] };
    expect(log.schedule.propose(requestOf(withInput, log.schedule))).toMatchObject({
      type: 'rejected',
      code: 'unknown-work',
    });
  });

  it('uses the payload of its operation alone', () => {
    const schedule = new Schedule('s-graph');
    const mixed: Update = { ...one, stop: [{ target_id: 'x', reason: 'y' }] };
    expect(requestOf(mixed, schedule)).not.toHaveProperty('stops');
    const call = readUpdateCall({ operation: 'stop' }, basis(schedule));
    expect(call).toMatchObject({ type: 'wrong', code: 'missing-payload' });
  });

  it('GS-10 ignores an unknown target of a stop, and never takes one for everything', () => {
    const log = new FactLog();
    log.update({ update: 'a', operators: [operator('a')], works: [work('a')] });
    const stop = ['a', '*', 'nothing'].map((target_id) => ({ target_id, reason: 'x' }));
    const call = readUpdateCall({ operation: 'stop', stop }, basis(log.schedule));
    expect(call).toMatchObject({
      request: { stops: [{ target: 'a' }, { target: 'nothing' }] },
      stopped: [
        { target_id: 'a', outcome: 'stopping' },
        { target_id: '*', outcome: 'ignored_unknown' },
        { target_id: 'nothing', outcome: 'ignored_unknown' },
      ],
    });
  });

  it('makes one operator for a map, whose works come with the results', () => {
    const log = new FactLog();
    log.scheduleAll(['a', 'b']);
    const map: Update = {
      operation: 'add_work',
      add_work: [
        {
          target: { type: 'new_agent', id: 'worker' },
          instruction: 'Check it.',
          input_ids: ['a', 'b'],
          join: 'map',
        },
      ],
    };
    log.update(requestOf(map, log.schedule));
    log.run('b');
    log.run('a', 'failed');
    const made = [...log.schedule.works.values()].filter(({ work: id }) => id.includes('<'));
    expect(made.map(({ spec }) => spec)).toMatchObject([{ instruction: 'Check it.', inputs: ['b'] }]);
  });
});

describe('a graph that is finished', () => {
  it('GS-07 takes no further update, and its run ends with the answer', async () => {
    const { swarm, lead } = team({
      lead: [
        adds(item('A')),
        yields(),
        finishes('w1.1.0.1'),
        adds(item('B')),
        yields(),
        reply().text('The result is A.'),
      ],
    });
    const { runtime, ledger, misfits } = runtimeOf(swarm);
    const result = await runtime.run(swarm, 'Go.').result;
    expect(result).toMatchObject({ status: 'completed', text: 'The result is A.', steps: 6 });
    expect(resultsIn(lead, 4)[0]).toContain('graph-finished');
    expect(resultsIn(lead, 5)[0]).toContain('graph-finished');
    expect(await factsOf(ledger, 'graph.finished')).toMatchObject([{ data: { status: 'completed' } }]);
    expect(misfits).toEqual([]);
  });

  it('GS-07 is finished with committed results only', async () => {
    const { swarm, lead } = team({
      lead: [finishes('w9.9.9.9'), adds(item('A')), yields(), finishes('w1.2.0.1'), reply().text('Done.')],
    });
    const { runtime } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed' });
    expect(resultsIn(lead, 1)[0]).toContain('unknown-result');
  });

  it('is followed by a fresh one in the next run of the session', async () => {
    const { swarm, lead, worker } = team({
      lead: [
        adds(item('A')),
        yields(),
        finishes('w1.1.0.1'),
        reply().text('First.'),
        adds(item('B')),
        yields(),
        reply().text('Second.'),
      ],
    });
    const { runtime } = runtimeOf(swarm);
    const { sessionId } = runtime.run(swarm, 'Go.');
    const next = await runtime.run(swarm, 'Go on.', { sessionId }).result;
    expect(next).toMatchObject({ status: 'completed', text: 'Second.' });
    expect(resultsIn(lead, 5)[0]).toMatchObject({ graph: { counts: { running: 1 } } });
    expect(worker.requests).toHaveLength(2);
  });
});

describe('an operator', () => {
  it('GS-21 does one work at a time in the order they came, and remembers', async () => {
    let atOnce = 0;
    const order: string[] = [];
    const { swarm, worker } = team({
      lead: [
        adds(item('A')),
        adds(itemFor('o1.1.0.1', 'B'), itemFor('o1.1.0.1', 'C')),
        yields(),
        reply().text('Done.'),
      ],
      worker: (task) => {
        atOnce += 1;
        order.push(`${task} ${atOnce}`);
        return reply()
          .wait(async () => {
            await Promise.resolve();
            atOnce -= 1;
          })
          .text(`Did ${task}.`);
      },
    });
    const { runtime } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(order).toEqual(['A 1', 'B 1', 'C 1']);
    expect(worker.requests.map(({ messages }) => messages.length)).toEqual([1, 3, 5]);
    expect(await runtime.sessions.list()).toHaveLength(2);
  });

  it('GS-21 whose work failed goes on with the next', async () => {
    const { swarm } = team({
      mode: 'graph',
      lead: [adds(item('bad')), adds(itemFor('o1.1.0.1', 'good')), yields(), yields(), reply().text('Done.')],
      worker: (task) =>
        task === 'bad' ? reply().error({ kind: 'invalid-request' }) : reply().text(`Did ${task}.`),
    });
    const { runtime, ledger } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed' });
    const ends = (await factsOf(ledger, 'node.finished')).map(({ data }) => data.status);
    expect(ends).toEqual(['failed', 'completed']);
  });

  it('GS-10 that is stopped before it runs is cancelled, and never entered', async () => {
    const { swarm, lead, worker } = team({
      lead: [
        adds(item('A', { input_ids: [] }), item('B')),
        adds(item('C', { input_ids: ['w1.1.0.2'] })),
        stops('w1.2.0.1', 'nobody'),
        yields(),
        reply().text('Done.'),
      ],
    });
    const { runtime, ledger } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed' });
    expect(resultsIn(lead, 3)[0]).toMatchObject({
      stopped: [{ target_id: 'w1.2.0.1' }, { target_id: 'nobody', outcome: 'ignored_unknown' }],
    });
    const entered = (await factsOf(ledger, 'node.started')).map(({ data }) => data.work);
    const ran = worker.requests.map((request) => request.messages[0]?.text.split('\n')[0]);
    expect(entered.length).toBe(ran.length);
  });
});

describe('what a supervisor is shown', () => {
  it('GS-22 of ids it made up is bounded', async () => {
    const long = 'x'.repeat(500_000);
    const { swarm, lead } = team({
      lead: [
        adds({ ...item('A'), target: { type: 'new_agent', id: long } }),
        adds(itemFor(long, 'A')),
        adds(item('A', { input_ids: [long] })),
        finishes(long),
        reply().text('Done.'),
      ],
    });
    const { runtime } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed' });
    for (const ordinal of [1, 2, 3, 4]) {
      const [refusal] = resultsIn(lead, ordinal);
      expect(refusal).toMatch(/\[unknown-[a-z]+\]$/);
      expect(String(refusal).length).toBeLessThan(2_100);
    }
  });

  it('of many works with long instructions is bounded, and without unseen characters', async () => {
    const long = item(`\u202E\u0001${'x'.repeat(3_000)}`);
    const shown = Promise.withResolvers<string>();
    const { swarm } = team({
      mode: 'graph',
      lead: ({ messages }) => {
        const said = messages.filter(({ role }) => role === 'assistant').length;
        if (said < 3) return adds(...Array.from({ length: 32 }, () => long));
        if (said === 3) return reply().call('view_agent_graph', {});
        shown.resolve(messages.at(-1)?.text ?? '');
        return reply().text('Done.');
      },
      worker: () => reply().stall(),
    });
    const { runtime } = runtimeOf(swarm);
    const run = runtime.run(swarm, 'Go.');
    const view = await shown.promise;
    run.cancel('enough');
    await run.result;
    expect(JSON.parse(view)).toMatchObject({ omitted: { open_works: 32 } });
    expect(Buffer.byteLength(view)).toBeLessThan(50 * 1_024);
    expect(view).not.toMatch(/\u202E|\\u0001/);
  });
});
