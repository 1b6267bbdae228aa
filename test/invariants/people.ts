import type { LedgerRecord, RecordOf } from '../../src/ledger/records.ts';
import { hashArguments } from '../../src/tools/argument-snapshot.ts';

/** I11: an accepted text is injected once, or told undelivered when its turn ends. */
export function steering(records: readonly LedgerRecord[]): readonly string[] {
  const broken: string[] = [];
  const waiting = new Map<string, string>();
  for (const one of records) {
    if (one.type === 'steering.accepted') waiting.set(one.data.id, one.turn ?? '');
    if (one.type === 'steering.injected' || one.type === 'steering.undelivered') {
      for (const id of one.data.ids) {
        if (!waiting.delete(id)) broken.push(`I11 ${one.type} at ${one.seq}: ${id} does not wait`);
      }
    }
    if (one.type !== 'turn.closed') continue;
    for (const [id, turn] of waiting)
      if (turn === one.turn) broken.push(`I11 ${id} is left at the end of ${turn}`);
  }
  return broken;
}

/** I11: a request for a person has one end, or its turn is open. */
export function approvals(records: readonly LedgerRecord[]): readonly string[] {
  const broken: string[] = [];
  const open = new Map<string, string>();
  for (const one of records) {
    if (one.type === 'permission.requested') open.set(one.data.request, one.turn ?? '');
    if (
      one.type === 'permission.decided' ||
      one.type === 'permission.expired' ||
      one.type === 'permission.cancelled'
    ) {
      if (!open.delete(one.data.request)) broken.push(`I11 ${one.type} at ${one.seq}: nothing is open`);
    }
    if (one.type !== 'turn.closed') continue;
    for (const [request, turn] of open)
      if (turn === one.turn) broken.push(`I11 ${request} is left at the end`);
  }
  return broken;
}

/**
 * I10: a tool that asks first, or that somebody was asked about, is dispatched only after a person allowed these very
 * arguments in time.
 */
export function permissions(
  records: readonly LedgerRecord[],
  gated: ReadonlySet<string> = new Set(),
): readonly string[] {
  const broken: string[] = [];
  const asked = new Map<string, RecordOf<'permission.requested'>>();
  const allowed = new Map<string, RecordOf<'permission.decided'>>();
  for (const one of records) {
    const { call = '', seq } = one;
    if (one.type === 'permission.requested') asked.set(call, one);
    if (one.type === 'permission.decided' && one.data.decision === 'approve') allowed.set(call, one);
    if (one.type !== 'tool.dispatched' || !(asked.has(call) || gated.has(one.data.toolName))) continue;
    const say = (what: string) => broken.push(`I10 ${one.data.toolName} (${call}) at ${seq}: ${what}`);
    const decision = allowed.get(call);
    const request = asked.get(call);
    if (decision === undefined) say('dispatched and nobody allowed it');
    else if (allowedHash(decision) !== one.data.argsHash) say('allowed with other arguments');
    else if (decision.at > latestOf(request)) say('allowed when it was too late');
  }
  return broken;
}

/** When a request could be decided on at the latest. */
function latestOf(request: RecordOf<'permission.requested'> | undefined): number {
  const { at = 0, data } = request ?? {};
  const { expiresAt = Number.POSITIVE_INFINITY } = data ?? {};
  // A request that was too old when it was made: the store and the runtime of that test have different clocks.
  return expiresAt < at ? Number.POSITIVE_INFINITY : expiresAt;
}

/** What was allowed: the arguments of the request, or those that stand in their place. */
function allowedHash({ data: { argsHash, editedInput } }: RecordOf<'permission.decided'>): string {
  return editedInput === undefined ? argsHash : hashArguments(editedInput);
}
