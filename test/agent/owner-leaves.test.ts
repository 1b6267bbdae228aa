import { describe, expect, it } from 'vitest';
import { sqliteLedger } from '../../src/ledger/sqlite-ledger.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { reply } from '../../src/testing/reply.ts';
import { ledgerPath } from '../support/ledgers.ts';
import { ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

/** A paused run, and its session in the hands of a process that is about to leave. */
async function pausedAndHeld() {
  const path = await ledgerPath();
  const { agent } = scriptedAgent([reply().call('ask', { id: 'a' }), reply().text('Done.')], {
    tools: [createToolSpy().tool('ask', undefined, { needsApproval: true })],
  });
  const first = watchedRuntime({ ledger: await sqliteLedger({ path }) });
  await first.runtime.run(agent, 'Go.', { sessionId: 'paused', onApproval: 'pause' }).result;
  await first.runtime.close();
  const holder = await sqliteLedger({ path });
  const writer = await holder.acquire({ session: 'paused', root: 'paused', agent: 'worker' });
  const clock = fakeClock();
  const { runtime, ledger } = watchedRuntime({ clock, ledger: await sqliteLedger({ path }) });
  return { agent, clock, runtime, ledger, writer, holder };
}

describe('an owner that leaves before it answers', () => {
  it('does not keep a decision waiting: it is recorded by whoever made it', async () => {
    const { agent, clock, runtime, ledger, writer, holder } = await pausedAndHeld();
    const [request] = await runtime.approvals.pending();
    const deciding = runtime.approvals.decide(request?.id ?? '', { decision: 'approve' });
    await clock.whenPending(2);
    await writer.release();
    await clock.advance(1_000);
    await deciding;
    expect(ofType(await ledger.read('paused'), 'permission.decided')).toHaveLength(1);
    expect(await runtime.resume(agent, 'paused').result).toMatchObject({ status: 'completed' });
    expect(clock.pending).toBe(0);
    await holder.close();
  });

  it('that stays and says nothing is an error after its time', async () => {
    const { clock, runtime, writer, holder } = await pausedAndHeld();
    const [request] = await runtime.approvals.pending();
    const deciding = runtime.approvals.decide(request?.id ?? '', { decision: 'approve' });
    const failed = expect(deciding).rejects.toMatchObject({ code: 'ledger-unavailable' });
    await clock.whenPending(2);
    await clock.advance(10_000);
    await failed;
    expect(clock.pending).toBe(0);
    await writer.release();
    await holder.close();
  });
});
