import type { Clock } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import { readEvents } from '../events/event-reader.ts';
import type { RunEvent } from '../events/event-schemas.ts';
import { createLiveBus, type LiveBus } from '../events/live-bus.ts';
import { type IdSource, isSessionId, newRunId, newSessionId, type SessionId } from '../ids.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Limits } from '../limits.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';
import { checkDiscovery, type DiscoveryOptions } from '../tools/discovery-policy.ts';
import type { BudgetOptions } from '../turn/run-budget.ts';
import { ActiveRun } from './active-run.ts';
import type { ClientTools } from './client-tools.ts';
import type { RecordedRun } from './recorded-job.ts';
import type { Run, RunEventOptions } from './run.ts';
import type { SessionJob } from './session-parts.ts';
import type { SessionRegistry } from './session-registry.ts';
import { stopReason } from './stop-reason.ts';
import { refusedOutcome } from './turn-outcome.ts';

/** Options of `runtime.run`; `context` is required where a tool of the agent needs one. */
export type RunOptions<Context = unknown> = RunSettings & {
  /**
   * Tools this run brings along, beside the agent's and under the same ceiling: deferred where it pays, unless they
   * say otherwise. Tools given one by one are grouped as `client`.
   */
  readonly clientTools?: ClientTools<Context>;
} & (unknown extends Context ? { readonly context?: unknown } : { readonly context: Context });

/** Options of a run that do not depend on its context. */
export interface RunSettings {
  /** Session to go on with; a new one by default. One subject token: `[A-Za-z0-9_-]`, at most 64 characters. */
  readonly sessionId?: string;
  /** Id of the run, for who has to know it before: it is in every fact of the run. As a session id; fresh by default. */
  readonly runId?: string;
  /** Cancels the run. */
  readonly signal?: AbortSignal;
  /** `wait` (default) keeps the run alive while a person is asked; `pause` resolves it as paused. */
  readonly onApproval?: 'wait' | 'pause';
  /** A hard ceiling: names of tools this run may use at most. */
  readonly boundTools?: readonly string[];
  readonly budget?: BudgetOptions;
  /** How tools are found in this run; what it does not say is said by the agent, then the runtime. */
  readonly discovery?: DiscoveryOptions;
}

/** What a run in this process is started with. */
export interface StartSettings extends RunSettings {
  readonly context?: unknown;
  /** Tells in the ledger what becomes of the run. */
  readonly recorded?: RecordedRun;
}

/** What a run is started with, resolved. */
export interface StartParts {
  readonly registry: SessionRegistry;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly limits: Limits;
  readonly ledger: Promise<Ledger>;
  /** @throws SwarmError 'runtime-closed' */
  assertOpen(): void;
}

/** Makes the run of a job and hands the job to its session. Synchronous: the session id is known at once. */
export function startRun(
  start: StartParts,
  options: StartSettings,
  jobOf: (run: ActiveRun, sessionId: SessionId) => SessionJob | Promise<SessionJob>,
): Run<unknown> {
  const { ids, clock, limits } = start;
  checkDiscovery(options.discovery, 'the run');
  const { sessionId, runId } = idsOfRun(options, ids);
  const { recorded } = options;
  const live = createLiveBus(limits.events);
  const run = new ActiveRun({
    runId,
    context: options.context,
    onApproval: options.onApproval ?? 'wait',
    budget: options.budget ?? {},
    live,
    clock,
    ids,
    signal: options.signal,
    steeringQueue: limits.steeringQueue,
    unit: recorded?.unit,
  });
  const startPosition = submit(start, run, sessionId, async () => {
    const job = await jobOf(run, sessionId);
    return recorded?.around(job, run) ?? job;
  });
  return handleOf({ start, run, sessionId, live, startPosition });
}

/** Ids of a run: those that were given, else fresh ones. @throws SwarmError 'invalid-input' */
export function idsOfRun(
  { sessionId, runId }: Pick<RunSettings, 'sessionId' | 'runId'>,
  ids: IdSource,
): { readonly sessionId: SessionId; readonly runId: string } {
  return {
    sessionId: sessionId === undefined ? newSessionId(ids) : checkedSessionId(sessionId),
    runId: runId === undefined ? newRunId(ids) : checkedRunId(runId),
  };
}

