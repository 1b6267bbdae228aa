import type { LedgerRecord, NewRecord } from '../ledger/records.ts';
import type { TurnFacts } from '../ledger/turn-facts.ts';
import type { StopSignal } from '../turn/stop-signal.ts';
import type { RunScope, TurnScope } from '../turn/turn-scope.ts';
import type { RunResult } from './run-result.ts';
import type { OpenSession } from './session-parts.ts';
import type { TreeTally } from './tally-tree.ts';
import type { LastOutcome } from './turn-outcome.ts';

/** The part of a run that one worker has at a time. */
export interface WorkUnit {
  /** The session it began in, whose ledger knows all of it. */
  readonly session: string;
  /** The run that asked for it to be taken up: children that wait are taken up with it. */
  readonly resumedBy?: string | undefined;
  /**
   * Makes the last facts of a turn durable by which the run comes to `result`, and with them what is told of the run.
   * @throws SwarmError as `log.commit`
   */
  commitEnd(session: OpenSession, batch: readonly NewRecord[], result: RunResult<unknown>): Promise<void>;
}

/** Whom a turn is run for: a run at its root, or the call of a parent that asked a child. */
export interface TurnOwner {
  readonly scope: RunScope;
  /** The turn under way. */
  readonly turn?: TurnScope | undefined;
  /** Settles when there is no more to come. */
  readonly result: Promise<unknown>;
  /** Aborts at a stop that comes before the turn is open. */
  readonly stopped: AbortSignal;
  /** Set where the run of the turn is a worker's: it ends as paused where others have what is left of it. */
  readonly unit?: WorkUnit | undefined;
  /** The work is taken up. False where nobody wants it any more; nothing of it is then opened. */
  begin(): boolean;
  /**
   * The run is taken up with the turn that began it: what it used before counts. Absent where the budget is that of
   * somebody above.
   */
  readonly takeUp?: ((turn: TurnFacts, before: TreeTally) => void) | undefined;
  /** The turn is open from here on. */
  attach(turn: TurnScope): void;
  /** A graph is open from here on: it can be stopped, and takes no text. */
  attachGraph?(stop: StopSignal): void;
  /** The turn ended and another agent takes over; whoever stops or steers waits for its turn. */
  handedOff(
    to: { readonly session?: string },
    counted: { readonly steps: number; readonly toolCalls: number },
  ): void;
  /** There is no more to come. */
  ended(outcome: LastOutcome): void;
  /** Sees every record of the session while the turn is at work. */
  watch?(record: LedgerRecord): void;
  /** Calls of the turn, or of turns below it, wait for a person from now on, or none does any more. */
  waiting?(isWaiting: boolean): void;
}
