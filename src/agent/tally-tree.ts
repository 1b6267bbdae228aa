import type { Ledger } from '../ledger/ledger.ts';
import { foldSession, type TurnFacts } from '../ledger/turn-facts.ts';
import { type RecordedUsage, tallyTurn } from '../turn/usage-tally.ts';

/** What a turn and everything it caused used, read from the facts of all sessions below it. */
export interface TreeTally {
  readonly steps: number;
  readonly toolCalls: number;
  /** Sessions, the first included; one that was wanted counts before it is open. */
  readonly agents: number;
  readonly handoffs: number;
  readonly reports: readonly (RecordedUsage & { readonly agent: string })[];
}

/**
 * Reads each session once: what is counted twice of a session that is at work, as used and as left of a share, is
 * counted at one moment.
 */
export function readOnce(ledger: Pick<Ledger, 'read'>): Pick<Ledger, 'read'> {
  const known = new Map<string, ReturnType<Ledger['read']>>();
  return {
    read(session) {
      const records = known.get(session) ?? ledger.read(session);
      known.set(session, records);
      return records;
    },
  };
}

type Sums = { -readonly [K in Exclude<keyof TreeTally, 'reports'>]: number } & {
  reports: (RecordedUsage & { readonly agent: string })[];
};

/**
 * Counts turns of one session and of the sessions they asked for or handed over to. Cost: one read of each session.
 * @throws SwarmError of the ledger
 */
export async function tallyTree(
  ledger: Pick<Ledger, 'read'>,
  agent: string,
  turns: readonly TurnFacts[],
): Promise<TreeTally> {
  const sums: Sums = { steps: 0, toolCalls: 0, agents: 1, handoffs: 0, reports: [] };
  const seen = new Set<string>();
  const queue: string[] = [];
  const add = (name: string, turn: TurnFacts) => {
    const { steps, toolCalls, reports } = tallyTurn(turn);
    sums.steps += steps;
    sums.toolCalls += toolCalls;
    sums.reports.push(...reports.map((report) => ({ ...report, agent: name })));
    if (turn.handoff !== undefined) sums.handoffs += 1;
    queue.push(...turn.children.keys());
    if (turn.handoff !== undefined) queue.push(turn.handoff.data.child);
  };
  for (const turn of turns) add(agent, turn);
  for (let session = queue.shift(); session !== undefined; session = queue.shift()) {
    if (seen.has(session)) continue;
    seen.add(session);
    sums.agents += 1;
    const records = await ledger.read(session);
    // Operators of a swarm outlive the turns of its supervisor: what they were claimed for stands outside of turns.
    for (const { type, data, turn } of records) {
      if (type === 'graph.claimed' && turn === undefined && data.child !== undefined) queue.push(data.child);
    }
    for (const turn of foldSession(records).turns) add(records[0]?.agent ?? '', turn);
  }
  return sums;
}
