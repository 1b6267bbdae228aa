import { z } from 'zod';
import { SwarmError } from '../errors.ts';
import { canonicalJson } from '../ledger/canonical-json.ts';
import type { JsonObject } from '../ledger/content.ts';
import { type ApprovalScope, approvalScopeSchema, type NewRecord } from '../ledger/records.ts';
import type { Limits } from '../limits.ts';
import { snapshotArguments } from './argument-snapshot.ts';
import { cutChars } from './safe-text.ts';

/** A person's decision on an open request. */
export interface ApprovalDecision {
  readonly decision: 'approve' | 'deny';
  /** How long it holds for calls with the same scope key. Default `call`. */
  readonly scope?: ApprovalScope;
  /** Reaches the model when denied; at most `limits.approvals.maxReasonChars` characters of it. */
  readonly reason?: string;
  /** Runs instead of what the model sent; checked against the tool's schema and the policies. */
  readonly editedInput?: JsonObject;
  /** Answer to a question asked by `askUser`; a question is approved with one. */
  readonly answer?: string;
  /** Who decided; information for the ledger. */
  readonly actor?: string;
}

/** How a request was settled. */
export type SettledRequest = DecidedRequest | 'expired' | 'cancelled';

interface DecidedRequest {
  readonly decision: 'approve' | 'deny';
  readonly editedInput?: JsonObject | undefined;
  readonly answer?: string | undefined;
}

/** What a decision is checked against. */
export interface DecidableRequest {
  readonly id: string;
  readonly kind: 'permission' | 'question';
  readonly rememberable: boolean;
  /** Complaint about edited input, or undefined when it may run. */
  checkEdit(input: JsonObject): Promise<string | undefined>;
}

/** Runtime twin of {@link ApprovalDecision}: decisions come from pages, processes and other languages. */
const decisionSchema = z.strictObject({
  decision: z.enum(['approve', 'deny']),
  scope: approvalScopeSchema.optional(),
  reason: z.string().optional(),
  // Looked at as arguments are: without running anything of it.
  editedInput: z.unknown().optional(),
  answer: z.string().optional(),
  actor: z.string().optional(),
});

/**
 * A decision of the shape it should have: its reason cut to its bound, its edited input a frozen copy that is
 * plain and bounded as any arguments are.
 * @throws SwarmError 'invalid-decision' naming the field, 'approval-edit-invalid'
 */
export function readDecision(decision: unknown, limits: Limits): ApprovalDecision {
  const parsed = decisionSchema.safeParse(decision);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const path = issue?.path.join('.') ?? '';
    const complaint = path === '' ? (issue?.message ?? '') : `${path}: ${issue?.message ?? ''}`;
    throw new SwarmError(
      'invalid-decision',
      `a decision on an approval request cannot be used: ${complaint}`,
    );
  }
  const { decision: word, scope, reason, editedInput, answer, actor } = parsed.data;
  return {
    decision: word,
    ...(scope === undefined ? {} : { scope }),
    ...(reason === undefined ? {} : { reason: cutChars(reason, limits.approvals.maxReasonChars) }),
    ...(editedInput === undefined ? {} : { editedInput: plainInput(editedInput, limits) }),
    ...(answer === undefined ? {} : { answer }),
    ...(actor === undefined ? {} : { actor }),
  };
}

function plainInput(editedInput: unknown, limits: Limits): JsonObject {
  const snapshot = snapshotArguments(editedInput, limits.arguments);
  if (snapshot.type === 'ok') return snapshot.args;
  throw new SwarmError('approval-edit-invalid', `the edited input cannot be used: ${snapshot.reason}`);
}

/** @throws SwarmError 'approval-not-rememberable', 'approval-edit-invalid', 'invalid-decision' */
export async function checkDecision(request: DecidableRequest, decision: ApprovalDecision): Promise<void> {
  const { id } = request;
  if ((decision.scope ?? 'call') !== 'call' && !request.rememberable) {
    throw new SwarmError('approval-not-rememberable', `${id} can be decided for this call only`);
  }
  if (request.kind === 'question' && decision.decision === 'approve' && decision.answer === undefined) {
    throw new SwarmError('invalid-decision', `the question ${id} is approved with an answer`);
  }
  if (decision.editedInput === undefined) return;
  if (decision.decision === 'deny' || request.kind === 'question') {
    throw new SwarmError('approval-edit-invalid', `nothing of ${id} would run with an edited input`);
  }
  const complaint = await request.checkEdit(decision.editedInput);
  if (complaint !== undefined) {
    throw new SwarmError('approval-edit-invalid', `the edited input of ${id} does not fit: ${complaint}`);
  }
}

/**
 * What a second decision on a settled request means: nothing if it is the same, else an error. `undefined` as
 * `settled` means no such request.
 * @throws SwarmError 'unknown-approval', 'approval-settled', 'approval-conflict'
 */
export function judgeRepeat(
  requestId: string,
  settled: SettledRequest | undefined,
  decision: ApprovalDecision,
): void {
  if (settled === undefined)
    throw new SwarmError('unknown-approval', `no approval request ${requestId} is known`);
  if (typeof settled === 'string') {
    throw new SwarmError('approval-settled', `the approval request ${requestId} is ${settled}`);
  }
  if (settled.decision !== decision.decision) {
    throw new SwarmError('approval-conflict', `the decision on ${requestId} was to ${settled.decision}`);
  }
  if (materialOf(settled) !== materialOf(decision)) {
    throw new SwarmError('approval-conflict', `${requestId} was decided with another input or answer`);
  }
}

/** What two equal decisions share beside the word; a deny has nothing else. */
function materialOf({ decision, editedInput, answer }: DecidedRequest): string {
  return decision === 'deny' ? '' : canonicalJson([editedInput ?? null, answer ?? null]);
}

/** A request a decision is recorded for. */
export interface RecordedRequest {
  readonly id: string;
  readonly stepId: string;
  readonly callId: string;
  readonly argsHash: string;
}

/** The facts of a decision: on the request it was made for, and on those that a remembered one covers at once. */
export function decisionRecords(
  turnId: string,
  request: RecordedRequest,
  decision: ApprovalDecision,
  followers: readonly RecordedRequest[],
): readonly NewRecord[] {
  const { editedInput, answer, actor, scope = 'call' } = decision;
  return [
    decidedRecord(turnId, request, {
      ...wordOf(decision),
      scope,
      ...(editedInput === undefined ? {} : { editedInput }),
      ...(answer === undefined ? {} : { answer }),
      ...(actor === undefined ? {} : { actor }),
    }),
    ...followers.map((follower) =>
      decidedRecord(turnId, follower, { ...wordOf(decision), scope: 'call', by: request.id }),
    ),
  ];
}

type DecidedData = Extract<NewRecord, { readonly type: 'permission.decided' }>['data'];

function wordOf({ decision, reason }: ApprovalDecision): Pick<DecidedData, 'decision' | 'reason'> {
  return { decision, ...(reason === undefined ? {} : { reason }) };
}

function decidedRecord(
  turnId: string,
  { id, stepId, callId, argsHash }: RecordedRequest,
  data: Omit<DecidedData, 'request' | 'argsHash'>,
): NewRecord {
  return {
    type: 'permission.decided',
    turn: turnId,
    step: stepId,
    call: callId,
    data: { request: id, argsHash, ...data },
  };
}
