import type { Clock } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import type { JsonObject } from '../ledger/content.ts';
import type { LedgerRecord, NewRecord } from '../ledger/records.ts';
import {
  type ApprovalDecision,
  checkDecision,
  type DecidableRequest,
  decisionRecords,
  judgeRepeat,
  type SettledRequest,
} from './approval-decisions.ts';

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
  /** Whether a decision may hold for more than this call: with false a `scope` but `call` is refused. */
  readonly rememberable: boolean;
}

/** What settlement learns of a request. `detached`: nothing was decided, the turn leaves this process. */
export type ApprovalOutcome =
  | { readonly type: 'approved'; readonly editedInput?: JsonObject; readonly answer?: string }
  | { readonly type: 'denied'; readonly reason?: string }
  | { readonly type: 'expired' }
  | { readonly type: 'cancelled'; readonly reason: string }
  | { readonly type: 'detached' };

/** A request on its way to a person. */
export interface ApprovalRequest extends PendingApproval, DecidableRequest {
  readonly stepId: string;
  readonly argsHash: string;
  readonly schemaHash?: string;
  readonly scopeKey: string;
  /** A gate put `input` in place of what the model sent. */
  readonly isReplaced: boolean;
}

/** A request that was handed in. Both promises are the caller's to wait for, `durable` first. */
export interface AskedApproval {
  /** The request is a fact: a person may be asked. Rejects when it could not be made one. */
  readonly durable: Promise<void>;
  /** Never rejects. */
  readonly outcome: Promise<ApprovalOutcome>;
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
  commit(batch: readonly NewRecord[]): Promise<readonly LedgerRecord[]>;
  /** Decisions that hold for the session; the desk adds to it. */
  readonly sessionMemory: Map<string, RememberedDecision>;
  onResolved(callId: string, decision: 'approve' | 'deny' | 'expired' | 'cancelled'): void;
}

interface Parked {
  readonly request: ApprovalRequest;
  readonly durable: Promise<unknown>;
  readonly resolve: (outcome: ApprovalOutcome) => void;
  /** Its time is over, and that is being made durable. */
  expiring: boolean;
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
  readonly #settled = new Map<string, SettledRequest>();
  /** Decisions that wait for requests an earlier process left open to be handed in again. */
  readonly #awaited = new Map<string, PromiseWithResolvers<void>>();
  readonly #turnMemory = new Map<string, RememberedDecision>();
  /** Decisions being written: a second one waits for the first and is then judged against it. */
  #deciding: Promise<unknown> = Promise.resolve();
  /** Set once no request is taken any more: what a request that comes late is told. */
  #over: ApprovalOutcome | undefined;

  constructor(options: ApprovalDeskOptions) {
    this.#options = options;
  }

  /** Requests that wait, those on their way into the ledger included. */
  get openCount(): number {
    return this.#parked.size;
  }

  knows(requestId: string): boolean {
    return this.#parked.has(requestId) || this.#settled.has(requestId);
  }

