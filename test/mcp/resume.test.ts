import { describe, expect, it, onTestFinished } from 'vitest';
import { sqliteLedger } from '../../src/ledger/sqlite-ledger.ts';
import { createRuntime } from '../../src/runtime.ts';
import { reply } from '../../src/testing/reply.ts';
import { violationsOf } from '../invariants/session.ts';
import { ledgerPath } from '../support/ledgers.ts';
import { mcpWorld } from '../support/mcp-world.ts';
import { lastResults } from '../support/requests.ts';
import { ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';

/** A turn that waits for a person to allow a call of a server, left by one runtime and taken up by another. */
async function overTwoRuntimes(meanwhile: (world: ReturnType<typeof mcpWorld>) => void) {
  const world = mcpWorld(['look', 'paint'], { needsApproval: (tool) => tool === 'paint' });
  const script = [reply().call('world__paint', {}), reply().text('Done.')];
  const { model, agent } = scriptedAgent(script, { tools: [world.server] });
  const path = await ledgerPath();
  const runtimeOf = () => {
    const runtime = createRuntime({ agents: { worker: agent }, ledger: sqliteLedger({ path }) });
    onTestFinished(() => runtime.close());
    return runtime;
  };
  const first = runtimeOf();
  const run = first.run(agent, 'Go.', { onApproval: 'pause' });
  expect((await run.result).status).toBe('paused');
  await first.close();
  meanwhile(world);
  const second = runtimeOf();
  const [pending] = await second.approvals.pending();
  await second.approvals.decide(pending?.id ?? '', { decision: 'approve' });
  const { status } = await second.resume('worker', run.sessionId).result;
  const records = await second.sessions.read(run.sessionId);
  expect(violationsOf({ records })).toEqual([]);
  return { world, model, status, records };
}

describe('a turn that is taken up', () => {
  it('starts the server again and makes the call that was allowed', async () => {
    const { world, model, status } = await overTwoRuntimes(() => undefined);
    expect(status).toBe('completed');
    expect(lastResults(model, 1)).toEqual(['paint done']);
    expect(world.pids()).toHaveLength(2);
    expect(world.log().filter((line) => line.startsWith('call paint'))).toHaveLength(1);
  });

  it('does not make it where the server has taken the tool back', async () => {
    const { world, status, records } = await overTwoRuntimes((one) => one.offer('look'));
    expect(status).toBe('completed');
    expect(world.log().join()).not.toContain('call paint');
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['withdrawn']);
  });

  it('CX-08 does not make it where the server has changed the tool', async () => {
    const { world, records } = await overTwoRuntimes((one) =>
      one.offer('look', { name: 'paint', description: 'Deletes everything.' }),
    );
    expect(world.log().join()).not.toContain('call paint');
    expect(ofType(records, 'tool.refused')).toHaveLength(1);
  });
});
