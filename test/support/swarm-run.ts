import { onTestFinished } from 'vitest';
import type { AnyAgent } from '../../src/agent/define-agent.ts';
import type { RuntimeOptions } from '../../src/agent/runtime-options.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { LedgerRecord, RecordOf, RecordType } from '../../src/ledger/records.ts';
import { createRuntime, type Runtime } from '../../src/runtime.ts';
import { type LedgerKind, openLedger } from './ledgers.ts';

/** A runtime with what it wrote, closed with the test. */
export interface SwarmPlay {
  readonly runtime: Runtime;
  readonly ledger: Ledger;
  /** Every record of the ledger, session by session in the order they were opened. */
  records(): Promise<readonly LedgerRecord[]>;
  /** Records of one type, of all sessions. */
  recordsOf<T extends RecordType>(type: T): Promise<readonly RecordOf<T>[]>;
}

/** A runtime on a fresh ledger. */
export async function playSwarm(
  kind: LedgerKind = 'memory',
  options: Omit<RuntimeOptions, 'ledger' | 'agents'> & { readonly agents?: readonly AnyAgent[] } = {},
): Promise<SwarmPlay> {
  return swarmOn(await openLedger(kind), options);
}

/** A runtime on a ledger that another one may have written to. */
export function swarmOn(
  ledger: Ledger,
  options: Omit<RuntimeOptions, 'ledger' | 'agents'> & { readonly agents?: readonly AnyAgent[] } = {},
): SwarmPlay {
  const { agents = [], ...rest } = options;
  const named = Object.fromEntries(agents.map((agent) => [agent.name, agent]));
  const runtime = createRuntime({ ...rest, ledger, agents: named });
  onTestFinished(() => runtime.close());
  const records = async () => {
    const sessions = await ledger.sessions();
    return (await Promise.all(sessions.map(({ sessionId }) => ledger.read(sessionId)))).flat();
  };
  return {
    runtime,
    ledger,
    records,
    async recordsOf<T extends RecordType>(type: T) {
      const all = await records();
      return all.filter((record): record is RecordOf<T> => record.type === type);
    },
  };
}
