import type { RunEvent } from '../events/event-schemas.ts';
import type { LedgerRecord } from '../ledger/records.ts';

/** Records whose events are called otherwise. */
const RECORD_TYPES: Readonly<Record<string, string>> = {
  'step.started': 'step.opened',
  'step.completed': 'step.closed',
  'step.failed': 'step.closed',
  'approval.requested': 'permission.requested',
  'approval.decided': 'permission.decided',
};

/**
 * As much of a record as its event tells: what machines are led by is all facts, and those are in it. Fit for
 * replaying, and for nothing that needs what was said.
 */
export function recordOfEvent(event: RunEvent): LedgerRecord {
  const { type, ts, id, seq, session, root, agent, parent, turn, step, call } = event;
  const record = {
    ...{ v: 1, id, seq, session, root, agent, parent, turn, step, call },
    at: Date.parse(ts),
    type: typeOf(event),
    data: dataOf(event),
    ...{ epoch: event.epoch, tv: event.tv, prev: '', hash: '' },
  };
  // The player reads the facts of a record by its type; an event of the type has them.
  return record as unknown as LedgerRecord & { readonly type: typeof type };
}

function typeOf(event: RunEvent): string {
  if (event.type === 'approval.expired') {
    return event.data.cause === 'deadline' ? 'permission.expired' : 'permission.cancelled';
  }
  return RECORD_TYPES[event.type] ?? event.type;
}

function dataOf(event: RunEvent): object {
  switch (event.type) {
    case 'step.completed':
      return { ...event.data, status: 'completed' };
    case 'graph.claimed':
    case 'graph.readied':
      return { ...event.data, operator: event.data.node };
    default:
      return event.data;
  }
}
