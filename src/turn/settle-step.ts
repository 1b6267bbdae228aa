import { withArguments } from '../ledger/call-arguments.ts';
import type { CallFacts } from '../ledger/turn-facts.ts';
import { callStatus, foldSession, hasResult } from '../ledger/turn-facts.ts';
import type { BoundTool } from '../tools/binding.ts';
import { type IndeterminateDecision, reconcileCall } from '../tools/reconcile-call.ts';
import type { Settlement, SettlementScope } from '../tools/settlement.ts';
import { settleCall } from '../tools/settlement.ts';
import { createStepAdmission, type StepAdmission } from '../tools/step-admission.ts';
import { type CallSlots, createCallSlots } from './call-slots.ts';
import { exceededRecord } from './run-budget.ts';
import type { TurnScope } from './turn-scope.ts';

/** Calls of one step and the view of tools they were made under. */
export interface StepCalls {
  readonly calls: readonly CallFacts[];
  readonly visible: readonly BoundTool[];
  readonly cutOff: boolean;
  readonly toolsForbidden: boolean;
  /** What is to become of calls whose outcome an earlier process left open, by call id. */
  readonly decisions: ReadonlyMap<string, IndeterminateDecision>;
}

/** How the calls of a step ended together. */
export type CallsEnd =
  | { readonly type: 'settled'; readonly endsTurn: boolean }
  /** Every call that is still open waits for somebody elsewhere, and the turn is to leave the process. */
  | {
      readonly type: 'paused';
      readonly reason: 'approval' | 'indeterminate' | 'children';
      readonly open: readonly string[];
    };

/**
 * Settles all calls of a step at the same time and waits for every one of them, also when one fails to become
 * durable: that failure is thrown only after its siblings have finished. Calls an earlier process entered come
 * first: while the outcome of one is unknown and nobody has decided on it, nothing else of the step is started.
 * @throws SwarmError of the first commit that failed
 */
export async function settleStep(scope: TurnScope, step: StepCalls): Promise<CallsEnd> {
  const order = inOrder(scope, step);
  const slots = createCallSlots(
    scope.plan.limits.toolConcurrency,
    () => scope.steering.size > 0 || scope.stop.signal.aborted,
  );
  const together = [...order.entered, ...order.fresh];
  const watch = createParkWatch(scope, slots, new Set(together.map(({ callId }) => callId)));
  const settlement = settlementScope(scope, step, { slots, watch });
  const settle = (call: CallFacts) =>
    settleOne(call, settlement, step).then(
      (result): Settled => {
        if (result.type === 'settled' || result.type === 'refused')
          scope.machine.send({ type: 'CALL_SETTLED', callId: call.callId });
        watch.settled(call.callId);
        return { type: 'done', call, result };
      },
      (error: unknown): Settled => {
        watch.broken(call.callId);
        return { type: 'broken', error };
      },
    );
  try {
    return await settleInOrder(scope, step, { order, settle });
  } finally {
    watch.close();
  }
}

interface Settling {
  readonly order: OrderedCalls;
  readonly settle: (call: CallFacts) => Promise<Settled>;
}

async function settleInOrder(
  scope: TurnScope,
  step: StepCalls,
  { order, settle }: Settling,
): Promise<CallsEnd> {
  const entered = await settleEntered(order.entered, scope, settle);
  if (entered.some(isLost)) {
    // From here on the turn pauses: a stop that comes now finds nothing to stop.
    scope.stop.seal();
    return callsEnd(entered, step);
  }
  const settled = [...entered, ...(await Promise.all(order.fresh.map(settle)))];
  const results = isStopped(scope) ? await stopSessions(scope, settled, settle) : settled;
  if (results.some(isOpen)) {
    // From here on the turn pauses. One that stays open may still need it: nobody takes over before it has its result.
    scope.stop.seal();
    return callsEnd(results, step);
  }
  for (const call of order.last) results.push(await settle(call));
  return callsEnd(results, step);
}

/** Sessions of a call that paused before the turn was stopped are stopped as well: the call is taken up to end it. */
async function stopSessions(
  { session, tools, turnId }: TurnScope,
  results: readonly Settled[],
  settle: (call: CallFacts) => Promise<Settled>,
): Promise<Settled[]> {
  const stopped: Settled[] = [];
  for (const one of results) {
    const bound = one.type === 'done' ? tools.binding.byName(one.call.called.data.toolName) : undefined;
    if (one.type === 'broken' || !isOpen(one) || bound?.waitsForSessions !== true) {
      stopped.push(one);
      continue;
    }
    const { ledger, sessionId, lifecycle } = session;
    const turn = foldSession(await ledger.read(sessionId)).turns.find((known) => known.turnId === turnId);
    const call =
      turn === undefined ? undefined : (await withArguments(turn, ledger)).calls.get(one.call.callId);
    lifecycle.stopTree(one.call.callId);
    stopped.push(await settle(call ?? one.call));
  }
  return stopped;
}

