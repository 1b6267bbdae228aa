import type { Clock } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import type { JsonObject } from '../ledger/content.ts';
import type { ApprovalScope, LedgerRecord, NewRecord } from '../ledger/records.ts';
import type { Limits } from '../limits.ts';

/** A person's decision on an open request. */
export interface ApprovalDecision {
  readonly decision: 'approve' | 'deny';
  /** How long it holds for calls with the same scope key. Default `call`. */
  readonly scope?: ApprovalScope;
  /** Reaches the model when denied; at most `limits.approvals.maxReasonChars` characters of it. */
  readonly reason?: string;
  /** Runs instead of what the model sent; checked against the tool's schema. */
  readonly editedInput?: JsonObject;
  /** Answer to a question asked by `askUser`. */
  readonly answer?: string;
  /** Who decided; information for the ledger. */
  readonly actor?: string;
}

/** A request as a person sees it. */
export interface PendingApproval {
  readonly id: string;
  readonly kind: 'permission' | 'question';
  readonly toolName: string;
  readonly input: JsonObject;
  readonly callId: string;
  readonly sessionId: string;
  /** Names of the agents from the root to the one that asks. */
  readonly agentPath: readonly string[];
  /** Milliseconds since the epoch; absent = never. */
  readonly expiresAt?: number;
  readonly question?: string;
}

/** What settlement learns of a request. `detached`: nothing was decided, the turn leaves this process. */
export type ApprovalOutcome =
  | { readonly type: 'approved'; readonly editedInput?: JsonObject; readonly answer?: string }
  | { readonly type: 'denied'; readonly reason?: string }
  | { readonly type: 'expired' }
  | { readonly type: 'cancelled'; readonly reason: string }
  | { readonly type: 'detached' };

/** A request on its way to a person. */
export interface ApprovalRequest extends PendingApproval {
  readonly stepId: string;
  readonly argsHash: string;
  readonly schemaHash?: string;
  readonly scopeKey: string;
  readonly rememberable: boolean;
  /** Complaint about edited input, or undefined when it fits the schema. */
  checkEdit(input: JsonObject): Promise<string | undefined>;
}

/** A decision that holds for later calls with the same scope key. */
export interface RememberedDecision {
  readonly decision: 'approve' | 'deny';
  readonly reason?: string;
  /** The request it was made for. */
  readonly by: string;
}

export interface ApprovalDeskOptions {
  readonly turnId: string;
  readonly clock: Clock;
  readonly limits: Limits;
  commit(batch: readonly NewRecord[]): Promise<readonly LedgerRecord[]>;
  /** Decisions that hold for the session; the desk adds to it. */
  readonly sessionMemory: Map<string, RememberedDecision>;
  onResolved(callId: string, decision: 'approve' | 'deny' | 'expired' | 'cancelled'): void;
}

interface Parked {
  readonly request: ApprovalRequest;
  readonly resolve: (outcome: ApprovalOutcome) => void;
  timer: unknown;
}

/**
 * The open requests of one turn. Presented first in, first out; decided in any order, each exactly once and
 * durably before anything acts on it.
 */
export class ApprovalDesk {
  readonly #options: ApprovalDeskOptions;
  readonly #parked = new Map<string, Parked>();
  /** Settled requests of this turn, so that a repeated decision is told from a contradicting one. */
  readonly #settled = new Map<string, ApprovalDecision | 'expired' | 'cancelled'>();
  readonly #turnMemory = new Map<string, RememberedDecision>();
  /** Decisions on requests that are open in the ledger and not parked here yet. */
  #early: { readonly requestId: string; go(): void; fail(): void }[] = [];
  /** No request will be parked any more. */
  #over = false;
  /** Decisions being written: a second one waits for the first and is then judged against it. */
  #deciding: Promise<unknown> = Promise.resolve();

  constructor(options: ApprovalDeskOptions) {
    this.#options = options;
  }

  /** Requests that wait, oldest first. */
  open(): readonly PendingApproval[] {
    return [...this.#parked.values()].map((parked) => parked.request);
  }

  get openCount(): number {
    return this.#parked.size;
  }

  knows(requestId: string): boolean {
    return this.#parked.has(requestId) || this.#settled.has(requestId);
  }

  /** A decision made earlier that covers `scopeKey`, from this turn or the session. */
  remembered(scopeKey: string): RememberedDecision | undefined {
    return this.#turnMemory.get(scopeKey) ?? this.#options.sessionMemory.get(scopeKey);
  }

  /** Restores a decision for the rest of the turn from its fact. */
  remember(scopeKey: string, decision: RememberedDecision): void {
    this.#turnMemory.set(scopeKey, decision);
  }

  /**
   * Decides a request whose fact is durable and which this turn is about to park again, after a resume. Waits for
   * that moment. @throws SwarmError as {@link decide}; 'unknown-approval' when the turn ends first
   */
  decideWhenParked(requestId: string, decision: ApprovalDecision): Promise<void> {
    if (this.knows(requestId)) return this.decide(requestId, decision);
    if (this.#over) return Promise.reject(unknownRequest(requestId));
    return new Promise((resolve, reject) => {
      this.#early.push({
        requestId,
        go: () => this.decide(requestId, decision).then(resolve, reject),
        fail: () => reject(unknownRequest(requestId)),
      });
    });
  }

