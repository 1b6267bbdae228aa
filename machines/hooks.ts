import type { EventOf, MachineKind, StateOf } from './machine-kind.ts';

/**
 * Hooks that are told of a transition and change nothing. Each fires in at least one row of
 * {@link HOOK_ROWS}, which says when.
 */
export const OBSERVER_HOOKS = [
  'onTurnOpening',
  'onTurnOpened',
  'onRequestProjected',
  'onStepStarted',
  'onRequestCaptured',
  'onAttemptStarted',
  'onFirstPart',
  'onStreamEnded',
  'onStepCompleted',
  'onStepFailed',
  'onStepAborted',
  'onRetryScheduled',
  'onCompactionStarted',
  'onCompactionDone',
  'onCompactionSkipped',
  'onOverflowRecovery',
  'onCallsSettled',
  'onApprovalRequested',
  'onApprovalResolved',
  'onStepBoundary',
  'onTurnPaused',
  'onTurnResumed',
  'onTurnClosing',
  'onTurnCompleted',
  'onTurnFailed',
  'onTurnCancelled',
  'onTurnInterrupted',
  'onTurnYielded',
  'onTurnHandedOff',
  'onToolCallReceived',
  'onToolCallRepaired',
  'onToolCallRefused',
  'onPermissionRequested',
  'onPermissionGranted',
  'onPermissionDenied',
  'onToolPrepared',
  'onToolStarted',
  'onToolProgress',
  'onToolSuspended',
  'onToolResumed',
  'onToolAborting',
  'onToolIndeterminate',
  'onToolSettled',
  'onToolFailed',
  'onToolCancelled',
  'onAgentStarted',
  'onAgentWoken',
  'onAgentIdle',
  'onAgentWaiting',
  'onAgentFaulted',
  'onAgentRestarted',
  'onAgentStopping',
  'onAgentStopped',
  'onMessageQueued',
  'onSteeringQueued',
  'onChildSettled',
  'onGraphStarted',
  'onGraphUpdated',
  'onGraphWorkStarted',
  'onGraphWorkSettled',
  'onGraphWaiting',
  'onGraphPaused',
  'onGraphResumed',
  'onGraphClosing',
  'onGraphCompleted',
  'onGraphFailed',
  'onGraphStopped',
] as const;

/** Hooks that are awaited before something happens and may change or refuse it. The runtime runs them. */
export const GATE_HOOKS = [
  /** Admission of an input, before the turn is opened. */
  'beforeTurn',
  /** The projected request, before capacity is judged. */
  'beforeRequest',
  /** The frozen step, before its first attempt. */
  'beforeStep',
  /** Admission of a call, before permission is asked. */
  'beforeToolCall',
  /** A permitted call, before its intent is committed. */
  'beforeToolExecute',
  /** A steering text, before it is injected. */
  'beforeSteering',
  /** Found tools, before they become visible. */
  'beforeActivation',
  /** A fold of history, before it is made. */
  'beforeCompaction',
  /** A child session, before it is opened. */
  'beforeChild',
  /** Another step, before it is decided. */
  'beforeContinue',
  /** The end of a turn; a refusal asks for one more step. */
  'beforeComplete',
] as const;

/** Hooks that run after a fact is durable, with the record type each is bound to. */
export const EFFECT_HOOKS = {
  afterTurn: 'turn.closed',
  afterStep: 'step.closed',
  afterToolCall: 'tool.settled',
  afterSteering: 'steering.injected',
  afterApproval: 'permission.decided',
  afterActivation: 'tools.activated',
  afterCompaction: 'compaction.committed',
  afterChild: 'child.finished',
  afterNode: 'node.finished',
  afterGraph: 'graph.finished',
} as const;

export type ObserverHookName = (typeof OBSERVER_HOOKS)[number];
export type GateHookName = (typeof GATE_HOOKS)[number];
export type EffectHookName = keyof typeof EFFECT_HOOKS;

/** The pseudo-state an instance comes from when it is created. */
export const START_STATE = '(start)';
/** The pseudo-event that creates an instance. */
export const START_EVENT = 'START';

/**
 * One line of the table: on this transition, this hook. `'*'` stands for every state other than `to`, so that
 * an event that leaves a state as it was fires nothing.
 */
export type HookRow = {
  readonly [K in MachineKind]: {
    readonly machine: K;
    readonly from: StateOf<K> | '*' | typeof START_STATE;
    readonly event: EventOf<K>['type'] | typeof START_EVENT;
    readonly to: StateOf<K>;
    readonly hook: ObserverHookName;
  };
}[MachineKind];

type Transition<K extends MachineKind> = readonly [
  from: StateOf<K> | '*' | typeof START_STATE,
  event: EventOf<K>['type'] | typeof START_EVENT,
  to: StateOf<K>,
  hook: ObserverHookName,
];

