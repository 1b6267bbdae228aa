import type { RunEvent } from '../events/event-schemas.ts';

/** What kind of thing a row of the tree is; each but `node` has a machine of its own. */
export type NodeKind = 'session' | 'turn' | 'step' | 'call' | 'node';

/** How a state is meant, whatever its word: what is coloured. */
export type Tone = 'idle' | 'busy' | 'waiting' | 'good' | 'bad' | 'stopped';

/** What steps cost, with everything below it. */
export interface Spent {
  inputTokens: number;
  outputTokens: number;
  costUsd: number;
}

/** One row of the tree as far as events have told of it. Changed in place: a run has many of them. */
export interface ActorNode {
  readonly id: string;
  readonly kind: NodeKind;
  readonly session: string;
  parent: string | undefined;
  readonly children: string[];
  name: string;
  /** A word people read; `tone` says how it is meant. */
  state: string;
  tone: Tone;
  /** Milliseconds since the epoch. */
  startedAt: number;
  endedAt: number | undefined;
  /** Why it is in this state. */
  reason: string | undefined;
  readonly spent: Spent;
  /** The facts about it, in order. */
  readonly events: RunEvent[];
  /** Of sessions: agents below it and itself. Elsewhere 0. */
  agents: number;
  readonly facts: NodeFacts;
}

/** What only some kinds have. */
export interface NodeFacts {
  /** Of a turn or step: its number. */
  index?: number;
  attempt?: number;
  /** Of a turn: what it was given, where the page shows content. */
  input?: readonly { readonly type: string; readonly text?: string }[];
  /** Of a step: why the model stopped. */
  finish?: string;
  /** Of a step: what its request offered. */
  visible?: readonly string[];
  active?: readonly string[];
  schemaChars?: number;
  toolsChange?: string;
  searches?: SearchFacts[];
  activated?: string[];
  /** Of a turn or step: the kind of its failure. */
  failure?: string;
  /** Of a call. */
  requestedName?: string;
  refusal?: string;
  request?: string;
  args?: unknown;
  result?: unknown;
  /** Of a session: it is a graph, and its turns have the machine of one. */
  isGraph?: boolean;
  /** Of a session that was forked: where from. */
  origin?: { readonly session: string; readonly seq: number };
  /** Of a turn: what happened to it as a whole. */
  notes?: string[];
}

/** One search for tools. */
export interface SearchFacts {
  readonly query: string | undefined;
  readonly ranked: readonly string[];
  readonly activated: readonly string[];
  readonly alreadyActive: readonly string[];
  readonly omitted: number;
  readonly schemaChars: number;
}
