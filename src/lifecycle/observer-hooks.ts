import type { TransitionRecord } from './transition-record.ts';

/**
 * Told of a transition after it happened. It gets a frozen record and is never waited for; what it throws, and
 * a promise that rejects or is not settled within `limits.timeouts.observerMs`, is counted and goes no further.
 */
export type Observer = (record: TransitionRecord) => void | PromiseLike<void>;

/** Observers of a turn. */
export interface TurnObservers {
  /** A turn came to be; nothing of it is durable yet. */
  readonly onTurnOpening?: Observer;
  /** The turn is in the ledger. */
  readonly onTurnOpened?: Observer;
  /** The next request is built and fits. */
  readonly onRequestProjected?: Observer;
  /** History is about to be folded. */
  readonly onCompactionStarted?: Observer;
  readonly onCompactionDone?: Observer;
  /** The fold failed, and the request fits without it. */
  readonly onCompactionSkipped?: Observer;
  /** The provider found the request too large; once a turn a smaller one is made. */
  readonly onOverflowRecovery?: Observer;
  /** Every call of the step has its result. */
  readonly onCallsSettled?: Observer;
  /** A call of the turn waits for a person. */
  readonly onApprovalRequested?: Observer;
  /** A call of the turn waits no longer: decided, expired or cancelled. */
  readonly onApprovalResolved?: Observer;
  /** Another step follows. */
  readonly onStepBoundary?: Observer;
  readonly onTurnPaused?: Observer;
  /** The turn goes on, after a pause or in a new process. */
  readonly onTurnResumed?: Observer;
  /** The turn will fail, be cancelled or be interrupted; what is in flight is being settled. */
  readonly onTurnClosing?: Observer;
  readonly onTurnCompleted?: Observer;
  readonly onTurnFailed?: Observer;
  readonly onTurnCancelled?: Observer;
  readonly onTurnInterrupted?: Observer;
  readonly onTurnYielded?: Observer;
  readonly onTurnHandedOff?: Observer;
}

/** Observers of a step. */
export interface StepObservers {
  /** A step and its first attempt begin; the visible tools are frozen. */
  readonly onStepStarted?: Observer;
  /** The request of an attempt is durable and goes out. Once for each attempt. */
  readonly onRequestCaptured?: Observer;
  /** A further attempt begins after its backoff; the first begins with the step. */
  readonly onAttemptStarted?: Observer;
  readonly onFirstPart?: Observer;
  /** A stream that had begun is over: ended, failed, silent or stopped. */
  readonly onStreamEnded?: Observer;
  /** A further attempt will follow. */
  readonly onRetryScheduled?: Observer;
  readonly onStepCompleted?: Observer;
  readonly onStepFailed?: Observer;
  readonly onStepAborted?: Observer;
}

/** Observers of a tool call. */
export interface ToolCallObservers {
  readonly onToolCallReceived?: Observer;
  /** Name or arguments were mended. */
  readonly onToolCallRepaired?: Observer;
  /** The call was turned away; nothing ran. */
  readonly onToolCallRefused?: Observer;
  /** A person has to decide on the call. */
  readonly onPermissionRequested?: Observer;
  readonly onPermissionGranted?: Observer;
  /** Denied, expired, or the turn ended first. */
  readonly onPermissionDenied?: Observer;
  /** The intent to execute is durable. */
  readonly onToolPrepared?: Observer;
  /** The implementation is entered; from here it may act on the world. */
  readonly onToolStarted?: Observer;
  readonly onToolProgress?: Observer;
  /** A child of the call waits for a person; the time limit stands still. */
  readonly onToolSuspended?: Observer;
  readonly onToolResumed?: Observer;
  /** The signal of the implementation aborts. */
  readonly onToolAborting?: Observer;
  /** Nobody can say what became of the execution. */
  readonly onToolIndeterminate?: Observer;
  readonly onToolSettled?: Observer;
  /** It failed, or a fact before its execution could not be written. */
  readonly onToolFailed?: Observer;
  /** It was stopped, before or while it ran. */
  readonly onToolCancelled?: Observer;
}

/** Observers of the actor of a session. */
export interface AgentObservers {
  readonly onAgentStarted?: Observer;
  /** A turn starts at rest: by a message, a graph, a schedule or a wait that ran out. */
  readonly onAgentWoken?: Observer;
  /** A turn ended and nothing else is to be done. */
  readonly onAgentIdle?: Observer;
  /** A turn ended while children or a graph are at work. */
  readonly onAgentWaiting?: Observer;
  readonly onAgentFaulted?: Observer;
  readonly onAgentRestarted?: Observer;
  readonly onAgentStopping?: Observer;
  readonly onAgentStopped?: Observer;
  readonly onMessageQueued?: Observer;
  readonly onSteeringQueued?: Observer;
  /** A child ended. */
  readonly onChildSettled?: Observer;
}

/** Observers of a graph's supervisor: of a graph in code, or of a schedule that a model makes. */
export interface GraphObservers {
  readonly onGraphStarted?: Observer;
  /** The schedule has a new revision. */
  readonly onGraphUpdated?: Observer;
  /** A work was admitted and is about to run. */
  readonly onGraphWorkStarted?: Observer;
  /** A work has its outcome, or was left in the ledger. */
  readonly onGraphWorkSettled?: Observer;
  /** Nothing can go on until a person, a timer or an update comes. */
  readonly onGraphWaiting?: Observer;
  readonly onGraphPaused?: Observer;
  /** The graph goes on, in a new process or after a pause. */
  readonly onGraphResumed?: Observer;
  /** The graph ends; what is under way is being stopped or waited for. */
  readonly onGraphClosing?: Observer;
  readonly onGraphCompleted?: Observer;
  readonly onGraphFailed?: Observer;
  readonly onGraphStopped?: Observer;
}
