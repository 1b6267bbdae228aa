import type { JsonObject, JsonValue } from '../ledger/content.ts';
import type { IndeterminateDecision } from '../tools/reconcile-call.ts';

/** A run for whichever worker of a pool is free. Plain JSON: nothing of a process travels with it. */
export interface QueuedRun {
  /** The same id again is the same run. */
  readonly run: string;
  readonly session: string;
  /** The session begins with this run: it was made for it. */
  readonly isNew?: boolean | undefined;
  /** Name of the definition in the registry of the worker, and its hash: see {@link definitionHash}. */
  readonly target: string;
  readonly definition?: string | undefined;
  readonly input: JsonValue;
  readonly budget?: JsonObject | undefined;
  readonly boundTools?: readonly string[] | undefined;
  readonly discovery?: JsonObject | undefined;
}

/** Asks a worker to take up what is open in a session. */
export interface QueuedWake {
  readonly session: string;
  /** Of a child that may not have begun: the session that asked for it. */
  readonly parent?: string | undefined;
  /** A child of the session has news; where that is known by now, nothing is to be done. */
  readonly child?: string | undefined;
  /** Names the fact that is the reason: one entry waits for each. */
  readonly cause: string;
  /** The run that waits for what becomes of it. */
  readonly by?: string | undefined;
  /** What is to become of calls whose outcome is unknown, by call id. */
  readonly decisions?: Readonly<Record<string, IndeterminateDecision>> | undefined;
  /** Whose workers have the session, where that is another pool than the one that is told. */
  readonly pool?: string | undefined;
  /** It is taken up to be ended; a run that has not begun never begins. */
  readonly stop?: { readonly run: string; readonly target: string; readonly reason: string } | undefined;
}

/** What became of an attempt to queue a run. */
export type Queued =
  /** `isRepeated`: it was there already. */
  | { readonly type: 'queued'; readonly isRepeated: boolean }
  /** Another run of the session waits, or is being worked on. */
  | { readonly type: 'busy' };

/** Workers in other processes that run what they are given, on the same ledger as the runtime that gives it. */
export interface WorkPool {
  /** By which its workers know the runs that are theirs. */
  readonly name: string;
  /** Resolves when it is durable. @throws SwarmError of the pool */
  submit(run: QueuedRun): Promise<Queued>;
  /** Resolves when it is durable. Repeating it is safe. @throws SwarmError of the pool */
  wake(wake: QueuedWake): Promise<void>;
  close(): Promise<void>;
}