  /** Facts of a request, for the commit that must precede {@link park}. */
  requestedRecord(request: ApprovalRequest): NewRecord {
    return {
      type: 'permission.requested',
      turn: this.#options.turnId,
      step: request.stepId,
      call: request.callId,
      data: {
        request: request.id,
        kind: request.kind,
        toolName: request.toolName,
        argsHash: request.argsHash,
        ...(request.schemaHash === undefined ? {} : { schemaHash: request.schemaHash }),
        scopeKey: request.scopeKey,
        rememberable: request.rememberable,
        ...(request.expiresAt === undefined ? {} : { expiresAt: request.expiresAt }),
        ...(request.question === undefined ? {} : { question: request.question }),
      },
    };
  }

  /** Waits for the decision on a request whose fact is durable. Never rejects. */
  park(request: ApprovalRequest): Promise<ApprovalOutcome> {
    return new Promise((resolve) => {
      const parked: Parked = { request, resolve, timer: undefined };
      this.#parked.set(request.id, parked);
      if (request.expiresAt !== undefined) this.#armExpiry(parked, request.expiresAt);
      for (const early of this.#early.filter((one) => one.requestId === request.id)) early.go();
      this.#early = this.#early.filter((one) => one.requestId !== request.id);
    });
  }

  /**
   * Records a decision and lets the call go on. The same decision again changes nothing.
   * @throws SwarmError 'unknown-approval', 'approval-settled' (late), 'approval-conflict' (another decision was
   * made), 'approval-edit-invalid' and 'approval-not-rememberable' (the request stays open)
   */
  decide(requestId: string, decision: ApprovalDecision): Promise<void> {
    const run = this.#deciding.then(() => this.#decide(requestId, decision));
    this.#deciding = run.catch(() => undefined);
    return run;
  }

  /** Ends every open request, durably, because the turn ends. */
  cancelAll(reason: string): Promise<void> {
    const run = this.#deciding.then(() => this.#cancelAll(reason));
    this.#deciding = run.catch(() => undefined);
    return run;
  }

  #giveUpEarly(): void {
    this.#over = true;
    for (const early of this.#early.splice(0)) early.fail();
  }

  async #cancelAll(reason: string): Promise<void> {
    this.#giveUpEarly();
    const open = [...this.#parked.values()];
    if (open.length === 0) return;
    await this.#options.commit(
      open.map(({ request }) => ({
        type: 'permission.cancelled',
        turn: this.#options.turnId,
        step: request.stepId,
        call: request.callId,
        data: { request: request.id, reason },
      })),
    );
    for (const parked of open) this.#settle(parked, 'cancelled', { type: 'cancelled', reason });
  }

  /** Lets go of every open request without a fact: it stays open in the ledger. */
  detach(): void {
    this.#giveUpEarly();
    for (const parked of [...this.#parked.values()]) {
      this.#options.clock.clearTimeout(parked.timer);
      this.#parked.delete(parked.request.id);
      parked.resolve({ type: 'detached' });
    }
  }

  async #decide(requestId: string, decision: ApprovalDecision): Promise<void> {
    const parked = this.#parked.get(requestId);
    if (parked === undefined) return this.#judgeRepeat(requestId, decision);
    await checkDecision(parked.request, decision);
    const followers = this.#followers(parked, decision);
    const records = [
      decidedRecord(this.#options.turnId, parked.request, decision, this.#options.limits),
      ...followers.map((follower) =>
        followerRecord(this.#options.turnId, follower.request, decision, requestId),
      ),
    ];
    await this.#options.commit(records);
    this.#keepInMemory(parked.request, decision);
    for (const one of [parked, ...followers]) this.#resolve(one, decision, one === parked);
  }

  #judgeRepeat(requestId: string, decision: ApprovalDecision): void {
    judgeRepeat(requestId, this.#settled.get(requestId), decision);
  }

  /** Other open requests of the same scope key, which a remembered decision covers at once. */
  #followers(parked: Parked, decision: ApprovalDecision): readonly Parked[] {
    if ((decision.scope ?? 'call') === 'call') return [];
    return [...this.#parked.values()].filter(
      (other) =>
        other !== parked && other.request.rememberable && other.request.scopeKey === parked.request.scopeKey,
    );
  }

  #keepInMemory(request: ApprovalRequest, decision: ApprovalDecision): void {
    const scope = decision.scope ?? 'call';
    if (scope === 'call') return;
    const memory = scope === 'turn' ? this.#turnMemory : this.#options.sessionMemory;
    memory.set(request.scopeKey, {
      decision: decision.decision,
      by: request.id,
      ...(decision.reason === undefined ? {} : { reason: decision.reason }),
    });
  }

