import type { LedgerRecord, RecordType } from '../ledger/records.ts';

/** What a record is about. */
export type RecordFacet =
  | 'message'
  | 'error'
  | 'tool-call'
  | 'tool-dispatch'
  | 'tool-result'
  | 'approval-request'
  | 'approval-decision'
  | 'terminal';

/** A reference to one committed fact of an operator's session. What it says stays in that session. */
export interface OperatorRecord {
  /** `<session>:<seq>` */
  readonly id: string;
  readonly session: string;
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly facet: RecordFacet;
  /** The request it asks or answers. */
  readonly request?: string;
}

const FACETS: { readonly [T in RecordType]?: RecordFacet } = {
  'assistant.message': 'message',
  'step.closed': 'error',
  'tool.called': 'tool-call',
  'tool.dispatched': 'tool-dispatch',
  'tool.settled': 'tool-result',
  'tool.refused': 'tool-result',
  'permission.requested': 'approval-request',
  'permission.decided': 'approval-decision',
  'permission.expired': 'approval-decision',
  'permission.cancelled': 'approval-decision',
  'turn.closed': 'terminal',
};

/** The record a fact is, if it is one. A partial message is none: what it says may be said again. */
export function operatorRecordOf(fact: LedgerRecord): OperatorRecord | undefined {
  const facet = FACETS[fact.type];
  if (facet === undefined) return undefined;
  if (fact.type === 'assistant.message' && fact.data.partial === true) return undefined;
  if (fact.type === 'step.closed' && fact.data.status !== 'failed') return undefined;
  const { id, session, seq, at, data } = fact;
  return { id, session, seq, at, facet, ...('request' in data ? { request: data.request } : {}) };
}

/** Order of records of all operators: by time, then session and position; by code units, in every locale alike. */
export function compareRecords(a: OperatorRecord, b: OperatorRecord): number {
  if (a.at !== b.at) return a.at - b.at;
  if (a.session !== b.session) return a.session < b.session ? -1 : 1;
  return a.seq - b.seq;
}

/** The newest records of a set, in order, whatever the order in which they came. Adding costs O(bound) at most. */
export class RecentRecords {
  readonly #records: OperatorRecord[] = [];
  readonly #bound: number;

  constructor(bound: number) {
    this.#bound = bound;
  }

  get list(): readonly OperatorRecord[] {
    return this.#records;
  }

  add(record: OperatorRecord): void {
    let at = this.#records.length;
    while (at > 0) {
      const before = this.#records[at - 1];
      if (before === undefined || compareRecords(before, record) <= 0) break;
      at -= 1;
    }
    if (at === 0 && this.#records.length >= this.#bound) return;
    this.#records.splice(at, 0, record);
    if (this.#records.length > this.#bound) this.#records.shift();
  }
}
