import { EFFECT_HOOKS } from '../../machines/hooks.ts';
import { type CallId, operationIdOf } from '../ids.ts';
import type { ForkPoint } from './fork-point.ts';
import { ALL_EFFECTS, type LedgerRecord, type NewRecord } from './records.ts';

/** Types of facts that effects are bound to. */
const WITH_EFFECTS: ReadonlySet<string> = new Set(Object.values(EFFECT_HOOKS));

/** Who the fork is. */
export interface ForkIdentity {
  readonly session: string;
  /** The run that goes on with it. */
  readonly run: string;
}

/**
 * The facts of a fork as its own: under its session, linked to its origin, with every id below the session renamed.
 * What the origin did because of a fact is done: no effect runs for it again.
 */
export function forkedRecords(point: ForkPoint, identity: ForkIdentity): readonly NewRecord[] {
  const { kept, last, turn } = point;
  const places = new Map<number, number>();
  const naming: Naming = { from: last.session, to: identity.session, places };
  const records: NewRecord[] = [];
  for (const record of kept) {
    records.push(forkedRecord(record, naming, point, identity));
    places.set(record.seq, records.length);
    // Effects of earlier turns are never looked for.
    if (record.turn === turn && WITH_EFFECTS.has(record.type)) {
      records.push({
        type: 'effect.done',
        data: { hook: ALL_EFFECTS, fact: `${identity.session}:${records.length}` },
      });
    }
  }
  return records;
}

interface Naming {
  readonly from: string;
  readonly to: string;
  /** Position in the origin -> position in the fork. */
  readonly places: ReadonlyMap<number, number>;
}

function forkedRecord(
  record: LedgerRecord,
  naming: Naming,
  { turn, last }: ForkPoint,
  identity: ForkIdentity,
): NewRecord {
  const { type, call, cause } = record;
  const base = {
    type,
    data: record.data,
    ...(record.turn === undefined ? {} : { turn: renamed(record.turn, naming) }),
    ...(record.step === undefined ? {} : { step: renamed(record.step, naming) }),
    ...(call === undefined ? {} : { call: renamed(call, naming) }),
    ...(cause === undefined ? {} : { cause: renamed(cause, naming) }),
    // Type and data stay those of one record.
  } as NewRecord;
  switch (base.type) {
    case 'session.opened':
      return {
        ...base,
        data: { ...base.data, origin: { session: last.session, seq: last.seq, hash: last.hash } },
      };
    case 'turn.opened':
      return record.turn === turn ? { ...base, data: { ...base.data, run: identity.run } } : base;
    default:
      return withOwnIds(base, naming);
  }
}

/** Data that names something below the session. */
function withOwnIds(record: NewRecord, naming: Naming): NewRecord {
  const own = (id: string) => renamed(id, naming);
  switch (record.type) {
    case 'turn.paused':
      return { ...record, data: { ...record.data, open: record.data.open.map(own) } };
    case 'permission.decided': {
      const { by, ...data } = record.data;
      const follows = by === undefined ? {} : { by: own(by) };
      return { ...record, data: { ...data, ...follows, request: own(data.request) } };
    }
    case 'permission.requested':
      return { ...record, data: { ...record.data, request: own(record.data.request) } };
    case 'permission.expired':
      return { ...record, data: { ...record.data, request: own(record.data.request) } };
    case 'permission.cancelled':
      return { ...record, data: { ...record.data, request: own(record.data.request) } };
    case 'tool.dispatched':
      return { ...record, data: { ...record.data, operationId: operationOf(record) } };
    case 'tool.settled':
      return { ...record, data: { ...record.data, operationId: operationOf(record) } };
    case 'tool.indeterminate':
      return { ...record, data: { ...record.data, operationId: operationOf(record) } };
    case 'tool.reconciled':
      return { ...record, data: { ...record.data, operationId: operationOf(record) } };
    case 'tool.late':
      return { ...record, data: { ...record.data, operationId: operationOf(record) } };
    case 'compaction.committed':
      return { ...record, data: { ...record.data, coversSeq: placeOf(record.data.coversSeq, naming) } };
    case 'overflow.recovered': {
      const { coversSeq, ...data } = record.data;
      const covers = coversSeq === undefined ? {} : { coversSeq: placeOf(coversSeq, naming) };
      return { ...record, data: { ...data, ...covers } };
    }
    default:
      return record;
  }
}

function operationOf({ call }: NewRecord): string {
  // Derived from the id of its call, in the fork as in the origin.
  return operationIdOf((call ?? '') as CallId);
}

/** Ids below a session begin with its own; that of a fact names its position. */
function renamed(id: string, { from, to, places }: Naming): string {
  if (id === from) return to;
  if (id.startsWith(`${from}:`)) return `${to}:${places.get(Number(id.slice(from.length + 1))) ?? 0}`;
  return id.startsWith(`${from}.`) ? `${to}${id.slice(from.length)}` : id;
}

/** Of a position that was not taken over, the one before it. */
function placeOf(seq: number, { places }: Naming): number {
  for (let at = seq; at > 0; at -= 1) {
    const place = places.get(at);
    if (place !== undefined) return place;
  }
  return 0;
}