  #resolve(parked: Parked, decision: ApprovalDecision, own: boolean): void {
    const outcome: ApprovalOutcome =
      decision.decision === 'deny'
        ? { type: 'denied', ...(decision.reason === undefined ? {} : { reason: decision.reason }) }
        : {
            type: 'approved',
            ...(own && decision.editedInput !== undefined ? { editedInput: decision.editedInput } : {}),
            ...(own && decision.answer !== undefined ? { answer: decision.answer } : {}),
          };
    this.#settle(parked, decision, outcome);
  }

  #settle(parked: Parked, how: ApprovalDecision | 'expired' | 'cancelled', outcome: ApprovalOutcome): void {
    this.#options.clock.clearTimeout(parked.timer);
    this.#parked.delete(parked.request.id);
    this.#settled.set(parked.request.id, how);
    const word = typeof how === 'string' ? how : how.decision;
    this.#options.onResolved(parked.request.callId, word);
    parked.resolve(outcome);
  }

  #armExpiry(parked: Parked, expiresAt: number): void {
    const { clock } = this.#options;
    // Timers hold at most 31 bits of milliseconds; a longer wait is armed again.
    const delayMs = Math.min(Math.max(0, expiresAt - clock.now()), 0x7fffffff);
    parked.timer = clock.setTimeout(() => {
      if (clock.now() < expiresAt) this.#armExpiry(parked, expiresAt);
      else this.#deciding = this.#deciding.then(() => this.#expire(parked));
    }, delayMs);
  }

  async #expire(parked: Parked): Promise<void> {
    const { request } = parked;
    if (!this.#parked.has(request.id)) return;
    try {
      await this.#options.commit([
        {
          type: 'permission.expired',
          turn: this.#options.turnId,
          step: request.stepId,
          call: request.callId,
          data: { request: request.id },
        },
      ]);
      this.#settle(parked, 'expired', { type: 'expired' });
    } catch {
      // The session was lost: its log tells the turn, and the request is still open in the ledger.
      this.detach();
    }
  }
}

/**
 * What a second decision on a settled request means; `undefined` as `settled` means no such request.
 * @throws SwarmError 'unknown-approval', 'approval-settled', 'approval-conflict'
 */
export function judgeRepeat(
  requestId: string,
  settled: Pick<ApprovalDecision, 'decision'> | 'expired' | 'cancelled' | undefined,
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
}

function unknownRequest(requestId: string): SwarmError {
  return new SwarmError('unknown-approval', `no approval request ${requestId} is known`);
}

/** @throws SwarmError 'approval-not-rememberable', 'approval-edit-invalid' */
export async function checkDecision(
  request: Pick<ApprovalRequest, 'id' | 'rememberable' | 'checkEdit'>,
  decision: ApprovalDecision,
): Promise<void> {
  if (decision.decision !== 'approve' && decision.decision !== 'deny') {
    throw new SwarmError(
      'approval-conflict',
      `a decision is 'approve' or 'deny', not ${String(decision.decision)}`,
    );
  }
  if ((decision.scope ?? 'call') !== 'call' && !request.rememberable) {
    throw new SwarmError('approval-not-rememberable', `${request.id} can be decided for this call only`);
  }
  if (decision.editedInput === undefined) return;
  const complaint = await request.checkEdit(decision.editedInput);
  if (complaint !== undefined) {
    throw new SwarmError(
      'approval-edit-invalid',
      `the edited input of ${request.id} does not fit: ${complaint}`,
    );
  }
}

/** The fact of a decision on the request it was made for. */
export function decidedRecord(
  turnId: string,
  request: Pick<ApprovalRequest, 'id' | 'stepId' | 'callId' | 'argsHash'>,
  decision: ApprovalDecision,
  limits: Limits,
): NewRecord {
  const { reason, editedInput, answer, actor } = decision;
  return {
    type: 'permission.decided',
    turn: turnId,
    step: request.stepId,
    call: request.callId,
    data: {
      request: request.id,
      decision: decision.decision,
      scope: decision.scope ?? 'call',
      argsHash: request.argsHash,
      ...(reason === undefined ? {} : { reason: reason.slice(0, limits.approvals.maxReasonChars) }),
      ...(editedInput === undefined ? {} : { editedInput }),
      ...(answer === undefined ? {} : { answer }),
      ...(actor === undefined ? {} : { actor }),
    },
  };
}

function followerRecord(
  turnId: string,
  request: ApprovalRequest,
  decision: ApprovalDecision,
  by: string,
): NewRecord {
  return {
    type: 'permission.decided',
    turn: turnId,
    step: request.stepId,
    call: request.callId,
    data: {
      request: request.id,
      decision: decision.decision,
      scope: 'call',
      argsHash: request.argsHash,
      by,
      ...(decision.reason === undefined ? {} : { reason: decision.reason }),
    },
  };
}