interface OrderedCalls {
  /** An earlier process entered them, and they may have acted: they come first. */
  readonly entered: readonly CallFacts[];
  readonly fresh: readonly CallFacts[];
  /** What hands the turn over, in call order. */
  readonly last: readonly CallFacts[];
}

function inOrder({ tools }: TurnScope, { calls }: StepCalls): OrderedCalls {
  const open = calls.filter((call) => !hasResult(call));
  const boundOf = (call: CallFacts) => tools.binding.byName(call.called.data.toolName);
  const isLast = (call: CallFacts) => boundOf(call)?.handsOver === true;
  // Sessions of an earlier process are found again: nobody has to decide on them, so nothing waits for that.
  const isUnknown = (call: CallFacts) => isEntered(call) && boundOf(call)?.waitsForSessions !== true;
  return {
    entered: open.filter((call) => isUnknown(call) && !isLast(call)),
    fresh: open.filter((call) => !isUnknown(call) && !isLast(call)),
    last: open.filter(isLast),
  };
}

type Settled =
  | { readonly type: 'done'; readonly call: CallFacts; readonly result: Settlement }
  | { readonly type: 'broken'; readonly error: unknown };

/** Has T1 and no T2: an earlier process entered it. It is decided on, never run on its own. */
function isEntered(call: CallFacts): boolean {
  return callStatus(call) === 'dispatched';
}

/** Has no outcome yet: the turn pauses with it. One that could not be written ends the turn. */
function isOpen(one: Settled): boolean {
  return one.type === 'broken' || one.result.type === 'detached' || one.result.type === 'indeterminate';
}

function waitsForChildren(one: Settled): boolean {
  return one.type === 'done' && one.result.type === 'detached' && one.result.waitsFor === 'children';
}

function isLost(one: Settled): boolean {
  return one.type === 'done' && one.result.type === 'indeterminate';
}

/** In order where the agent allows no more at once; those nobody decided on are given up if the turn was stopped. */
async function settleEntered(
  calls: readonly CallFacts[],
  scope: TurnScope,
  settle: (call: CallFacts) => Promise<Settled>,
): Promise<readonly Settled[]> {
  const results: Settled[] = [];
  if (Number.isFinite(scope.plan.limits.toolConcurrency)) {
    for (const call of calls) results.push(await settle(call));
  } else {
    results.push(...(await Promise.all(calls.map(settle))));
  }
  for (const [at, one] of results.entries()) {
    // A stop may have come after the call was found to be unknown: then it is settled like all others.
    if (isStopped(scope) && one.type === 'done' && isLost(one)) results[at] = await settle(one.call);
  }
  return results;
}

/** Stopped for good, not only on its way out of this process. */
function isStopped({ stop }: TurnScope): boolean {
  return stop.cause !== undefined && stop.cause.type !== 'detached';
}

/** In a turn that was stopped, a call whose outcome is unknown is given up. */
async function settleOne(call: CallFacts, scope: SettlementScope, step: StepCalls): Promise<Settlement> {
  if (!isEntered(call)) return settleCall(call, scope);
  const bound = scope.binding.byName(call.called.data.toolName);
  // Entered once more also where the turn was stopped: its sessions have to be stopped as well.
  if (bound?.waitsForSessions === true) return reconcileCall(call, scope, 'block');
  if (!scope.signal.aborted) {
    return reconcileCall(call, scope, step.decisions.get(call.callId) ?? 'block');
  }
  return scope.leaves ? { type: 'indeterminate' } : reconcileCall(call, scope, 'abandon');
}

function callsEnd(results: readonly Settled[], step: StepCalls): CallsEnd {
  for (const one of results) if (one.type === 'broken') throw one.error;
  const idsOf = (type: Settlement['type']) =>
    results.flatMap((one) => (one.type === 'done' && one.result.type === type ? [one.call.callId] : []));
  const indeterminate = idsOf('indeterminate');
  if (indeterminate.length > 0) return { type: 'paused', reason: 'indeterminate', open: indeterminate };
  const parked = idsOf('detached');
  const isElsewhere = results.some(waitsForChildren);
  if (parked.length > 0)
    return { type: 'paused', reason: isElsewhere ? 'children' : 'approval', open: parked };
  const endsBefore = step.calls.some((call) => call.settled?.data.endsTurn === true);
  const endsTurn = results.some(
    (one) => one.type === 'done' && one.result.type === 'settled' && one.result.endsTurn,
  );
  return { type: 'settled', endsTurn: endsBefore || endsTurn };
}

interface ParkWatch {
  parked(): void;
  settled(callId: string): void;
  /** A fact of the call could not be made durable: whatever a person decides, the turn will not go on here. */
  broken(callId: string): void;
  /** Every call has been waited for. */
  close(): void;
}

