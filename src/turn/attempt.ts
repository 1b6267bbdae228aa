import type { Clock } from '../clock.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { Limits } from '../limits.ts';
import type {
  ModelAdapter,
  ModelFailure,
  StepEvent,
  StepOutcome,
  StepReport,
  StepRequest,
} from '../model/adapter.ts';
import { type Silence, startWatchdog } from './watchdog.ts';

/** How one physical request ended. */
export type AttemptEnd =
  | { readonly type: 'completed'; readonly outcome: Extract<StepOutcome, { type: 'completed' }> }
  | {
      readonly type: 'failed';
      readonly cause: 'failure' | 'idle' | 'truncated';
      readonly failure: ModelFailure;
      readonly report: StepReport;
    }
  | { readonly type: 'aborted'; readonly report: StepReport };

export interface AttemptOptions {
  readonly model: ModelAdapter;
  readonly request: StepRequest;
  readonly machine: Lifecycle<'step'>;
  readonly clock: Clock;
  readonly timeouts: Limits['timeouts'];
  readonly signal: AbortSignal;
  /** Parts worth showing, as they come. Must not throw. */
  onEvent(event: StepEvent): void;
}

/** Makes one request and sees it to its end, under the connect and idle watchdogs. Never rejects. */
export async function runAttempt(options: AttemptOptions): Promise<AttemptEnd> {
  const { machine, signal } = options;
  const own = new AbortController();
  let silence: Silence | undefined;
  const onAbort = () => {
    machine.send({ type: 'ABORT' });
    own.abort();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  const watchdog = startWatchdog({
    clock: options.clock,
    connectMs: options.timeouts.connectMs,
    idleMs: options.timeouts.idleMs,
    onSilence(which) {
      silence = which;
      own.abort();
    },
  });
  try {
    if (signal.aborted) onAbort();
    const stream = options.model.step(options.request, {
      signal: own.signal,
      onActivity: activity(machine, watchdog),
    });
    const noteOutput = outputNoter(machine);
    for await (const event of stream.events) {
      noteOutput(event);
      options.onEvent(event);
    }
    const outcome = await stream.outcome;
    return endOf(outcome, silence, signal);
  } finally {
    watchdog.stop();
    signal.removeEventListener('abort', onAbort);
  }
}

/** Tells the machine of the first part only: no token passes through it. */
function activity(machine: Lifecycle<'step'>, watchdog: { touch(): void }): () => void {
  return () => {
    watchdog.touch();
    if (machine.state === 'dispatching') machine.send({ type: 'FIRST_PART' });
  };
}

/** Tells the machine once of the first thinking and once of the first output. */
function outputNoter(machine: Lifecycle<'step'>): (event: StepEvent) => void {
  let thinking = false;
  let output = false;
  return (event) => {
    if (event.type === 'warning' || output) return;
    if (event.type === 'reasoning-delta') {
      if (thinking) return;
      thinking = true;
      machine.send({ type: 'OUTPUT_EMITTED', what: 'thinking' });
      return;
    }
    output = true;
    machine.send({ type: 'OUTPUT_EMITTED', what: 'output' });
  };
}

function endOf(outcome: StepOutcome, silence: Silence | undefined, signal: AbortSignal): AttemptEnd {
  // The caller's stop wins over everything, a finished answer included.
  if (signal.aborted) return { type: 'aborted', report: outcome.report };
  if (silence !== undefined && outcome.type !== 'completed') {
    const cause = silence === 'idle' ? 'idle' : 'failure';
    return { type: 'failed', cause, failure: silenceFailure(silence), report: outcome.report };
  }
  switch (outcome.type) {
    case 'completed':
      return { type: 'completed', outcome };
    case 'truncated':
      return { type: 'failed', cause: 'truncated', failure: outcome.failure, report: outcome.report };
    case 'failed':
      return { type: 'failed', cause: 'failure', failure: outcome.failure, report: outcome.report };
    case 'aborted':
      return { type: 'aborted', report: outcome.report };
  }
}

function silenceFailure(silence: Silence): ModelFailure {
  const phase = silence === 'connect' ? 'connect' : 'stream';
  const what = silence === 'connect' ? 'no answer began' : 'the answer stopped';
  return {
    kind: 'timeout',
    detail: silence,
    message: `${what} within the time limit`,
    retryable: true,
    phase,
  };
}