/** @throws SwarmError 'invalid-input' */
function checkedSessionId(sessionId: string): SessionId {
  if (isSessionId(sessionId)) return sessionId;
  throw new SwarmError('invalid-input', 'a session id matches [A-Za-z0-9_-]{1,64}');
}

/** @throws SwarmError 'invalid-input' */
function checkedRunId(runId: string): string {
  if (isSessionId(runId)) return runId;
  throw new SwarmError('invalid-input', 'the id of a run matches [A-Za-z0-9_-]{1,64}');
}

/** Resolves with the ledger position before the first fact of the run. */
async function submit(
  start: StartParts,
  run: ActiveRun,
  sessionId: SessionId,
  jobOf: () => Promise<SessionJob>,
): Promise<number> {
  try {
    const ledger = await start.ledger;
    // Events of a run that a worker has are read by whoever gave it.
    const position = run.unit === undefined ? await ledger.position() : 0;
    const job = await jobOf();
    start.assertOpen();
    // A run that is taken up may have come to another session: its own, or one derived from it.
    const actor = start.registry.actorFor(job.identity.session as SessionId, ledger);
    // A turn that is open in the ledger is closed like any other that is stopped; a new one is never opened.
    if (job.wakes === 'message') run.wait(() => actor.withdraw(job));
    if (run.isSettled) return position;
    if (actor.submit(job) === 'mailbox-full') {
      run.ended(refusedOutcome({ kind: 'mailbox-full', message: `the mailbox of ${sessionId} is full` }));
    }
    return position;
  } catch (error) {
    const kind = error instanceof SwarmError ? error.code : 'ledger-unavailable';
    run.ended(refusedOutcome({ kind, message: error instanceof Error ? error.message : String(error) }));
    return 0;
  }
}

/** The inner side of a run, as its handle asks it. */
export type RunSide = Pick<
  ActiveRun,
  'result' | 'successors' | 'steer' | 'stop' | 'stopAfterStep' | 'pause'
> & { readonly scope: { readonly runId: string } };

/** What the handle of a run is made of. */
export interface HandleParts {
  readonly start: Pick<StartParts, 'ledger'>;
  readonly run: RunSide;
  readonly sessionId: string;
  readonly live: LiveBus;
  readonly startPosition: Promise<number>;
}

const EVENT_OPTIONS: OptionNames<RunEventOptions> = { tree: true, from: true, content: true, signal: true };

/** What the caller of a run gets. */
export function handleOf(parts: HandleParts): Run<unknown> {
  const { run, sessionId, live } = parts;
  return {
    id: run.scope.runId,
    sessionId,
    result: run.result,
    events(options = {}) {
      assertOptions('run.events', options, EVENT_OPTIONS);
      return runEvents(parts, options);
    },
    text: () => textOf(live, (session) => session === sessionId || run.successors.has(session)),
    steer: (text) => run.steer(text),
    cancel: (reason) =>
      run.stop({ type: 'cancelled', reason: stopReason(reason ?? 'cancelled by the caller') }),
    stopAfterStep: () => run.stopAfterStep(),
    pause: () => run.pause(),
  };
}

/** Attached when called, so that no text between the call and the first read is missed. */
function textOf(live: LiveBus, isWanted: (session: string) => boolean): AsyncIterable<string> {
  const parts = live.read({ wants: (delta) => delta.type === 'text-delta' && isWanted(delta.session) });
  return (async function* () {
    for await (const part of parts) if (part.type === 'text-delta') yield part.text;
  })();
}

/** Without `from`, what other runs do in the session meanwhile is left out: they may share its time. */
async function* runEvents(parts: HandleParts, options: RunEventOptions): AsyncGenerator<RunEvent> {
  const { start, run, sessionId, startPosition } = parts;
  const after = await startPosition;
  const ledger = await start.ledger;
  // Everything the run caused is durable when it settles.
  const until = run.result.then(() => ledger.position());
  const runId = run.scope.runId;
  for await (const event of readEvents(ledger, {
    root: sessionId,
    session: sessionId,
    after,
    until,
    ...options,
  })) {
    if (options.from !== undefined || event.run === undefined || event.run === runId) yield event;
  }
}