function rowsOf<K extends MachineKind>(machine: K, transitions: readonly Transition<K>[]) {
  return transitions.map(([from, event, to, hook]) => ({ machine, from, event, to, hook }));
}

const TURN_ROWS = rowsOf('turn', [
  [START_STATE, START_EVENT, 'opening', 'onTurnOpening'],
  ['opening', 'OPENED', 'projecting', 'onTurnOpened'],
  ['projecting', 'PROJECTED', 'stepping', 'onRequestProjected'],
  ['projecting', 'NEEDS_COMPACTION', 'compacting', 'onCompactionStarted'],
  ['compacting', 'COMPACTED', 'projecting', 'onCompactionDone'],
  ['compacting', 'COMPACTION_FAILED', 'projecting', 'onCompactionSkipped'],
  ['stepping', 'STEP_OVERFLOW', 'recovering', 'onOverflowRecovery'],
  ['settling', 'CALL_PARKED', 'waitingForApproval', 'onApprovalRequested'],
  ['waitingForApproval', 'CALL_PARKED', 'waitingForApproval', 'onApprovalRequested'],
  ['waitingForApproval', 'APPROVAL_RESOLVED', 'waitingForApproval', 'onApprovalResolved'],
  ['waitingForApproval', 'APPROVAL_RESOLVED', 'settling', 'onApprovalResolved'],
  ['settling', 'CALL_SETTLED', 'deciding', 'onCallsSettled'],
  ['waitingForApproval', 'CALL_SETTLED', 'deciding', 'onCallsSettled'],
  ['deciding', 'CONTINUE', 'projecting', 'onStepBoundary'],
  ['*', 'PAUSED', 'paused', 'onTurnPaused'],
  ['paused', 'RESUMED', 'waitingForApproval', 'onTurnResumed'],
  ['waitingForApproval', 'RESUMED', 'waitingForApproval', 'onTurnResumed'],
  ['paused', 'RESUMED', 'settling', 'onTurnResumed'],
  ['settling', 'RESUMED', 'settling', 'onTurnResumed'],
  ['paused', 'RESUMED', 'deciding', 'onTurnResumed'],
  ['deciding', 'RESUMED', 'deciding', 'onTurnResumed'],
  ['closing', 'RESUMED', 'closing', 'onTurnResumed'],
  ['*', 'RESUMED', 'projecting', 'onTurnResumed'],
  ['projecting', 'RESUMED', 'projecting', 'onTurnResumed'],
  ['*', 'CANCEL', 'closing', 'onTurnClosing'],
  ['*', 'INTERRUPT', 'closing', 'onTurnClosing'],
  ['*', 'COMMIT_FAILED', 'closing', 'onTurnClosing'],
  ['*', 'BUDGET_EXHAUSTED', 'closing', 'onTurnClosing'],
  ['opening', 'OPENED', 'closing', 'onTurnClosing'],
  ['opening', 'OPEN_FAILED', 'closing', 'onTurnClosing'],
  ['projecting', 'PROJECTION_FAILED', 'closing', 'onTurnClosing'],
  ['compacting', 'COMPACTION_FAILED', 'closing', 'onTurnClosing'],
  ['*', 'STEP_FAILED', 'closing', 'onTurnClosing'],
  ['stepping', 'STEP_OVERFLOW', 'closing', 'onTurnClosing'],
  ['recovering', 'RECOVERY_FAILED', 'closing', 'onTurnClosing'],
  ['deciding', 'CONTINUE', 'closing', 'onTurnClosing'],
  ['deciding', 'FINISH', 'completed', 'onTurnCompleted'],
  ['deciding', 'YIELD', 'yielded', 'onTurnYielded'],
  ['deciding', 'HANDED_OFF', 'handedOff', 'onTurnHandedOff'],
  ['closing', 'CLOSED', 'failed', 'onTurnFailed'],
  ['closing', 'CLOSED', 'cancelled', 'onTurnCancelled'],
  ['closing', 'CLOSED', 'interrupted', 'onTurnInterrupted'],
]);

