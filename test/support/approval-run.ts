import { expect } from 'vitest';
import type { AgentDefinition } from '../../src/agent/define-agent.ts';
import type { Run } from '../../src/agent/run.ts';
import type { RuntimeOptions } from '../../src/agent/runtime-options.ts';
import type { RunOptions } from '../../src/agent/start-run.ts';
import type { Script } from '../../src/testing/script.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { violationsOf } from '../invariants/session.ts';
import { type LedgerKind, openLedger } from './ledgers.ts';
import { eventSeen } from './run-events.ts';
import { scriptedAgent } from './scripted-agents.ts';
import { createToolSpy, type ToolSpy } from './tool-spy.ts';
import { watchedRuntime } from './watched-runtime.ts';

export interface ApprovalRunOptions {
  /** Default: `look`, and `del` and `wipe`, which ask. */
  readonly tools?: (spy: ToolSpy) => readonly Tool<unknown>[];
  readonly agent?: Partial<AgentDefinition<unknown>>;
  readonly runtime?: Omit<RuntimeOptions, 'inspect' | 'ledger'>;
  readonly run?: RunOptions;
}

const askingTools = (spy: ToolSpy): readonly Tool<unknown>[] => [
  spy.tool('look'),
  spy.tool('del', undefined, { needsApproval: true }),
  spy.tool('wipe', undefined, { needsApproval: true }),
];

/** A run that asks a person, with all that looks at it. */
export async function startApprovalRun(kind: LedgerKind, script: Script, options: ApprovalRunOptions = {}) {
  const spy = createToolSpy();
  const { model, agent } = scriptedAgent(script, {
    tools: (options.tools ?? askingTools)(spy),
    ...options.agent,
  });
  const watched = watchedRuntime({
    agents: { [agent.name]: agent },
    ...options.runtime,
    ledger: await openLedger(kind, options.runtime?.clock),
  });
  const run = watched.runtime.run(agent, 'Go.', options.run ?? {});
  /** The result, with everything in order; a resumed run has its own result. */
  const finish = async (of: Run = run) => {
    const result = await of.result;
    const records = await watched.ledger.read(run.sessionId);
    expect(violationsOf({ records })).toEqual([]);
    expect(watched.misfits).toEqual([]);
    return { result, records };
  };
  return { ...watched, spy, model, agent, run, finish };
}

/** Ids of the first requests of a run, as they come. */
export async function requestsOf(run: Run<unknown>, count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let nth = 1; nth <= count; nth += 1) {
    ids.push((await eventSeen(run, 'approval.requested', nth)).data.request);
  }
  return ids;
}

/** The id of the first request of a run. */
export async function requestOf(run: Run<unknown>): Promise<string> {
  return (await eventSeen(run, 'approval.requested')).data.request;
}
