import type { RecordData, RecordType } from '../ledger/records.ts';
import type { Actor } from './envelope.ts';
import type { DurableEventType, EventContent, EventFacts } from './event-data.ts';

/** What one event type takes from the data of a record. */
interface RowOf<E extends DurableEventType, D> {
  readonly type: E;
  readonly actor: Actor['kind'] | ((data: D) => Actor);
  readonly facts: (data: D) => EventFacts<E>;
  /** What people, models and tools said: leaves the process only where a policy lets it. */
  readonly content?: (data: D) => { readonly [K in keyof EventContent<E>]?: EventContent<E>[K] | undefined };
}

/** What a record becomes for observers. */
export type EventRow<D> = { [E in DurableEventType]: RowOf<E, D> }[DurableEventType];

type EventTable = {
  readonly [T in RecordType]:
    | EventRow<RecordData<T>>
    | ((data: RecordData<T>) => EventRow<RecordData<T>>)
    | null;
};

const user = ({ actor }: { readonly actor?: string | undefined }): Actor =>
  actor === undefined ? { kind: 'user' } : { kind: 'user', id: actor };

/** A failure without its message, which may quote a prompt. */
function failureFacts<F extends { readonly message: string }>(failure: F): Omit<F, 'message'>;
function failureFacts<F extends { readonly message: string }>(
  failure: F | undefined,
): Omit<F, 'message'> | undefined;
function failureFacts<F extends { readonly message: string }>(failure: F | undefined) {
  if (failure === undefined) return undefined;
  const { message: _, ...facts } = failure;
  return facts;
}

/**
 * The one table from ledger records to public events. `null` = observers do not see the record: its content is
 * in another event, or it is bookkeeping. The type makes a row for every record type.
 */