// The backoff of a step is told of by the step; its mirror in the turn tells nothing.
const STEP_ROWS = rowsOf('step', [
  [START_STATE, START_EVENT, 'capturing', 'onStepStarted'],
  // Once for each attempt, the first included.
  ['capturing', 'CAPTURED', 'dispatching', 'onRequestCaptured'],
  ['dispatching', 'FIRST_PART', 'streaming', 'onFirstPart'],
  ['streaming', 'STREAM_ENDED', 'settlingOutcome', 'onStreamEnded'],
  ['streaming', 'ATTEMPT_FAILED', 'settlingOutcome', 'onStreamEnded'],
  ['streaming', 'IDLE_EXPIRED', 'settlingOutcome', 'onStreamEnded'],
  ['streaming', 'ABORT', 'settlingOutcome', 'onStreamEnded'],
  ['settlingOutcome', 'OUTCOME_RETRYABLE', 'backingOff', 'onRetryScheduled'],
  // A further attempt; the first begins with the step.
  ['backingOff', 'BACKOFF_ELAPSED', 'capturing', 'onAttemptStarted'],
  ['settlingOutcome', 'OUTCOME_COMPLETED', 'completed', 'onStepCompleted'],
  ['settlingOutcome', 'OUTCOME_RETRYABLE', 'failed', 'onStepFailed'],
  ['settlingOutcome', 'OUTCOME_TRUNCATED', 'failed', 'onStepFailed'],
  ['settlingOutcome', 'OUTCOME_TERMINAL', 'failed', 'onStepFailed'],
  ['settlingOutcome', 'OUTCOME_OVERFLOW', 'failed', 'onStepFailed'],
  ['backingOff', 'OUTCOME_TERMINAL', 'failed', 'onStepFailed'],
  ['capturing', 'CAPTURE_FAILED', 'failed', 'onStepFailed'],
  ['*', 'COMMIT_FAILED', 'failed', 'onStepFailed'],
  ['settlingOutcome', 'OUTCOME_ABORTED', 'aborted', 'onStepAborted'],
  ['settlingOutcome', 'OUTCOME_RETRYABLE', 'aborted', 'onStepAborted'],
  ['*', 'ABORT', 'aborted', 'onStepAborted'],
]);

const TOOL_CALL_ROWS = rowsOf('tool-call', [
  [START_STATE, START_EVENT, 'received', 'onToolCallReceived'],
  ['received', 'REPAIRED', 'repaired', 'onToolCallRepaired'],
  ['*', 'REFUSED', 'rejected', 'onToolCallRefused'],
  ['admitted', 'NEEDS_PERMISSION', 'awaitingPermission', 'onPermissionRequested'],
  ['awaitingPermission', 'GRANTED', 'preparing', 'onPermissionGranted'],
  ['awaitingPermission', 'DENIED', 'rejected', 'onPermissionDenied'],
  ['awaitingPermission', 'EXPIRED', 'rejected', 'onPermissionDenied'],
  ['awaitingPermission', 'TURN_CLOSED', 'rejected', 'onPermissionDenied'],
  ['preparing', 'PREPARED', 'prepared', 'onToolPrepared'],
  ['prepared', 'EXECUTE', 'executing', 'onToolStarted'],
  ['executing', 'PROGRESS', 'executing', 'onToolProgress'],
  ['suspended', 'PROGRESS', 'suspended', 'onToolProgress'],
  ['executing', 'SUSPENDED', 'suspended', 'onToolSuspended'],
  ['suspended', 'RESUMED', 'executing', 'onToolResumed'],
  ['*', 'TIMED_OUT', 'aborting', 'onToolAborting'],
  ['*', 'ABORT', 'aborting', 'onToolAborting'],
  ['*', 'OUTCOME_LOST', 'indeterminate', 'onToolIndeterminate'],
  ['*', 'COMMIT_FAILED', 'indeterminate', 'onToolIndeterminate'],
  ['committing', 'COMMITTED', 'settled', 'onToolSettled'],
  ['committing', 'COMMITTED', 'failed', 'onToolFailed'],
  ['committing', 'COMMITTED', 'cancelled', 'onToolCancelled'],
  ['*', 'COMMIT_FAILED', 'commitError', 'onToolFailed'],
  ['preparing', 'PREPARE_FAILED', 'commitError', 'onToolFailed'],
  ['*', 'ABORT', 'cancelled', 'onToolCancelled'],
]);

