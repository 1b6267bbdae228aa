import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

/** A lead with a child that needs approval and hands over, and one that waits at a gate. */
function family() {
  const gate = createGate();
  const spy = createToolSpy();
  const expert = scriptedAgent([reply().text('42.')], { name: 'expert' });
  const asks = scriptedAgent(
    [reply().call('del', { id: 'a' }), reply().call('transfer_to_expert', { message: 'x' })],
    { name: 'asks', tools: [spy.tool('del', undefined, { needsApproval: true })] },
  );
  const child = defineAgent({ ...asks.agent.definition, handoffs: [expert.agent] });
  const held = scriptedAgent([reply().wait(gate).text('Here.')], { name: 'held' });
  const lead = scriptedAgent(
    [reply().call('ask_asks', { task: 'x' }).call('ask_held', { task: 'x' }), reply().text('Done.')],
    { name: 'lead', agents: [child, held.agent] },
  );
  return { lead: lead.agent, gate };
}

describe('machines of a run with children', () => {
  it.each(['wait', 'pause'] as const)(
    'move by the rules where a person is asked (%s)',
    async (onApproval) => {
      const { lead, gate } = family();
      const { runtime, misfits } = watchedRuntime({ ledger: memoryLedger() });
      gate.open();
      let run = runtime.run(lead, 'Go.', { onApproval });
      const decided = (async () => {
        for await (const event of run.events({ tree: true })) {
          if (event.type !== 'approval.requested') continue;
          if (onApproval === 'pause') await run.result;
          await runtime.approvals.decide(event.data.request, { decision: 'approve' });
        }
      })();
      let result = await run.result;
      await decided;
      if (result.status === 'paused') {
        run = runtime.resume(lead, run.sessionId);
        result = await run.result;
      }
      expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
      expect(misfits).toEqual([]);
      await runtime.close();
    },
  );

  it('move by the rules where the run is stopped', async () => {
    const { lead, gate } = family();
    const { runtime, misfits } = watchedRuntime({ ledger: memoryLedger() });
    const run = runtime.run(lead, 'Go.');
    await gate.reached;
    run.cancel();
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    expect(misfits).toEqual([]);
    await runtime.close();
  });
});
