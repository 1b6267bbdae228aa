import { describe, expect, it } from 'vitest';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { adds, factsOf, factsSeen, item, runtimeOf, team, yields } from './team.ts';

const PAUSED = { status: 'paused', reason: 'requested', approvals: [], calls: [] };

describe('a swarm that is asked to pause', () => {
  it('pauses in the turn of its supervisor once its works have settled, and goes on', async () => {
    const gate = createGate();
    const { swarm, worker } = team({
      lead: [
        adds(item('A')),
        reply().wait(gate).call('nothing', {}),
        reply().call('nothing', {}),
        reply().text('It works.'),
        // Woken once more by the work that settled meanwhile.
        reply().text('Done.'),
      ],
      worker: (task) => reply().text(task),
    });
    const { runtime, ledger, misfits } = runtimeOf(swarm);
    const run = runtime.run(swarm, 'Go.');
    await gate.reached;
    await runtime.sessions.pause(run.sessionId);
    gate.open();
    expect(await run.result).toMatchObject({ ...PAUSED, steps: 2 });
    expect(await factsOf(ledger, 'node.finished')).toHaveLength(1);
    expect(await ledger.listOpen()).toMatchObject([{ sessionId: run.sessionId, owned: false }]);
    const next = await runtime.resume(swarm, run.sessionId).result;
    expect(next).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(worker.requests).toHaveLength(1);
    expect(misfits).toEqual([]);
  });

  it('GS-16 between two turns pauses after the first step of the next, which is told its news once', async () => {
    const gate = createGate();
    const { swarm } = team({
      lead: [adds(item('A')), yields(), reply().call('nothing', {}), reply().text('Done.')],
      worker: () => reply().wait(gate).text('A.'),
    });
    const { runtime, ledger, misfits } = runtimeOf(swarm);
    const run = runtime.run(swarm, 'Go.');
    await gate.reached;
    await factsSeen(ledger, 'turn.closed', 1, 'team');
    run.pause();
    gate.open();
    expect(await run.result).toMatchObject({ ...PAUSED, steps: 3 });
    const next = await runtime.resume(swarm, run.sessionId).result;
    expect(next).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(misfits).toEqual([]);
  });
});