const AGENT_ROWS = rowsOf('agent', [
  [START_STATE, START_EVENT, 'idle', 'onAgentStarted'],
  ['*', 'MESSAGE', 'running', 'onAgentWoken'],
  ['*', 'WAKE', 'running', 'onAgentWoken'],
  ['waiting', 'WAIT_EXPIRED', 'running', 'onAgentWoken'],
  ['running', 'MESSAGE', 'running', 'onMessageQueued'],
  ['faulted', 'MESSAGE', 'faulted', 'onMessageQueued'],
  ['running', 'STEER', 'running', 'onSteeringQueued'],
  ['running', 'TURN_DONE', 'idle', 'onAgentIdle'],
  ['running', 'TURN_DONE', 'waiting', 'onAgentWaiting'],
  ['running', 'TURN_YIELDED', 'waiting', 'onAgentWaiting'],
  ['running', 'TURN_BROKEN', 'faulted', 'onAgentFaulted'],
  ['faulted', 'RESTART', 'idle', 'onAgentRestarted'],
  ['faulted', 'RESTART', 'running', 'onAgentRestarted'],
  ['faulted', 'RESTART', 'stopped', 'onAgentStopped'],
  ['running', 'STOP', 'stopping', 'onAgentStopping'],
  ['*', 'STOP', 'stopped', 'onAgentStopped'],
  ['stopping', 'TURN_DONE', 'stopped', 'onAgentStopped'],
  ['stopping', 'TURN_YIELDED', 'stopped', 'onAgentStopped'],
  ['stopping', 'TURN_BROKEN', 'stopped', 'onAgentStopped'],
  ['stopping', 'STOP_GRACE_EXPIRED', 'stopped', 'onAgentStopped'],
  ['idle', 'CHILD_DONE', 'idle', 'onChildSettled'],
  ['running', 'CHILD_DONE', 'running', 'onChildSettled'],
  ['waiting', 'CHILD_DONE', 'waiting', 'onChildSettled'],
  ['waiting', 'CHILD_DONE', 'running', 'onChildSettled'],
  ['faulted', 'CHILD_DONE', 'faulted', 'onChildSettled'],
  ['stopping', 'CHILD_DONE', 'stopping', 'onChildSettled'],
]);

const GRAPH_ROWS = rowsOf('graph-supervisor', [
  [START_STATE, START_EVENT, 'empty', 'onGraphStarted'],
  ['empty', 'UPDATED', 'reconciling', 'onGraphUpdated'],
  ['reconciling', 'UPDATED', 'reconciling', 'onGraphUpdated'],
  ['running', 'UPDATED', 'reconciling', 'onGraphUpdated'],
  ['waiting', 'UPDATED', 'reconciling', 'onGraphUpdated'],
  ['reconciling', 'WORK_STARTED', 'reconciling', 'onGraphWorkStarted'],
  ['reconciling', 'WORK_SETTLED', 'reconciling', 'onGraphWorkSettled'],
  ['running', 'WORK_SETTLED', 'reconciling', 'onGraphWorkSettled'],
  ['waiting', 'WORK_SETTLED', 'reconciling', 'onGraphWorkSettled'],
  ['closing', 'WORK_SETTLED', 'closing', 'onGraphWorkSettled'],
  ['reconciling', 'PASS_DONE', 'waiting', 'onGraphWaiting'],
  ['running', 'WORK_PARKED', 'waiting', 'onGraphWaiting'],
  ['waiting', 'PAUSED', 'paused', 'onGraphPaused'],
  ['empty', 'RESUMED', 'reconciling', 'onGraphResumed'],
  ['paused', 'RESUMED', 'reconciling', 'onGraphResumed'],
  ['*', 'FINISH', 'closing', 'onGraphClosing'],
  ['*', 'FAIL', 'closing', 'onGraphClosing'],
  ['*', 'STOP', 'closing', 'onGraphClosing'],
  ['*', 'COMMIT_FAILED', 'closing', 'onGraphClosing'],
  ['closing', 'CLOSED', 'completed', 'onGraphCompleted'],
  ['closing', 'CLOSED', 'failed', 'onGraphFailed'],
  ['closing', 'CLOSED', 'stopped', 'onGraphStopped'],
]);

/** Transition to hook: the only place where the two meet. No two rows match the same transition. */
export const HOOK_ROWS: readonly HookRow[] = Object.freeze([
  ...TURN_ROWS,
  ...STEP_ROWS,
  ...TOOL_CALL_ROWS,
  ...AGENT_ROWS,
  ...GRAPH_ROWS,
]);

/** Hooks of an event by the state it was taken in, and then the next one. */
type HooksOfEvent = Map<string, Map<string, ObserverHookName>>;

/** By machine and event. Looked up name by name: to join them for each transition costs more than to find it. */
const HOOKS = new Map<MachineKind, Map<string, HooksOfEvent>>();
for (const { machine, event, from, to, hook } of HOOK_ROWS) {
  const ofEvent = placed(placed(HOOKS, machine), event);
  placed(ofEvent, from).set(to, hook);
}

/** The map in that place of another one, made if there is none. */
function placed<K, Inner extends Map<string, unknown>>(outer: Map<K, Inner>, key: K): Inner {
  // An empty map is one of anything.
  const inner = outer.get(key) ?? (new Map() as Inner);
  outer.set(key, inner);
  return inner;
}

/** The hook of one transition, or `undefined` where nobody is told. */
export function hookFor(
  machine: MachineKind,
  from: string,
  event: string,
  to: string,
): ObserverHookName | undefined {
  const ofEvent = HOOKS.get(machine)?.get(event);
  const exact = ofEvent?.get(from)?.get(to);
  return exact !== undefined || from === to ? exact : ofEvent?.get('*')?.get(to);
}
