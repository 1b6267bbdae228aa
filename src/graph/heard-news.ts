import type { TurnOutcome } from '../agent/turn-outcome.ts';
import type { Failure } from '../ledger/records.ts';
import type { TurnFacts } from '../ledger/turn-facts.ts';
import { BUDGET_FAILURE } from '../turn/run-budget.ts';
import type { SwarmMode } from './define-swarm.ts';
import type { OperatorDriver } from './operator-driver.ts';
import { seenIn, wakeHistory } from './supervisor-wake.ts';
import { isWakeDue, type Unseen } from './swarm-status.ts';

/** Failures of a conversation that is too long, and cannot be made shorter. */
const TOO_LONG: ReadonlySet<string> = new Set(['context-overflow', 'context-budget-exhausted']);

const FINAL: ReadonlySet<string> = new Set([...Object.values(BUDGET_FAILURE), ...TOO_LONG]);

/** Whether a supervisor failed because its conversation grew too long for its model. */
export function isTooLong({ kind }: Failure): boolean {
  return TOO_LONG.has(kind);
}

/** Failures that a further turn would only repeat: a bound of the run is used up. */
export function isFinal({ kind }: Failure): boolean {
  return FINAL.has(kind);
}

/** What a supervisor has heard of its graph: for certain, by turns that ended well, and in the turn under way. */
export class HeardNews {
  /** Turns in a row that were to tell it and failed. */
  failedWakes: number;
  /** The last turn gave way: it counts on being woken. */
  hasYielded = false;
  /** The last turn was opened to tell it. */
  isWaking: boolean;
  #seen: number;
  #seenInTurn = 0;
  #blockings = 0;

  constructor(turns: readonly TurnFacts[]) {
    const { seen, failedWakes } = wakeHistory(turns);
    const last = turns.at(-1);
    this.#seen = seen;
    this.failedWakes = failedWakes;
    this.isWaking = last?.opened.data.wake !== undefined;
    // A turn that is taken up again was shown what an earlier process showed it.
    if (last !== undefined && last.closed === undefined) this.#seenInTurn = seenIn(last);
  }

  /** The turn under way was shown the graph as it was at this place of the session. */
  see(position: number): void {
    this.#seenInTurn = Math.max(this.#seenInTurn, position);
  }

  /** A turn begins because of a person. */
  beginTurn(): void {
    this.failedWakes = 0;
    this.isWaking = false;
    this.#seenInTurn = 0;
  }

  /** A turn begins that tells of everything up to a place of the session. */
  beginWake(position: number, blockings: number): void {
    this.isWaking = true;
    this.#seenInTurn = position;
    this.#blockings = blockings;
  }

  /** News for certain, whatever the turn under way was shown. */
  unseen(driver: OperatorDriver): Unseen {
    return { settled: driver.live.settledAfter(this.#seen), blocked: this.#blocked(driver) };
  }

  /** Whether works settled that not even the turn under way was shown. */
  hasNews({ live }: OperatorDriver): boolean {
    return live.settledAfter(Math.max(this.#seen, this.#seenInTurn)).length > 0;
  }

  isWakeDue(mode: SwarmMode, driver: OperatorDriver): boolean {
    return isWakeDue(mode, driver.schedule, this.unseen(driver), this.hasYielded);
  }

  /** A turn ended well: what it was shown is heard. */
  noteGood(outcome: Extract<TurnOutcome, { readonly type: 'completed' }>): void {
    this.hasYielded = outcome.stopReason === 'graph-yield';
    this.#seen = Math.max(this.#seen, this.#seenInTurn);
    this.failedWakes = 0;
  }

  /** A turn failed. `isKnown`: an earlier process counted it. Whether it is to be told once more. */
  noteFailed(failure: Failure, isKnown: boolean, attempts: number): boolean {
    if (!this.isWaking || isFinal(failure)) return false;
    if (!isKnown) this.failedWakes += 1;
    if (this.failedWakes >= attempts) return false;
    // It has not heard what it was to be told.
    this.hasYielded = true;
    return true;
  }

  #blocked(driver: OperatorDriver): Unseen['blocked'] {
    return driver.blockings > this.#blockings ? driver.blockedWorks() : [];
  }
}
