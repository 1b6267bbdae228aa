import type { Usage } from '../ledger/content.ts';
import type { TurnStatus } from '../ledger/records.ts';

/** What is shown of a run: its sessions as a tree, each with the turn it is at. Made from events alone. */
export interface RunTree {
  readonly root: string;
  readonly sessions: ReadonlyMap<string, SessionNode>;
}

export interface SessionNode {
  readonly id: string;
  readonly agent: string;
  readonly parent: string | undefined;
  /** The call of the parent that opened it, where one did. */
  readonly call: string | undefined;
  /** Sessions it opened, in order. */
  readonly children: readonly string[];
  /** The last turn that began. */
  readonly turn: TurnNode | undefined;
  /** Of the turns before the last one. */
  readonly earlier: Totals;
  /** Why a parent gave it up. */
  readonly lost: string | undefined;
}

type TurnState = 'running' | 'paused' | TurnStatus;

export interface TurnNode {
  readonly id: string;
  readonly ordinal: number;
  readonly state: TurnState;
  /** Milliseconds since the epoch, as are all times here. */
  readonly startedAt: number;
  readonly endedAt: number | undefined;
  readonly steps: readonly StepNode[];
  /** Words on how it ended or what it waits for. */
  readonly reason: string | undefined;
  /** Texts given to it on the way that no request carries yet. */
  readonly steering: readonly { readonly id: string; readonly text: string }[];
  readonly notes: readonly string[];
}

export interface StepNode {
  readonly id: string;
  readonly index: number;
  readonly state: 'running' | 'completed' | 'failed' | 'aborted';
  readonly startedAt: number;
  readonly attempt: number;
  /** Why the attempt before brought no answer. */
  readonly lastFailure: string | undefined;
  /** Why and how long it waits before the next attempt. */
  readonly retry: string | undefined;
  /** Undefined while it runs; empty where the provider reported none. */
  readonly usage: Usage | undefined;
  readonly failure: string | undefined;
  readonly calls: readonly CallNode[];
}

type CallState =
  | 'called'
  | 'waiting'
  | 'approved'
  | 'denied'
  | 'expired'
  | 'running'
  | 'refused'
  | 'success'
  | 'error'
  | 'aborted'
  | 'timeout'
  | 'abandoned'
  | 'interrupted'
  | 'indeterminate';

export interface CallNode {
  readonly id: string;
  readonly toolName: string;
  readonly state: CallState;
  /** What it runs with, as JSON, cut to what a line can show. */
  readonly input: string | undefined;
  /** When it began to run. */
  readonly startedAt: number | undefined;
  readonly durationMs: number | undefined;
  readonly progress: string | undefined;
  /** What the model was given, cut likewise. */
  readonly result: { readonly text: string; readonly isError: boolean } | undefined;
  /** Why it was refused, denied or given up. */
  readonly reason: string | undefined;
}

/** Work and what it cost. */
export interface Totals {
  readonly steps: number;
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
  /** False where a provider reported nothing for one of the steps: the sums are then too low. */
  readonly isComplete: boolean;
}

export const NO_TOTALS: Totals = {
  steps: 0,
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  costUsd: 0,
  isComplete: true,
};

/** The tree of a run of which nothing is known yet. */
export function emptyTree(root: string): RunTree {
  return { root, sessions: new Map() };
}

export function addTotals(a: Totals, b: Totals): Totals {
  return {
    steps: a.steps + b.steps,
    calls: a.calls + b.calls,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    costUsd: a.costUsd + b.costUsd,
    isComplete: a.isComplete && b.isComplete,
  };
}

/** What the steps of a turn took. */
export function totalsOfTurn(turn: Pick<TurnNode, 'steps'> | undefined): Totals {
  return (turn?.steps ?? []).map(totalsOfStep).reduce(addTotals, NO_TOTALS);
}

function totalsOfStep({ calls, usage }: StepNode): Totals {
  return {
    steps: 1,
    calls: calls.length,
    inputTokens: usage?.inputTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
    costUsd: usage?.costUsd ?? 0,
    isComplete: usage === undefined || usage.inputTokens !== undefined,
  };
}

/** What all sessions of the run took. */
export function totalsOfTree(tree: RunTree): Totals {
  return [...tree.sessions.values()]
    .map((session) => addTotals(session.earlier, totalsOfTurn(session.turn)))
    .reduce(addTotals, NO_TOTALS);
}

/** True for a call that may still change. */
export function isOpenCall({ state }: CallNode): boolean {
  return state === 'called' || state === 'waiting' || state === 'approved' || state === 'running';
}
