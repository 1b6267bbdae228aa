import { type ParkedRequest, parkedRequests } from '../ledger/recovery.ts';
import { requestedArgs, type SessionFacts, type TurnFacts } from '../ledger/turn-facts.ts';
import type { PendingApproval } from '../tools/approvals.ts';

/** Open requests of a turn as a person sees them, oldest first. */
export function pendingOfTurn(
  sessionId: string,
  facts: SessionFacts,
  turn: TurnFacts,
): readonly (PendingApproval & { readonly requestedAt: number })[] {
  const agentPath = facts.opened?.data.agentPath ?? [];
  return parkedRequests(turn).map((parked) => pendingOf(sessionId, agentPath, parked));
}

function pendingOf(
  sessionId: string,
  agentPath: readonly string[],
  { call, request, requestedAt }: ParkedRequest,
): PendingApproval & { readonly requestedAt: number } {
  return {
    id: request.request,
    kind: request.kind,
    toolName: request.toolName,
    input: requestedArgs(call),
    callId: call.callId,
    sessionId,
    agentPath,
    requestedAt,
    rememberable: request.rememberable,
    ...(request.expiresAt === undefined ? {} : { expiresAt: request.expiresAt }),
    ...(request.question === undefined ? {} : { question: request.question }),
  };
}
