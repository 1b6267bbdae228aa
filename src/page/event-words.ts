import type { RunEvent } from '../events/event-schemas.ts';
import { count, formatCount, formatElapsed, formatUsd } from './format.ts';
import { pauseWords } from './pause-words.ts';

const MAX_CHARS = 240;

/** What an event says, on one line, in the order in which people ask. */
export function eventWords(event: RunEvent): string {
  const words = wordsOf(event).filter((word) => word !== undefined && word !== '');
  return words.join(' · ').replaceAll('\n', ' ').slice(0, MAX_CHARS);
}

type Words = readonly (string | undefined)[];

function wordsOf(event: RunEvent): Words {
  switch (event.kind) {
    case 'tool':
      return toolWords(event);
    case 'step':
    case 'attempt':
      return stepWords(event);
    case 'discovery':
      return discoveryWords(event);
    case 'approval':
      return approvalWords(event);
    case 'turn':
    case 'session':
      return turnWords(event);
    default:
      return otherWords(event);
  }
}

type Of<K extends RunEvent['kind']> = Extract<RunEvent, { readonly kind: K }>;

function toolWords(event: Of<'tool'>): Words {
  switch (event.type) {
    case 'tool.called':
      return [
        event.data.toolName,
        event.data.valid ? undefined : 'unusable arguments',
        json(event.data.args),
      ];
    case 'tool.refused':
      return [event.data.toolName, event.data.code, event.data.text];
    case 'tool.settled':
      return [
        event.data.toolName,
        event.data.status,
        formatElapsed(event.data.durationMs),
        json(event.data.output),
      ];
    case 'tool.progressed':
      return [event.data.text];
    case 'tool.dispatched':
      return [
        event.data.toolName,
        event.data.generation > 0 ? `try ${event.data.generation + 1}` : undefined,
      ];
    case 'tool.indeterminate':
      return [event.data.toolName, event.data.reason];
    case 'tool.reconciled':
      return [event.data.decision];
  }
}

function stepWords(event: Of<'step' | 'attempt'>): Words {
  switch (event.type) {
    case 'step.started':
      return [
        count(event.data.visible.length, 'tool'),
        `${formatCount(event.data.schemaChars)} characters of schema`,
      ];
    case 'step.completed':
      return [event.data.finish, count(event.data.calls, 'call'), ...usageWords(event.data.usage)];
    case 'step.failed':
      return [event.data.failure?.kind, event.data.message, ...usageWords(event.data.usage)];
    case 'step.cache-broken':
      return [
        `${formatCount(event.data.cacheReadTokens)} of ${formatCount(event.data.previousInputTokens)} tokens from the cache`,
      ];
    case 'attempt.started':
      return [event.data.attempt > 1 ? `attempt ${event.data.attempt}` : undefined];
    case 'attempt.failed':
      return [
        event.data.failure.kind,
        event.data.message,
        event.data.retryable ? 'may be tried again' : undefined,
      ];
    case 'attempt.retry-scheduled':
      return [event.data.reason, `in ${formatElapsed(event.data.delayMs)}`];
  }
}

function usageWords(
  usage:
    | {
        readonly inputTokens?: number | undefined;
        readonly outputTokens?: number | undefined;
        readonly costUsd?: number | undefined;
      }
    | undefined,
): Words {
  if (usage === undefined) return [];
  const { inputTokens = 0, outputTokens = 0, costUsd = 0 } = usage;
  return [`${formatCount(inputTokens)} in`, `${formatCount(outputTokens)} out`, formatUsd(costUsd)];
}

function discoveryWords(event: Of<'discovery'>): Words {
  switch (event.type) {
    case 'discovery.searched':
      return [event.data.query, `${event.data.ranked.length} found`, event.data.activated.join(', ')];
    case 'discovery.activated':
    case 'discovery.cleared':
      return [event.data.names.join(', ')];
    case 'discovery.changed':
      return [
        `${event.data.added.length} added, ${event.data.changed.length} changed, ${event.data.withdrawn.length} withdrawn`,
      ];
    case 'discovery.measured':
      return [
        count(event.data.searchCount, 'search'),
        `${event.data.exposedDeferred.length} exposed`,
        `${event.data.calledDeferred.length} called`,
      ];
  }
}

function approvalWords(event: Of<'approval'>): Words {
  switch (event.type) {
    case 'approval.requested':
      return [event.data.toolName, event.data.question, json(event.data.input)];
    case 'approval.decided':
      return [
        event.data.decision,
        event.data.scope === 'call' ? undefined : `for the ${event.data.scope}`,
        event.data.reason,
        event.data.answer,
      ];
    case 'approval.expired':
      return [event.data.cause, event.data.reason];
  }
}

function turnWords(event: Of<'turn' | 'session'>): Words {
  switch (event.type) {
    case 'session.opened':
      return [
        event.data.agentPath.join(' › '),
        event.data.origin === undefined ? undefined : `forked from ${event.data.origin.session}`,
      ];
    case 'session.closed':
      return [event.data.reason];
    case 'turn.opened':
      return [event.data.model, count(event.data.boundTools, 'bound tool'), json(event.data.input)];
    case 'turn.paused':
      return [pauseWords(event.data.reason)];
    case 'turn.resumed':
      return [];
    case 'turn.closed':
      return [
        event.data.status,
        event.data.error?.kind,
        event.data.message,
        event.data.reason,
        count(event.data.steps, 'step'),
      ];
  }
}

/** Facts as they are called: names, states and numbers, without hashes and digests. */
function otherWords(event: RunEvent): Words {
  return Object.entries(event.data).flatMap(([name, value]) => {
    if (name === 'digests' || /hash|sha256|operationId/i.test(name)) return [];
    if (typeof value === 'string') return [`${name}: ${value.slice(0, 80)}`];
    if (typeof value === 'number' || typeof value === 'boolean') return [`${name}: ${value}`];
    return Array.isArray(value) ? [`${name}: ${value.length}`] : [];
  });
}

function json(value: unknown): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value).slice(0, MAX_CHARS);
}
