import { describe, expect, it } from 'vitest';
import { createGate } from '../../src/testing/gate.ts';
import { failure, reply } from '../../src/testing/reply.ts';
import { adds, factsOf, factsSeen, item, resultsIn, runtimeOf, stops, team, wakeIn, yields } from './team.ts';

const opened = async (ledger: Parameters<typeof factsOf>[0]) =>
  (await factsOf(ledger, 'turn.opened')).filter(({ agent }) => agent === 'team');

describe('a yield', () => {
  it('GS-14 alone ends the turn without a further request', async () => {
    const gate = createGate();
    const { swarm, lead } = team({
      lead: [adds(item('A')), yields(), reply().text('Done.')],
      worker: () => reply().wait(gate).text('A.'),
    });
    const { runtime, ledger, transitions, misfits } = runtimeOf(swarm);
    const run = runtime.run(swarm, 'Go.');
    await gate.reached;
    for await (const event of run.events()) if (event.type === 'turn.closed') break;
    expect(lead.requests).toHaveLength(2);
    gate.open();
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Done.', stopReason: 'end-turn' });
    const closed = (await factsOf(ledger, 'turn.closed')).filter(({ agent }) => agent === 'team');
    expect(closed.map(({ data }) => [data.status, data.stopReason])).toEqual([
      ['yielded', 'graph-yield'],
      ['completed', 'end-turn'],
    ]);
    const states = transitions.filter(({ kind, id }) => kind === 'agent' && id === run.sessionId);
    expect(states.map(({ event, to }) => `${event} ${to}`)).toEqual(
      expect.arrayContaining(['TURN_YIELDED waiting', 'WAKE running', 'TURN_DONE idle']),
    );
    expect(transitions.some(({ kind, to }) => kind === 'turn' && to === 'yielded')).toBe(true);
    expect(misfits).toEqual([]);
  });

  it.each([
    ['before', yields().call('agent_swarm_status', {}), 0],
    ['after', reply().call('agent_swarm_status', {}).call('yield_agent_graph', { reason: 'x' }), 1],
  ] as const)('GS-14 %s a sibling is not honoured, and the turn goes on', async (_, step, at) => {
    const gate = createGate();
    const { swarm, lead } = team({
      lead: [adds(item('A')), step, yields(), reply().text('Done.')],
      worker: () => reply().wait(gate).text('A.'),
    });
    const { runtime, ledger } = runtimeOf(swarm);
    const run = runtime.run(swarm, 'Go.');
    await lead.arrived(2);
    gate.open();
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(resultsIn(lead, 2)[at]).toMatch(/only call of/);
    expect(await opened(ledger)).toHaveLength(2);
  });

  it('GS-15 is refused where the graph is finished or empty', async () => {
    const { swarm, lead } = team({ lead: [yields(), reply().text('Done.')] });
    const { runtime } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(resultsIn(lead, 1)[0]).toContain('nothing-pending');
  });

  it('GS-15 is refused where nothing under way can ever wake', async () => {
    const { swarm, lead } = team({
      lead: [adds(item('A')), yields(), reply().text('Nothing moves.')],
      limits: { activations: 0 },
    });
    const { runtime } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed' });
    expect(resultsIn(lead, 2)[0]).toContain('no-checkpoint');
    expect(resultsIn(lead, 1)[0]).toMatchObject({
      graph: { open_works: [{ status: 'queued', why: 'activation-limit' }] },
    });
  });

  it('GS-15 loses no news that came before it, not even the last', async () => {
    const { swarm, lead } = team({
      lead: [
        adds(item('A')),
        // The work ends while the answer with the yield is on its way.
        reply()
          .wait(() => factsSeen(ledger, 'node.finished'))
          .call('yield_agent_graph', { reason: 'x' }),
        reply().text('Heard.'),
      ],
    });
    const { runtime, ledger } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed', text: 'Heard.' });
    expect(wakeIn(lead, 2)).toMatchObject({ news: [{ work_id: 'w1.1.0.1', result: 'Did: A' }] });
  });
});

