import type { RunEvent } from '../../src/events/event-schemas.ts';
import type { LedgerRecord } from '../../src/ledger/records.ts';
import type { ParsedMessage } from '../../src/testing/script.ts';

/** One provider request, with what was durable when it arrived. */
export interface SeenRequest {
  readonly messages: readonly ParsedMessage[];
  readonly durable: readonly LedgerRecord[];
}

/** One entry of an implementation, with what was durable when it was entered. */
export interface SeenEntry {
  readonly operationId: string;
  readonly durable: readonly LedgerRecord[];
}

/** Everything the invariants of one session are checked over. */
export interface Witness {
  readonly records: readonly LedgerRecord[];
  readonly requests?: readonly SeenRequest[];
  readonly entries?: readonly SeenEntry[];
}

/** A provider request as a provider sees it: when, and of which session by what is said in it. */
export interface ProviderRequest {
  readonly session: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly messages: readonly ParsedMessage[];
}

/** An entry of an implementation as the implementation sees it. */
export interface ToolEntry {
  readonly session: string;
  readonly operationId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** A fact that somebody was told is durable. */
export interface ToldFact {
  readonly session: string;
  readonly seq: number;
  /** Of the record; absent where whoever told it named the place alone. */
  readonly hash?: string;
}

/** What the processes of a swarm leave when all of them have ended in good order. */
export interface Remains {
  /** Sessions with an open turn, as the ledger lists them. */
  readonly open: readonly string[];
  /** Sessions that still have an owner. */
  readonly owned: readonly string[];
  /** Turns in the queue, waiting or handed out. */
  readonly queued: number;
  /** Exit codes of the processes that were asked to end. */
  readonly exitCodes: readonly (number | null)[];
}

/** Everything that can be seen of a swarm from outside, once it is over. */
export interface SwarmWitness {
  readonly sessions: ReadonlyMap<string, readonly LedgerRecord[]>;
  /** When the store had each record, by its id, in milliseconds since the epoch. */
  readonly storedAt: ReadonlyMap<string, number>;
  readonly told: readonly ToldFact[];
  readonly requests: readonly ProviderRequest[];
  readonly entries: readonly ToolEntry[];
  /** The events of the bus, in the order they are stored there. */
  readonly events: readonly RunEvent[];
  /** The events one subscriber was given while it all happened, in the order it was given them. */
  readonly delivered: readonly RunEvent[];
  readonly bounds: SwarmBounds;
  /** Words that may be nowhere: not in a record, not in an event, not in what a process says. */
  readonly secrets: readonly string[];
  /** What the processes said. */
  readonly said: string;
  readonly remains: Remains;
}

/** What the swarm is held to by whoever defined it. */
export interface SwarmBounds {
  readonly depth: number;
  readonly fanOut: number;
  /** Tools that run only when a person allows it. */
  readonly gated: ReadonlySet<string>;
}