export const EVENT_TABLE: EventTable = {
  'session.opened': {
    type: 'session.opened',
    actor: 'runtime',
    facts: ({ ceiling, ...facts }) => ({ ...facts, ceilingTools: ceiling.length }),
  },
  'session.closed': {
    type: 'session.closed',
    actor: 'runtime',
    facts: () => ({}),
    content: ({ reason }) => ({ reason }),
  },

  'run.settled': null,

  'turn.opened': {
    type: 'turn.opened',
    actor: 'user',
    facts: ({ input, bound, ceiling: _, ...facts }) => ({
      ...facts,
      inputParts: input.length,
      boundTools: bound.length,
    }),
    content: ({ input }) => ({ input }),
  },
  'turn.paused': { type: 'turn.paused', actor: 'runtime', facts: (data) => data },
  'turn.resumed': { type: 'turn.resumed', actor: 'user', facts: (data) => data },
  'turn.closed': {
    type: 'turn.closed',
    actor: 'runtime',
    facts: ({ output: _, reason: __, error, ...facts }) => ({ ...facts, error: failureFacts(error) }),
    content: ({ output, reason, error }) => ({ output, reason, message: error?.message }),
  },

  'step.opened': { type: 'step.started', actor: 'runtime', facts: (data) => data },
  'step.closed': (data) =>
    data.status === 'completed'
      ? {
          type: 'step.completed',
          actor: 'model',
          facts: ({ status: _, failure: __, ...facts }) => facts,
        }
      : {
          type: 'step.failed',
          actor: 'runtime',
          facts: ({ failure, ...facts }) => ({
            ...facts,
            status: data.status === 'aborted' ? 'aborted' : 'failed',
            failure: failureFacts(failure),
          }),
          content: ({ failure }) => ({ message: failure?.message }),
        },
  'request.prepared': null,
  'assistant.message': null,
  'step.warned': null,

  'attempt.started': { type: 'attempt.started', actor: 'runtime', facts: (data) => data },
  'attempt.failed': {
    type: 'attempt.failed',
    actor: 'runtime',
    facts: ({ failure, ...facts }) => ({ ...facts, failure: failureFacts(failure) }),
    content: ({ failure }) => ({ message: failure.message }),
  },
  'attempt.retry-scheduled': { type: 'attempt.retry-scheduled', actor: 'runtime', facts: (data) => data },

  'tool.called': {
    type: 'tool.called',
    actor: 'model',
    facts: ({ args: _, invalid, providerMetadata: __, ...facts }) => ({
      ...facts,
      valid: invalid === undefined,
    }),
    content: ({ args, invalid }) => ({ args, complaint: invalid }),
  },
  'tool.refused': {
    type: 'tool.refused',
    actor: 'runtime',
    facts: ({ code, toolName, details }) => ({ code, toolName, details }),
    content: ({ text }) => ({ text }),
  },
  'tool.dispatched': {
    type: 'tool.dispatched',
    actor: 'runtime',
    facts: ({ editedArgs, ...facts }) => ({ ...facts, edited: editedArgs !== undefined }),
    content: ({ editedArgs }) => ({ editedArgs }),
  },
  'tool.progressed': {
    type: 'tool.progressed',
    actor: 'tool',
    facts: () => ({}),
    content: ({ text }) => ({ text }),
  },
  'tool.settled': {
    type: 'tool.settled',
    actor: 'tool',
    facts: ({ output, result: _, ...facts }) => ({ ...facts, outputType: output.type }),
    content: ({ output, result }) => ({ output, result }),
  },
  'tool.indeterminate': { type: 'tool.indeterminate', actor: 'runtime', facts: (data) => data },
  'tool.reconciled': {
    type: 'tool.reconciled',
    actor: user,
    facts: ({ operationId, decision }) => ({ operationId, decision }),
    content: ({ evidence }) => ({ evidence }),
  },
  'tool.late': null,

  'tools.searched': {
    type: 'discovery.searched',
    actor: 'model',
    facts: ({ query: _, ...facts }) => facts,
    content: ({ query }) => ({ query }),
  },
  'tools.activated': { type: 'discovery.activated', actor: 'runtime', facts: (data) => data },
  'tools.cleared': { type: 'discovery.cleared', actor: 'runtime', facts: (data) => data },
  'tools.measured': { type: 'discovery.measured', actor: 'runtime', facts: (data) => data },
  'tools.changed': {
    type: 'discovery.changed',
    actor: 'runtime',
    facts: ({ revision, added, changed, withdrawn, excluded }) => ({
      revision,
      added: added.map(({ name }) => name),
      changed: changed.map(({ name }) => name),
      withdrawn,
      excluded,
    }),
  },

  'compaction.committed': {
    type: 'compaction.committed',
    actor: 'runtime',
    facts: ({ summary: _, ...facts }) => facts,
    content: ({ summary }) => ({ summary }),
  },
  'compaction.skipped': { type: 'compaction.skipped', actor: 'runtime', facts: (data) => data },

  'step.cache-broken': { type: 'step.cache-broken', actor: 'runtime', facts: (data) => data },
  'overflow.recovered': null,
  'output.rejected': null,

  'graph.updated': {
    type: 'graph.updated',
    actor: 'runtime',
    facts: ({ revision, operators, works, stops, finish }) => ({
      revision,
      operators: operators.map(({ operator }) => operator),
      works: works.map(({ work }) => work),
      stopped: stops.map(({ target }) => target),
      finishes: finish !== undefined,
    }),
    content: ({ operators, works, finish }) => {
      const all = [
        ...operators.map(({ operator, instruction }) => [operator, instruction] as const),
        ...works.map(({ work, instruction }) => [work, instruction] as const),
      ];
      const told = all.flatMap(([id, instruction]) =>
        instruction === undefined ? [] : [[id, instruction] as const],
      );
      return {
        instructions: told.length === 0 ? undefined : Object.fromEntries(told),
        reason: finish?.reason,
      };
    },
  },
  'graph.readied': {
    type: 'graph.readied',
    actor: 'runtime',
    facts: ({ work, operator, items }) => ({ work, node: operator, items }),
  },
  'graph.claimed': {
    type: 'graph.claimed',
    actor: 'runtime',
    facts: ({ operator, ...facts }) => ({ ...facts, node: operator }),
  },
  'graph.finished': {
    type: 'graph.finished',
    actor: 'runtime',
    facts: ({ status, error }) => ({ status, error: failureFacts(error) }),
    content: ({ error }) => ({ message: error?.message }),
  },
  'node.started': { type: 'node.started', actor: 'runtime', facts: ({ recovery: _, ...facts }) => facts },
  'node.finished': {
    type: 'node.finished',
    actor: 'runtime',
    facts: ({ node, work, attempt, status, child, retryAt, durationMs, outputRef, spent, error }) => ({
      node,
      work,
      attempt,
      status,
      child,
      retryAt,
      durationMs,
      outputRef,
      usage: spent?.usage,
      error: failureFacts(error),
    }),
    content: ({ output, error }) => ({ output, message: error?.message }),
  },
  'node.skipped': { type: 'node.skipped', actor: 'runtime', facts: (data) => data },

  'steering.accepted': {
    type: 'steering.accepted',
    actor: user,
    facts: ({ id }) => ({ id }),
    content: ({ text }) => ({ text }),
  },
  'steering.injected': { type: 'steering.injected', actor: 'runtime', facts: (data) => data },
  'steering.undelivered': { type: 'steering.undelivered', actor: 'runtime', facts: (data) => data },

  'permission.requested': {
    type: 'approval.requested',
    actor: 'runtime',
    facts: ({ question: _, scopeKey: __, input: ___, ...facts }) => facts,
    // The key of a decision holds the arguments it is for.
    content: ({ question, scopeKey, input }) => ({ question, scopeKey, input }),
  },
  'permission.decided': {
    type: 'approval.decided',
    actor: user,
    facts: ({ request, decision, scope, argsHash, editedInput, by }) => ({
      request,
      decision,
      scope,
      argsHash,
      edited: editedInput !== undefined,
      by,
    }),
    content: ({ reason, editedInput, answer }) => ({ reason, editedInput, answer }),
  },
  'permission.expired': {
    type: 'approval.expired',
    actor: 'runtime',
    facts: ({ request }) => ({ request, cause: 'deadline' }),
  },
  'permission.cancelled': {
    type: 'approval.expired',
    actor: 'runtime',
    facts: ({ request, reason }) => ({ request, cause: 'cancelled', reason }),
  },

  'child.intended': {
    type: 'child.intended',
    actor: 'model',
    facts: ({ input: _, grant: __, ...facts }) => facts,
    content: ({ input }) => ({ input }),
  },
  'child.started': { type: 'child.started', actor: 'runtime', facts: (data) => data },
  'child.finished': {
    type: 'child.finished',
    actor: 'runtime',
    facts: ({ error, ...facts }) => ({ ...facts, error: failureFacts(error) }),
    content: ({ error }) => ({ message: error?.message }),
  },
  'child.lost': { type: 'child.lost', actor: 'runtime', facts: (data) => data },
  'handoff.taken': {
    type: 'handoff.taken',
    actor: 'model',
    facts: ({ to, child }) => ({ to, child }),
    content: ({ input }) => ({ input }),
  },
  'handoff.refused': { type: 'handoff.refused', actor: 'runtime', facts: (data) => data },

  'budget.exceeded': { type: 'budget.exceeded', actor: 'runtime', facts: (data) => data },
  'effect.done': null,
  'message.received': {
    type: 'message.received',
    actor: ({ from }) => ({ kind: 'user', id: from }),
    facts: ({ from, parts }) => ({ from, parts: parts.length }),
    content: ({ parts }) => ({ content: parts }),
  },
  'message.refused': { type: 'message.refused', actor: 'runtime', facts: (data) => data },
};

/**
 * The row of a record; `undefined` where observers do not see it, or where a newer version wrote a type this
 * one does not know.
 */
export function rowFor<T extends RecordType>(
  type: T,
  data: RecordData<T>,
): EventRow<RecordData<T>> | undefined {
  if (!Object.hasOwn(EVENT_TABLE, type)) return undefined;
  const row = EVENT_TABLE[type];
  return (typeof row === 'function' ? row(data) : row) ?? undefined;
}

/** Whether observers see records of this type. */
export function isObserved(type: string): boolean {
  // The guard makes it a key of the table.
  return Object.hasOwn(EVENT_TABLE, type) && EVENT_TABLE[type as RecordType] !== null;
}