/**
 * Lets go of the parked calls as soon as nothing else of the step runs: with `onApproval: 'pause'`, where the turn
 * is to pause, and where it is broken.
 */
function createParkWatch(scope: TurnScope, slots: CallSlots, open: Set<string>): ParkWatch {
  const { approvals, run, stop } = scope;
  let letsGo = run.onApproval === 'pause' || stop.pauses;
  const check = () => {
    // A stop has its own end for each of them.
    if (!letsGo || approvals.openCount === 0 || stop.signal.aborted) return;
    for (const callId of open) if (!approvals.isParked(callId) && !slots.isWaiting(callId)) return;
    // From here on the turn pauses: a stop that comes now finds nothing to stop.
    stop.seal();
    slots.detach();
    approvals.detach();
  };
  const pauses = () => {
    letsGo = true;
    check();
  };
  stop.pausesSignal.addEventListener('abort', pauses, { once: true });
  return {
    parked: check,
    settled(callId) {
      open.delete(callId);
      check();
    },
    broken(callId) {
      letsGo = true;
      open.delete(callId);
      check();
    },
    close: () => stop.pausesSignal.removeEventListener('abort', pauses),
  };
}

/** A call that has its result from an earlier process keeps the place it took among those of the step. */
function stepAdmission({ tools }: TurnScope, { calls }: StepCalls): StepAdmission {
  const admission = createStepAdmission();
  for (const call of calls) {
    const bound = tools.binding.byName(call.called.data.toolName);
    if (!hasResult(call) || bound === undefined) continue;
    const availability = tools.availability(call.called.data);
    if (availability === 'callable' || availability === 'untaught') admission.admit(call.callId, bound);
  }
  return admission;
}

/** Who took over already; the event says that this one did not. */
function takenBy({ progress, session, turnId }: TurnScope, call: CallFacts): string | undefined {
  const { handoff } = progress;
  if (handoff === undefined) return undefined;
  const to = call.called.data.toolName.replace(/^transfer_to_/, '');
  const place = { turn: turnId, step: call.stepId, call: call.callId };
  // The refusal itself is committed after it, which is where a store that fails is told.
  session.log
    .commit([{ type: 'handoff.refused', ...place, data: { to, reason: 'not-taken' } }])
    .catch(() => undefined);
  return handoff.to;
}

function reserveCall({ run, session, turnId }: TurnScope): string | undefined {
  const refusal = run.budget.reserveCall();
  // The refusal itself is committed after it, which is where a store that fails is told.
  if (refusal?.isFirst === true) session.log.commit([exceededRecord(turnId, refusal)]).catch(() => undefined);
  return refusal?.budget;
}

interface StepPorts {
  readonly slots: CallSlots;
  readonly watch: ParkWatch;
}

function settlementScope(scope: TurnScope, step: StepCalls, { slots, watch }: StepPorts): SettlementScope {
  const { session, plan, run, approvals, machine } = scope;
  return {
    sessionId: session.sessionId,
    rootId: session.rootId,
    turnId: scope.turnId,
    agentPath: session.agentPath,
    epoch: session.log.epoch,
    context: run.context,
    limits: plan.limits,
    clock: session.clock,
    signal: scope.stop.signal,
    get leaves() {
      return scope.stop.cause?.type === 'detached';
    },
    artifacts: session.ledger,
    lifecycle: session.lifecycle,
    approvals,
    permission: plan.permission,
    binding: scope.tools.binding,
    visible: step.visible,
    isWithdrawn: (toolName) => scope.tools.isWithdrawn(toolName),
    availability: (call) => scope.tools.availability(call.called.data),
    shapeGate: scope.tools.shapeGate,
    discovery: plan.discovery,
    activations: scope.tools.activations,
    admission: stepAdmission(scope, step),
    loopGate: scope.loopGate,
    cutOff: step.cutOff,
    toolsForbidden: step.toolsForbidden,
    commit: (batch) => session.log.commit(batch),
    gate: (name, subject) => plan.gates.run(name, subject, scope.stop.signal),
    takenBy: (call) => takenBy(scope, call),
    reserveCall: () => reserveCall(scope),
    enterSlot: (callId) => slots.enter(callId),
    onParked(callId, again) {
      // A restored turn counts those that waited before.
      if (!again) machine.send({ type: 'CALL_PARKED', callId });
      scope.people.add();
      watch.parked();
    },
    onSuspended(callId, isSuspended) {
      if (isSuspended) machine.send({ type: 'CALL_PARKED', callId });
      else machine.send({ type: 'APPROVAL_RESOLVED', callId, decision: 'approve' });
      if (isSuspended) scope.people.add();
      else scope.people.remove();
    },
    onLate: (record) => session.report(record),
  };
}
