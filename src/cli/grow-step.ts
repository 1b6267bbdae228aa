import type { RunEvent } from '../events/event-schemas.ts';
import { failureWords } from './failure-words.ts';
import type { StepNode } from './run-tree.ts';

/** The step of id `id` after an event of it; `before` is undefined for the first one that is seen. */
export function growStep(before: StepNode | undefined, event: RunEvent, id: string): StepNode {
  const step = before ?? newStep(event, id);
  switch (event.type) {
    case 'step.started':
      // A resumed turn may start the same step again.
      return { ...step, index: event.data.index, state: 'running', usage: undefined, failure: undefined };
    case 'attempt.started':
      return { ...step, attempt: event.data.attempt, retry: undefined };
    case 'attempt.failed': {
      const { failure, message } = event.data;
      return { ...step, lastFailure: failureWords({ ...failure, message }) };
    }
    case 'attempt.retry-scheduled': {
      const { reason, delayMs } = event.data;
      const next = `next attempt in ${Math.ceil(delayMs / 1_000)} s`;
      // The time first: of a long message a narrow window shows the beginning.
      return { ...step, retry: `${next}: ${step.lastFailure ?? reason}` };
    }
    case 'step.completed':
      return { ...step, state: 'completed', retry: undefined, usage: event.data.usage ?? {} };
    case 'step.failed': {
      const { status, usage, failure, message } = event.data;
      const why = failure === undefined ? message : failureWords({ ...failure, message });
      return {
        ...step,
        state: status,
        retry: undefined,
        // What was cut off cost something that nobody will report.
        usage: usage ?? {},
        failure: why,
      };
    }
    default:
      return step;
  }
}

function newStep(event: RunEvent, id: string): StepNode {
  return {
    id,
    index: Number(id.slice(id.lastIndexOf('.') + 1)) || 1,
    // Calls of a step whose beginning is not among the events: it was completed, or they would not be.
    state: event.call === undefined ? 'running' : 'completed',
    startedAt: Date.parse(event.ts),
    attempt: 1,
    lastFailure: undefined,
    retry: undefined,
    usage: undefined,
    failure: undefined,
    calls: [],
  };
}
