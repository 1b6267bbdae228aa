import { hash, randomBytes } from 'node:crypto';

declare const brand: unique symbol;
type Branded<B extends string> = string & { readonly [brand]: B };

export type SessionId = Branded<'session'>;
export type TurnId = Branded<'turn'>;
export type StepId = Branded<'step'>;
export type CallId = Branded<'call'>;
export type OperationId = Branded<'operation'>;
export type RequestId = Branded<'request'>;
export type RunId = Branded<'run'>;

/** Where fresh ids come from. Everything below a session is derived, so only sessions and runs need one. */
export interface IdSource {
  /** A token of `[a-z0-9]`, at most 26 characters, unique over processes. */
  next(kind: 'session' | 'run' | 'steering' | 'inbox'): string;
}

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** 26 characters of base32: 130 random bits, so no clock and no coordination is needed. */
export const randomIds: IdSource = {
  next() {
    let token = '';
    for (const byte of randomBytes(26)) token += ALPHABET[byte & 31];
    return token;
  },
};

// The casts below are the only places where a plain string becomes an id.
export function newSessionId(ids: IdSource): SessionId {
  return `s-${ids.next('session')}` as SessionId;
}

export function newRunId(ids: IdSource): RunId {
  return `r-${ids.next('run')}` as RunId;
}

/**
 * The session that a call, a handoff or a node of `parent` opens: the same for the same `key`, so that whoever comes
 * back to it after a crash finds the session and never opens a second one.
 */
export function childSessionIdOf(parent: string, key: string): SessionId {
  const digest = hash('sha256', `${parent}\n${key}`);
  return `s-${digest.slice(0, 32)}` as SessionId;
}

/** Ids given by a caller: one subject token, no wildcard, no separator, no path. */
const SESSION_ID = /^[A-Za-z0-9_-]{1,64}$/;

export function isSessionId(value: string): value is SessionId {
  return SESSION_ID.test(value);
}

/** Turns count from 1 within a session. */
export function turnIdOf(session: SessionId, ordinal: number): TurnId {
  return `${session}.${ordinal}` as TurnId;
}

/** Steps count from 1 within a turn. */
export function stepIdOf(turn: TurnId, index: number): StepId {
  return `${turn}.${index}` as StepId;
}

/** Calls count from 0 within a step: the order in which the model returned them. */
export function callIdOf(step: StepId, ordinal: number): CallId {
  return `${step}.${ordinal}` as CallId;
}

/** A call that came through another: its id names both, as `outer::inner`. `toolName` is that of requests. */
export function nestedCallIdOf(outer: CallId, toolName: string): CallId {
  return `${outer}::${toolName}` as CallId;
}

/** A permission or question request is the one of its call. */
export function requestIdOf(call: CallId): RequestId {
  return `${call}.ask` as RequestId;
}

/**
 * Identity of one intent: hash(session, turn, step, ordinal). Providers repeat their own call ids, so those
 * never take part. A decided retry of an indeterminate call keeps it, so that it can serve outside systems as
 * idempotency key; the generation of its dispatch tells the two apart.
 */
export function operationIdOf(call: CallId): OperationId {
  return `op-${hash('sha256', call).slice(0, 32)}` as OperationId;
}
