import { expect } from 'vitest';
import type { AgentDefinition } from '../../src/agent/define-agent.ts';
import type { RunResult } from '../../src/agent/run-result.ts';
import type { RuntimeOptions } from '../../src/agent/runtime-options.ts';
import type { RunOptions } from '../../src/agent/start-run.ts';
import type { LedgerRecord } from '../../src/ledger/records.ts';
import type { Script } from '../../src/testing/script.ts';
import type { ScriptedModel } from '../../src/testing/scripted-model.ts';
import { violationsOf } from '../invariants/session.ts';
import { type LedgerKind, openLedger } from './ledgers.ts';
import { scriptedAgent } from './scripted-agents.ts';
import { watchedRuntime } from './watched-runtime.ts';

export interface PlayOptions {
  readonly agent?: Partial<AgentDefinition<unknown>>;
  readonly runtime?: Omit<RuntimeOptions, 'inspect' | 'ledger'>;
  readonly run?: RunOptions;
}

export interface PlayedTurn {
  readonly model: ScriptedModel;
  readonly result: RunResult<string>;
  readonly records: readonly LedgerRecord[];
}

/** One turn from input to end, with a script that is played out and all invariants kept. */
export async function playTurn(
  kind: LedgerKind,
  script: Script,
  options: PlayOptions = {},
): Promise<PlayedTurn> {
  const { model, agent } = scriptedAgent(script, options.agent);
  const ledger = await openLedger(kind, options.runtime?.clock);
  const { runtime, misfits } = watchedRuntime({ ...options.runtime, ledger });
  const run = runtime.run(agent, 'Go.', options.run ?? {});
  const result = await run.result;
  const records = await ledger.read(run.sessionId);
  model.assertPlayedOut();
  expect(violationsOf({ records })).toEqual([]);
  expect(misfits).toEqual([]);
  return { model, result, records };
}