  /** Whether a call waits for a person and for nothing else. */
  isParked(callId: string): boolean {
    return this.#parkedAt(callId)?.expiring === false;
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
   * Takes a request, synchronously: from here on it can be decided. `recorded`: its fact is in the ledger; else it
   * is written now.
   */
  ask(request: ApprovalRequest, recorded: boolean): AskedApproval {
    const { promise: outcome, resolve } = Promise.withResolvers<ApprovalOutcome>();
    if (this.#over !== undefined) {
      resolve(this.#over);
      return { durable: Promise.resolve(), outcome };
    }
    const written = recorded
      ? Promise.resolve()
      : this.#options.commit([requestedRecord(this.#options.turnId, request)]);
    const parked: Parked = { request, durable: written, resolve, expiring: false, timer: undefined };
    this.#parked.set(request.id, parked);
    this.#stopAwaiting(request.id);
    return { durable: this.#arm(parked), outcome };
  }

  async #arm(parked: Parked): Promise<void> {
    const { id, expiresAt } = parked.request;
    // At once, so that a turn that would leave its open requests behind first lets go of this one.
    if (expiresAt !== undefined && expiresAt <= this.#options.clock.now()) this.#startExpiry(parked);
    try {
      await parked.durable;
    } catch (error) {
      this.#parked.delete(id);
      throw error;
    }
    if (expiresAt !== undefined && !parked.expiring && this.#parked.has(id))
      this.#armExpiry(parked, expiresAt);
  }

  /**
   * Records a decision, which {@link readDecision} made, and lets the call go on. The same decision again changes
   * nothing.
   * @throws SwarmError 'unknown-approval', 'approval-settled' (late), 'approval-conflict' (another decision was
   * made), 'approval-edit-invalid', 'approval-not-rememberable' and 'invalid-decision' (the request stays open),
   * 'turn-not-open' (the turn ended or left before it could be recorded)
   */
  decide(requestId: string, decision: ApprovalDecision): Promise<void> {
    return this.#inOrder(() => this.#decide(requestId, decision));
  }

  /**
   * Decides a request that is open in the ledger and that this turn, taken up again, is about to hand in: waits for
   * that moment. @throws SwarmError as {@link decide}
   */
  async decideWhenParked(requestId: string, decision: ApprovalDecision): Promise<void> {
    if (!this.knows(requestId) && this.#over === undefined) {
      const awaited = this.#awaited.get(requestId) ?? Promise.withResolvers<void>();
      this.#awaited.set(requestId, awaited);
      await awaited.promise;
    }
    return this.decide(requestId, decision);
  }

  /** Ends a request of the ledger, handed in or not, because its call will not run. Nothing if it is settled. */
  cancel(request: CancelledRequest, reason: string): Promise<void> {
    return this.#inOrder(async () => {
      if (this.#settled.has(request.id)) return;
      await this.#options.commit([cancelledRecord(this.#options.turnId, request, reason)]);
      const parked = this.#parked.get(request.id);
      if (parked !== undefined) this.#settle(parked, 'cancelled', { type: 'cancelled', reason });
      else this.#settled.set(request.id, 'cancelled');
      this.#stopAwaiting(request.id);
    });
  }

  /** Ends every open request, durably, because the turn ends; takes no more. */
  cancelAll(reason: string): Promise<void> {
    this.#end({ type: 'cancelled', reason });
    return this.#inOrder(() => this.#cancelAll(reason));
  }

  /** Lets go of every open request without a fact: it stays open in the ledger. Takes no more. */
  detach(): void {
    this.#end({ type: 'detached' });
    for (const parked of [...this.#parked.values()]) this.#letGo(parked);
  }

  #inOrder(work: () => Promise<void>): Promise<void> {
    const run = this.#deciding.then(work);
    this.#deciding = run.catch(() => undefined);
    return run;
  }

  #end(outcome: ApprovalOutcome): void {
    this.#over = outcome;
    for (const requestId of [...this.#awaited.keys()]) this.#stopAwaiting(requestId);
  }

  #stopAwaiting(requestId: string): void {
    this.#awaited.get(requestId)?.resolve();
    this.#awaited.delete(requestId);
  }

  async #decide(requestId: string, decision: ApprovalDecision): Promise<void> {
    // Those that are on their way into the ledger may be covered by this decision, too.
    await Promise.allSettled([...this.#parked.values()].map((one) => one.durable));
    const parked = this.#parked.get(requestId);
    if (parked === undefined) return this.#judgeRepeat(requestId, decision);
    if (this.#isDue(parked)) {
      await this.#expire(parked);
      return this.#judgeRepeat(requestId, decision);
    }
    await checkDecision(parked.request, decision);
    // Checking may take a while, in which the turn may have let go of the request.
    if (!this.#parked.has(requestId)) return this.#judgeRepeat(requestId, decision);
    const followers = this.#followers(parked, decision);
    const others = followers.map((one) => one.request);
    await this.#options.commit(decisionRecords(this.#options.turnId, parked.request, decision, others));
    this.#keepInMemory(parked.request, decision);
    for (const one of [parked, ...followers]) this.#resolve(one, decision, one === parked);
  }

  #judgeRepeat(requestId: string, decision: ApprovalDecision): void {
    const settled = this.#settled.get(requestId);
    if (settled === undefined && this.#over !== undefined) {
      throw new SwarmError('turn-not-open', `the turn of the approval request ${requestId} is over`);
    }
    judgeRepeat(requestId, settled, decision);
  }

  async #cancelAll(reason: string): Promise<void> {
    await Promise.allSettled([...this.#parked.values()].map((one) => one.durable));
    const open = [...this.#parked.values()];
    if (open.length === 0) return;
    await this.#options.commit(
      open.map(({ request }) => cancelledRecord(this.#options.turnId, request, reason)),
    );
    for (const parked of open) this.#settle(parked, 'cancelled', { type: 'cancelled', reason });
  }

  /** Other open requests of the same scope key, which a remembered decision covers at once. */
  #followers(parked: Parked, decision: ApprovalDecision): readonly Parked[] {
    if ((decision.scope ?? 'call') === 'call') return [];
    return [...this.#parked.values()].filter(
      (other) =>
        other !== parked &&
        !this.#isDue(other) &&
        other.request.rememberable &&
        other.request.scopeKey === parked.request.scopeKey,
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
    const { decision: word, reason, editedInput, answer } = decision;
    const given = {
      ...(own && editedInput !== undefined ? { editedInput } : {}),
      ...(own && answer !== undefined ? { answer } : {}),
    };
    const outcome: ApprovalOutcome =
      word === 'deny'
        ? { type: 'denied', ...(reason === undefined ? {} : { reason }) }
        : { type: 'approved', ...given };
    this.#settle(parked, { decision: word, ...given }, outcome);
  }

  /** A request that was let go of meanwhile has its fact all the same; its call goes on elsewhere. */
  #settle(parked: Parked, how: SettledRequest, outcome: ApprovalOutcome): void {
    this.#options.clock.clearTimeout(parked.timer);
    this.#settled.set(parked.request.id, how);
    if (!this.#parked.delete(parked.request.id)) return;
    const word = typeof how === 'string' ? how : how.decision;
    this.#options.onResolved(parked.request.callId, word);
    parked.resolve(outcome);
  }

  #letGo(parked: Parked): void {
    this.#options.clock.clearTimeout(parked.timer);
    this.#parked.delete(parked.request.id);
    parked.resolve({ type: 'detached' });
  }

  #parkedAt(callId: string): Parked | undefined {
    for (const parked of this.#parked.values()) if (parked.request.callId === callId) return parked;
    return undefined;
  }

  #isDue({ request, expiring }: Parked): boolean {
    const { expiresAt } = request;
    return expiring || (expiresAt !== undefined && expiresAt <= this.#options.clock.now());
  }

  #armExpiry(parked: Parked, expiresAt: number): void {
    const { clock } = this.#options;
    // Timers hold at most 31 bits of milliseconds; a longer wait is armed again.
    const delayMs = Math.min(Math.max(0, expiresAt - clock.now()), 0x7fffffff);
    parked.timer = clock.setTimeout(() => {
      if (clock.now() < expiresAt) this.#armExpiry(parked, expiresAt);
      else this.#startExpiry(parked);
    }, delayMs);
  }

  #startExpiry(parked: Parked): void {
    parked.expiring = true;
    void this.#inOrder(() => this.#expire(parked));
  }

  async #expire(parked: Parked): Promise<void> {
    const { request } = parked;
    parked.expiring = true;
    try {
      await parked.durable;
      if (!this.#parked.has(request.id)) return;
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

type CancelledRequest = Pick<ApprovalRequest, 'id' | 'stepId' | 'callId'>;

function cancelledRecord(turnId: string, request: CancelledRequest, reason: string): NewRecord {
  return {
    type: 'permission.cancelled',
    turn: turnId,
    step: request.stepId,
    call: request.callId,
    data: { request: request.id, reason },
  };
}

function requestedRecord(turnId: string, request: ApprovalRequest): NewRecord {
  const { id, kind, toolName, argsHash, schemaHash, scopeKey, rememberable, expiresAt, question } = request;
  return {
    type: 'permission.requested',
    turn: turnId,
    step: request.stepId,
    call: request.callId,
    data: {
      request: id,
      kind,
      toolName,
      argsHash,
      ...(schemaHash === undefined ? {} : { schemaHash }),
      scopeKey,
      rememberable,
      ...(request.isReplaced ? { input: request.input } : {}),
      ...(expiresAt === undefined ? {} : { expiresAt }),
      ...(question === undefined ? {} : { question }),
    },
  };
}
