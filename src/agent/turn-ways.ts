import type { ChildFacts } from '../ledger/turn-facts.ts';
import type { BoundTool } from '../tools/binding.ts';
import type { TurnScope } from '../turn/turn-scope.ts';
import type { TurnRequest } from './run-turn-job.ts';
import type { OpenSession, SessionParts } from './session-parts.ts';
import type { TurnOutcome } from './turn-outcome.ts';

/** How turns lead to turns of other sessions. A turn that runs children runs turns: this is where the circle closes. */
export interface TurnWays {
  /** Makes the next turn of a run and gives it to its session, at once. Never throws. */
  followHandoff(
    request: TurnRequest,
    outcome: Extract<TurnOutcome, { readonly type: 'handed-off' }>,
    session: OpenSession,
  ): void;
  /** The session in which the last run of a session goes on that it handed over, while it is open. */
  openBeyond(parts: SessionParts, request: TurnRequest): Promise<string | undefined>;
  /** The tools by which a turn reaches other agents. */
  toolsOf(turn: DelegatingTurn): readonly BoundTool[];
}

/** A turn that may reach other agents. */
export interface DelegatingTurn {
  readonly request: TurnRequest;
  readonly session: OpenSession;
  /** The scope of the turn, once there is one. */
  scope(): TurnScope;
  readonly before: TurnBefore;
}

/** What a turn was opened with and what it had asked for, where it is taken up. */
export interface TurnBefore {
  /** Names of its tools. Absent for a new turn. */
  readonly bound?: readonly string[] | undefined;
  /** By session; what the turn asks for itself is added. */
  readonly children: Map<string, ChildFacts>;
}
