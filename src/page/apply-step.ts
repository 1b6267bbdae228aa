import type { RunEvent } from '../events/event-schemas.ts';
import { ancestry, type Model, nodeOf, setState, timeOf } from './node-tree.ts';
import type { ActorNode } from './nodes.ts';

/** What an event says of its step. */
export function applyStep(model: Model, event: RunEvent, id: string): void {
  const index = Number(id.slice(id.lastIndexOf('.') + 1)) || 1;
  const isNew = !model.nodes.has(id);
  const parent = event.turn ?? event.session;
  const step = nodeOf(model, id, 'step', { event, parent, name: `step ${index}` });
  step.facts.index = index;
  // Calls of a step whose beginning is not among the events: it was completed, or they would not be.
  if (isNew)
    setState(
      step,
      event.call === undefined ? 'running' : 'completed',
      event.call === undefined ? 'busy' : 'good',
    );
  if (event.call === undefined) step.events.push(event);
  noteTools(step, event);
  changeStep(model, step, event);
}

function changeStep(model: Model, step: ActorNode, event: RunEvent): void {
  switch (event.type) {
    case 'step.started':
      step.endedAt = undefined;
      step.reason = undefined;
      setState(step, 'running', 'busy');
      return;
    case 'attempt.started':
      step.facts.attempt = event.data.attempt;
      setState(step, 'running', 'busy');
      return;
    case 'attempt.retry-scheduled':
      step.reason = `${event.data.reason}, next attempt in ${Math.ceil(event.data.delayMs / 1000)} s`;
      setState(step, 'backing off', 'waiting');
      return;
    case 'step.completed':
      step.endedAt = timeOf(event);
      step.reason = undefined;
      if (event.data.finish !== undefined) step.facts.finish = event.data.finish;
      setState(step, 'completed', 'good');
      spend(model, step, event.data.usage);
      return;
    case 'step.failed': {
      const { failure, message, status, usage } = event.data;
      if (failure !== undefined) step.facts.failure = failure.kind;
      step.endedAt = timeOf(event);
      step.reason = [failure?.kind, message].filter((word) => word !== undefined).join(': ') || undefined;
      setState(step, status, status === 'aborted' ? 'stopped' : 'bad');
      spend(model, step, usage);
      return;
    }
    default:
      return;
  }
}

function noteTools(step: ActorNode, event: RunEvent): void {
  const { facts } = step;
  switch (event.type) {
    case 'step.started': {
      const { visible, active, schemaChars, toolsChange } = event.data;
      Object.assign(facts, { visible, active, schemaChars });
      if (toolsChange !== undefined) facts.toolsChange = toolsChange;
      return;
    }
    case 'discovery.searched': {
      const { query, ranked, activated, alreadyActive, omittedByBytes, omittedByLimit, schemaChars } =
        event.data;
      const omitted = omittedByBytes + omittedByLimit;
      facts.searches ??= [];
      facts.searches.push({ query, ranked, activated, alreadyActive, omitted, schemaChars });
      return;
    }
    case 'discovery.activated':
      facts.activated = [...(facts.activated ?? []), ...event.data.names];
      return;
    default:
      return;
  }
}

interface UsageFacts {
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly costUsd?: number | undefined;
}

/** A step costs everything it is part of. */
function spend(model: Model, step: ActorNode, usage: UsageFacts | undefined): void {
  if (usage === undefined) return;
  for (const { spent } of ancestry(model, step.id)) {
    spent.inputTokens += usage.inputTokens ?? 0;
    spent.outputTokens += usage.outputTokens ?? 0;
    spent.costUsd += usage.costUsd ?? 0;
  }
}
