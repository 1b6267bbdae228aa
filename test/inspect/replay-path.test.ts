import type { TransitionRecord } from 'swarmwright';
import { createRuntime } from 'swarmwright';
import { reply } from 'swarmwright/testing';
import { expect, it } from 'vitest';
import { replayPath } from '../../src/inspect/replay-path.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { askingTool } from './tools.ts';

/** A run with a refused, an approved and a parked call, and all transitions it took. */
async function played() {
  const script = [reply().call('nothing', {}).call('remove', { path: 'a' }), reply().text('Done.')];
  const { agent } = scriptedAgent(script, { tools: [askingTool('remove', [])] });
  const moves: TransitionRecord[] = [];
  await using runtime = createRuntime({ inspect: { observe: (record) => void moves.push(record) } });
  const run = runtime.run(agent, 'Go.');
  for await (const event of run.events()) {
    if (event.type !== 'approval.requested') continue;
    await runtime.approvals.decide(event.data.request, { decision: 'approve' });
  }
  await run.result;
  return { moves, records: await runtime.sessions.read(run.sessionId), session: run.sessionId };
}

it('IN-10 ends where every machine of the run ended', async () => {
  const { moves, records, session } = await played();
  const ends = new Map(moves.map(({ id, to }) => [id, to]));
  const ids = [...ends.keys()].filter((id) => id !== session);
  expect(ids).toHaveLength(5);
  for (const id of ids) expect([id, replayPath(id, records).at(-1)?.to]).toEqual([id, ends.get(id)]);
  expect(replayPath(session, records).map(({ to }) => to)).toEqual(['idle', 'running', 'idle']);
});

it('IN-07 is the path up to the moment that is asked for', async () => {
  const { records, session } = await played();
  const call = `${session}.1.1.1`;
  const requested = records.findIndex(({ type }) => type === 'permission.requested');
  const before = replayPath(call, records.slice(0, requested)).at(-1)?.to;
  const after = replayPath(call, records.slice(0, requested + 1)).at(-1)?.to;
  expect([before, after]).toEqual(['received', 'awaitingPermission']);
});

it('is empty for an instance that the facts do not know', async () => {
  const { records, session } = await played();
  for (const id of [`${session}.9`, `${session}.1.9`, `${session}.1.1.9`]) {
    expect(replayPath(id, records)).toEqual([]);
  }
  expect(replayPath('s-none', [])).toEqual([]);
});
