import type { Move } from './stream-client.ts';

/** A request that waits for a person. */
export interface PendingRequest {
  readonly id: string;
  readonly kind: 'permission' | 'question';
  readonly toolName: string;
  /** Absent for those who only look. */
  readonly input?: Readonly<Record<string, unknown>>;
  /** Why `input` may not be what is decided on. */
  readonly doubt?: 'absent' | 'masked' | 'different';
  readonly argsHash?: string;
  readonly callId: string;
  readonly sessionId: string;
  readonly agentPath: readonly string[];
  readonly rememberable: boolean;
  readonly expiresAt?: number;
  readonly question?: string;
}

/** A decision on one. */
export interface Decision {
  readonly id: string;
  readonly decision: 'approve' | 'deny';
  readonly scope?: string;
  readonly reason?: string;
  readonly answer?: string;
  /** That of the request as it was shown. */
  readonly argsHash?: string;
}

const TOKEN_KEY = 'swarmwright-token';

/** The token of this page: out of the fragment, which is then cleared, or as it was before a reload. */
export function takeToken(): string | undefined {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given !== null) {
    sessionStorage.setItem(TOKEN_KEY, given);
    history.replaceState(null, '', location.pathname);
  }
  return sessionStorage.getItem(TOKEN_KEY) ?? undefined;
}

/** Keeps another token; none with undefined. */
export function keepToken(token: string | undefined): void {
  if (token === undefined) sessionStorage.removeItem(TOKEN_KEY);
  else sessionStorage.setItem(TOKEN_KEY, token);
}

/** Headers that show the token, where there is one. */
export function authHeaders(): Record<string, string> {
  const token = sessionStorage.getItem(TOKEN_KEY);
  return token === null ? {} : { Authorization: `Bearer ${token}` };
}

/** Requests that wait now. */
export function fetchPending(): Promise<readonly PendingRequest[]> {
  return get('/api/approvals');
}

/** The path of a machine, up to a place in its session where one is given. */
export function fetchPath(instance: string, seq: number | undefined): Promise<readonly Move[]> {
  const upTo = seq === undefined ? '' : `&seq=${seq}`;
  return get(`/api/path?instance=${encodeURIComponent(instance)}${upTo}`);
}

/** What the model said in a step; empty where it said nothing, or the page shows no content. */
export interface Said {
  readonly text?: string;
  readonly reasoning?: string;
}

export function fetchSaid(step: string): Promise<Said> {
  return get(`/api/said?step=${encodeURIComponent(step)}`);
}

export function decide(decision: Decision): Promise<void> {
  return post('/api/decide', decision);
}

export function steer(session: string, text: string): Promise<void> {
  return post('/api/steer', { session, text });
}

export function cancel(session: string): Promise<void> {
  return post('/api/cancel', { session });
}

export function fork(session: string, atSeq: number): Promise<{ readonly session: string }> {
  return post('/api/fork', { session, atSeq });
}

async function get<T>(path: string): Promise<T> {
  return read(await fetch(path, { headers: authHeaders() }));
}

async function post<T>(path: string, body: object): Promise<T> {
  const headers = { ...authHeaders(), 'Content-Type': 'application/json' };
  return read(await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) }));
}

/** What the server did not do, in its words. */
export class ServerRefusal extends Error {
  override readonly name = 'ServerRefusal';
}

/** @throws ServerRefusal */
async function read<T>(response: Response): Promise<T> {
  const body: unknown = await response.json();
  // Shapes are those of our own server, of the same package.
  if (response.ok) return body as T;
  const { message } = body as { message?: string };
  throw new ServerRefusal(message ?? `the server answered ${response.status}`);
}
