import type { AnyAgent } from '../../src/agent/define-agent.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { StoppedSession } from '../recovery/fixtures/kill-process.ts';
import { killedAgent } from '../recovery/fixtures/killed-run.ts';
import { openOutsideLog } from '../recovery/fixtures/outside-log.ts';
import type { SessionStops } from '../recovery/fixtures/stop-sessions.ts';

/** What a worker works on, and where it is stopped. */
export interface WorkerOrder {
  readonly url: string;
  readonly leaseMs: number;
  readonly sessions: readonly StoppedSession[];
  /** Whether the sessions are stopped where they are to be. */
  readonly isStopped: boolean;
}

/** The agent that a session is given to. */
export const agentOf = (session: string) => `agent-${session}`;

/** The agents of an order, one for each session, as every process defines them. */
export function agentsOfOrder(
  { sessions }: WorkerOrder,
  ledger: Ledger,
  stops?: SessionStops,
): Readonly<Record<string, AnyAgent>> {
  const agents = sessions.map(({ session, plan, logPath }) =>
    killedAgent(plan, {
      name: agentOf(session),
      session,
      ledger,
      log: openOutsideLog(logPath),
      pass: async () => stops?.pass(session),
      onTool: (toolName, when) => stops?.onTool(session, toolName, when),
    }),
  );
  return Object.fromEntries(agents.map((agent) => [agent.name, agent]));
}