describe('a supervisor', () => {
  it('GS-16 in graph mode is woken by each work that ends', async () => {
    const gates = [createGate(), createGate(), createGate()] as const;
    const { swarm, lead } = team({
      mode: 'graph',
      lead: [adds(item('0'), item('1'), item('2')), yields(), yields(), yields(), reply().text('Done.')],
      worker: (task) =>
        reply()
          .wait(gates[Number(task) as 0 | 1 | 2])
          .text(`R${task}`),
    });
    const { runtime, ledger, misfits } = runtimeOf(swarm);
    const run = runtime.run(swarm, 'Go.');
    for (const [at, gate] of gates.entries()) {
      await gate.reached;
      if (at > 0) await lead.requests[at + 1]?.ended;
      gate.open();
      await lead.arrived(at + 2);
    }
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect([2, 3, 4].map((at) => wakeIn(lead, at))).toMatchObject([
      { status: 'running', news: [{ result: 'R0' }] },
      { status: 'running', news: [{ result: 'R1' }] },
      { status: 'settled', news: [{ result: 'R2' }] },
    ]);
    const wakes = (await opened(ledger)).flatMap(({ data }) => data.wake ?? []);
    expect(wakes.map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
    expect(new Set(wakes.map(({ version }) => version)).size).toBe(3);
    expect(misfits).toEqual([]);
  });

  it('GS-16 in swarm mode is woken once, when all is settled', async () => {
    const { swarm, lead } = team({
      lead: [adds(item('0'), item('1'), item('2')), yields(), reply().text('Done.')],
    });
    const { runtime, ledger } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(wakeIn(lead, 2)).toMatchObject({ status: 'settled', counts: { completed: 3 } });
    expect(await opened(ledger)).toHaveLength(2);
  });

  it('GS-12 GS-16 in swarm mode is woken early by a failure, and decides', async () => {
    const gate = createGate();
    const { swarm, lead } = team({
      lead: [
        adds(item('bad'), item('slow')),
        yields(),
        adds(item('again', { replaces: 'w1.1.0.1' })),
        yields(),
        reply().text('Done.'),
      ],
      worker: (task) => {
        if (task === 'bad') return failure({ kind: 'invalid-request', message: 'no such model' });
        return task === 'slow' ? reply().wait(gate).text('slow') : reply().text(task);
      },
    });
    const { runtime } = runtimeOf(swarm);
    const run = runtime.run(swarm, 'Go.');
    await lead.arrived(3);
    gate.open();
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(wakeIn(lead, 2)).toMatchObject({
      status: 'needs_attention',
      news: [{ work_id: 'w1.1.0.1', status: 'failed', result: expect.stringContaining('invalid-request') }],
    });
    expect(wakeIn(lead, 4)).toMatchObject({ status: 'settled', counts: { failed: 1, completed: 2 } });
  });

  it('GS-16 hears of one state at most three times, and only of a turn that ended well', async () => {
    const { swarm, lead } = team({
      lead: [
        adds(item('A')),
        yields(),
        failure({ kind: 'invalid-request' }),
        failure({ kind: 'invalid-request' }),
        reply().text('At last.'),
      ],
    });
    const { runtime, ledger } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed', text: 'At last.' });
    const wakes = (await opened(ledger)).flatMap(({ data }) => data.wake ?? []);
    expect(wakes.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(new Set(wakes.map(({ version }) => version)).size).toBe(1);
    for (const at of [2, 3, 4]) expect(wakeIn(lead, at)).toMatchObject({ news: [{ work_id: 'w1.1.0.1' }] });
  });

  it('GS-16 whose third wake fails ends the run with that failure', async () => {
    const bad = failure({ kind: 'invalid-request', message: 'broken' });
    const { swarm, lead } = team({ lead: [adds(item('A')), yields(), bad, bad, bad] });
    const { runtime, misfits } = runtimeOf(swarm);
    const result = await runtime.run(swarm, 'Go.').result;
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'invalid-request' } });
    lead.assertPlayedOut();
    expect(misfits).toEqual([]);
  });

  it('whose wake is too long for its model is not told again, and leaves a partial result', async () => {
    const { swarm, lead } = team({
      lead: [adds(item('A'), item('B')), yields(), failure({ kind: 'context-overflow' })],
      leadMore: { compaction: false },
    });
    const { runtime, misfits } = runtimeOf(swarm);
    const result = await runtime.run(swarm, 'Go.').result;
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'context-overflow' } });
    const detail = result.status === 'failed' ? (result.error.detail ?? '') : '';
    expect(JSON.parse(detail)).toMatchObject({
      works: [{ status: 'completed' }, { status: 'completed' }],
      results: expect.arrayContaining(['w1.1.0.1', 'w1.1.0.2']),
      omitted: 0,
    });
    lead.assertPlayedOut();
    expect(misfits).toEqual([]);
  });

  it('that answers while works go on is woken by what becomes of them', async () => {
    const gate = createGate();
    const { swarm, lead } = team({
      lead: [adds(item('A')), reply().text('Started.'), reply().text('And it is done.')],
      worker: () => reply().wait(gate).text('A.'),
    });
    const { runtime, misfits } = runtimeOf(swarm);
    const run = runtime.run(swarm, 'Go.');
    await gate.reached;
    await lead.requests[1]?.ended;
    gate.open();
    expect(await run.result).toMatchObject({ status: 'completed', text: 'And it is done.' });
    expect(wakeIn(lead, 2)).toMatchObject({ status: 'settled' });
    expect(misfits).toEqual([]);
  });

  it('is not told of what it stopped itself, but woken for the end it waits for', async () => {
    const { swarm, lead } = team({
      mode: 'graph',
      lead: [adds(item('A')), stops('w1.1.0.1'), yields(), reply().text('Done.')],
      worker: () => reply().stall(),
    });
    const { runtime } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(lead.requests.length).toBeLessThanOrEqual(4);
  });
});
