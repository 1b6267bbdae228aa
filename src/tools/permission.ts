import { hash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { canonicalJson } from '../ledger/canonical-json.ts';
import type { JsonObject } from '../ledger/content.ts';
import { DEFAULT_LIMITS } from '../limits.ts';
import type { BoundTool } from './binding.ts';
import { cutChars } from './safe-text.ts';
import type { ToolScope } from './tool.ts';

/** What a policy is asked about: one call, before anything of it runs. */
export interface PermissionRequest {
  /** Id under which the request is decided, should it come to a person. */
  readonly id: string;
  readonly toolName: string;
  /** Frozen: what the model sent, after repair. */
  readonly input: JsonObject;
  readonly callId: string;
  readonly sessionId: string;
  /** Names of the agents from the root to the caller. */
  readonly agentPath: readonly string[];
}

/** A policy's answer; a denial may say why, which the model gets to read. */
export type Verdict = 'allow' | 'deny' | 'ask' | { readonly type: 'deny'; readonly reason: string };

/** Judges a call. A throw, a rejection or an unknown answer denies. */
export type PermissionPolicy = (request: PermissionRequest) => Verdict | Promise<Verdict>;

/** What the policies and the tool together say of a call. */
export type PermissionDecision =
  | { readonly type: 'allow' }
  | { readonly type: 'ask' }
  | { readonly type: 'deny' /** For the model. */; readonly reason?: string };

/** What {@link decidePermission} judges with. */
export interface PermissionOptions {
  /** Asked in order, each with the same frozen request, until one denies. */
  readonly policies: readonly PermissionPolicy[];
  readonly scope: ToolScope;
  /** A person's decision that covers the scope key of the call. */
  readonly remembered?: { readonly decision: 'approve' | 'deny'; readonly reason?: string } | undefined;
  /** Ends the wait for a policy that does not answer; the call is then denied. */
  readonly deadline?: { readonly clock: Clock; readonly timeoutMs: number; readonly signal: AbortSignal };
}

/**
 * Combines the tool's own `needsApproval`, the policies and a remembered decision. Deny beats ask beats allow, so
 * a policy can only narrow: nothing allows what another denies, and a remembered approval answers what would
 * otherwise be asked, never a denial. Never rejects.
 */
export async function decidePermission(
  bound: BoundTool,
  request: PermissionRequest,
  options: PermissionOptions,
): Promise<PermissionDecision> {
  const { id, toolName, input, callId, sessionId, agentPath } = request;
  const asked = Object.freeze({
    id,
    toolName,
    input,
    callId,
    sessionId,
    agentPath: Object.freeze([...agentPath]),
  });
  let mustAsk = false;
  for (const policy of options.policies) {
    const verdict = await within(options.deadline, () => policy(asked));
    if (verdict.type === 'failed') return { type: 'deny', reason: verdict.reason };
    if (verdict.value === 'ask') mustAsk = true;
    else if (verdict.value !== 'allow') return denial(verdict.value);
  }
  const { remembered } = options;
  if (remembered?.decision === 'deny' && bound.tool.rememberable) {
    return { type: 'deny', ...(remembered.reason === undefined ? {} : { reason: remembered.reason }) };
  }
  if (!mustAsk && !(await needsApproval(bound, request, options))) return { type: 'allow' };
  return remembered !== undefined && bound.tool.rememberable ? { type: 'allow' } : { type: 'ask' };
}

/** Anything but a verdict denies: a policy that is broken must not let a call through. */
function denial(verdict: Exclude<Verdict, 'allow' | 'ask'>): PermissionDecision {
  if (verdict === 'deny') return { type: 'deny' };
  const reason: unknown =
    typeof verdict === 'object' && verdict !== null && verdict.type === 'deny' ? verdict.reason : undefined;
  return {
    type: 'deny',
    reason: typeof reason === 'string' ? bounded(reason) : 'the policy gave no usable verdict',
  };
}

function bounded(reason: string): string {
  return cutChars(reason, DEFAULT_LIMITS.approvals.maxReasonChars);
}

async function needsApproval(
  bound: BoundTool,
  { input, callId }: PermissionRequest,
  options: PermissionOptions,
): Promise<boolean> {
  const { needsApproval: needs } = bound.tool;
  if (typeof needs === 'boolean') return needs;
  const answer = await within(options.deadline, () => needs(input, { ...options.scope, callId }));
  return answer.type === 'failed' || answer.value !== false;
}

type Answer<T> =
  | { readonly type: 'answered'; readonly value: T }
  | { readonly type: 'failed'; readonly reason: string };

async function within<T>(
  deadline: PermissionOptions['deadline'],
  ask: () => T | Promise<T>,
): Promise<Answer<T>> {
  const answer = (async (): Promise<Answer<T>> => {
    try {
      return { type: 'answered', value: await ask() };
    } catch {
      // What it threw is the policy's own affair; the model learns only that nobody allowed the call.
      return { type: 'failed', reason: 'the policy failed' };
    }
  })();
  if (deadline === undefined) return answer;
  const { clock, timeoutMs, signal } = deadline;
  return new Promise((resolve) => {
    const finish = (result: Answer<T>) => {
      clock.clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      resolve(result);
    };
    const onAbort = () => finish({ type: 'failed', reason: 'the turn was stopped' });
    const timer = clock.setTimeout(
      () => finish({ type: 'failed', reason: 'the policy did not answer in time' }),
      timeoutMs,
    );
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    void answer.then(finish);
  });
}

/** Arguments that say what a call touches; where a tool has some of them, they are the pattern. */
const SALIENT = ['path', 'command', 'pattern'] as const;
const MAX_SALIENT_CHARS = 512;

/**
 * Key under which a decision on a call is remembered. A tool that names an `approvalScope` shares it with every
 * tool of the agent that names the same; else the key is made of the tool, its schema hash and a pattern of the arguments:
 * `path`, `command` and `pattern` with blanks collapsed, or all arguments where there are none of them. The
 * pattern enters as a hash, so a key tells nobody what was called.
 */
export function scopeKeyOf(bound: BoundTool, args: JsonObject): string {
  const { approvalScope } = bound.tool;
  if (approvalScope !== undefined) {
    // A tool that its source may change is a family of its own: what was approved is what it was then.
    return bound.source === undefined
      ? `scope:${approvalScope}`
      : `scope:${approvalScope}:${bound.schemaHash}`;
  }
  const material = canonicalJson([bound.schemaHash, argumentPattern(args)]);
  return `tool:${bound.name}:${sha256(material)}`;
}

function argumentPattern(args: JsonObject): JsonObject {
  const salient: [string, string][] = [];
  for (const key of SALIENT) {
    const value = Object.hasOwn(args, key) ? args[key] : undefined;
    if (typeof value === 'string') salient.push([key, normalized(value)]);
  }
  return salient.length === 0 ? args : Object.fromEntries(salient);
}

/**
 * Blanks collapse, line ends do not: in a command a line end starts another command, which nobody approved. A long
 * text is kept by its beginning and the hash of all of it, so that two that begin alike stay apart.
 */
function normalized(text: string): string {
  const collapsed = text
    .replace(/\r\n?/g, '\n')
    .replace(/[^\S\n]+/gu, ' ')
    .trim();
  if (collapsed.length <= MAX_SALIENT_CHARS) return collapsed;
  return `${collapsed.slice(0, MAX_SALIENT_CHARS)}…${sha256(collapsed)}`;
}

function sha256(text: string): string {
  return hash('sha256', text);
}
