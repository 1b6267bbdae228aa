import { z } from 'zod';
import type { AgentDefinition } from '../../src/agent/define-agent.ts';
import type { RunResult } from '../../src/agent/run-result.ts';
import type { RunSettings } from '../../src/agent/start-run.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { LedgerRecord } from '../../src/ledger/records.ts';
import { createRuntime } from '../../src/runtime.ts';
import type { Script } from '../../src/testing/script.ts';
import type { ScriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { portOf } from './edited-ledger.ts';
import { openLedger } from './ledgers.ts';
import { scriptedAgent } from './scripted-agents.ts';

/** Asks a person before it runs: a script that calls it pauses there. */
export const guarded = defineTool({
  name: 'guarded',
  description: 'Does what must be allowed.',
  inputSchema: z.object({}),
  needsApproval: true,
  execute: () => 'allowed',
});

export interface PausedRun {
  readonly model: ScriptedModel;
  readonly result: RunResult<string>;
  readonly records: readonly LedgerRecord[];
}

/**
 * One turn over two runtimes: the first leaves it where a call waits for a person, who approves; the second takes it
 * to its end, knowing nothing but the ledger and the definition.
 */
export async function playOverRestart(
  script: Script,
  agent: Partial<AgentDefinition<unknown>>,
  run: RunSettings = {},
): Promise<PausedRun> {
  const { model, agent: definition } = scriptedAgent(script, agent);
  const ledger = await openLedger('memory');
  const first = createRuntime({ ledger: keptOpen(ledger) });
  const left = first.run(definition, 'Go.', { ...run, onApproval: 'pause' });
  await left.result;
  await first.close();
  await using second = createRuntime({ ledger });
  for (const { id } of await second.approvals.pending({ sessionId: left.sessionId })) {
    await second.approvals.decide(id, { decision: 'approve' });
  }
  const result = await second.resume(definition, left.sessionId).result;
  const records = await ledger.read(left.sessionId);
  model.assertPlayedOut();
  return { model, result, records };
}

/** The store outlives the runtime that closes it. */
function keptOpen(ledger: Ledger): Ledger {
  const close = async () => undefined;
  return { ...portOf(ledger), close, [Symbol.asyncDispose]: close };
}
