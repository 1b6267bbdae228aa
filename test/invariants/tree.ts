import type { LedgerRecord, RecordOf } from '../../src/ledger/records.ts';
import { RESERVED_TOOL_NAMES } from '../../src/tools/reserved-names.ts';
import type { SwarmBounds } from './witness.ts';

type Sessions = ReadonlyMap<string, readonly LedgerRecord[]>;

/** I9: what a step shows is bound in its turn, and what is dispatched was shown in its step. */
export function visibility(records: readonly LedgerRecord[]): readonly string[] {
  const broken: string[] = [];
  const bound = new Map<string, ReadonlySet<string>>();
  const visible = new Map<string, ReadonlySet<string>>();
  for (const one of records) {
    const { turn = '', step = '', seq } = one;
    if (one.type === 'turn.opened') bound.set(turn, new Set(one.data.bound));
    if (one.type === 'tools.changed') {
      const live = [...one.data.added, ...one.data.changed].map(({ name }) => name);
      bound.set(turn, new Set([...(bound.get(turn) ?? []), ...live]));
    }
    if (one.type === 'step.opened') {
      visible.set(step, new Set(one.data.visible));
      for (const name of one.data.visible) {
        if (!RESERVED_TOOL_NAMES.includes(name) && bound.get(turn)?.has(name) !== true)
          broken.push(`I9 at ${seq}: ${name} is shown and not bound`);
      }
    }
    if (one.type === 'tool.dispatched' && visible.get(step)?.has(one.data.toolName) === false) {
      broken.push(`I9 at ${seq}: ${one.data.toolName} is dispatched and was not shown`);
    }
  }
  return broken;
}

/** I9: a child may no more than its parent, and no session is deeper or has more children at once than is allowed. */
export function ceilings(sessions: Sessions, bounds: SwarmBounds): readonly string[] {
  const broken: string[] = [];
  for (const [session, records] of sessions) {
    const opened = records.find((one) => one.type === 'session.opened');
    if (opened === undefined) continue;
    const { depth, ceiling } = opened.data;
    if (depth > bounds.depth) broken.push(`I9 ${session} is ${depth} deep, not ${bounds.depth} at most`);
    const above = sessions.get(opened.parent ?? '')?.find((one) => one.type === 'session.opened');
    const allowed = new Set(above?.data.ceiling ?? ceiling);
    for (const name of ceiling) {
      if (!allowed.has(name)) broken.push(`I9 ${session} may use ${name} and its parent may not`);
    }
    const atOnce = mostChildrenAtOnce(records);
    if (atOnce > bounds.fanOut) broken.push(`I9 ${session} has ${atOnce} children at once`);
  }
  return broken;
}

function mostChildrenAtOnce(records: readonly LedgerRecord[]): number {
  const open = new Set<string>();
  let most = 0;
  for (const { type, data } of records) {
    if (type === 'child.started') open.add(data.child);
    if (type === 'child.finished' || type === 'child.lost') open.delete(data.child);
    most = Math.max(most, open.size);
  }
  return most;
}

/** I12: a child that was intended was started and came to one end, which its own ledger has, unless its parent is open. */
export function children(sessions: Sessions): readonly string[] {
  return [...sessions].flatMap(([session, records]) =>
    intentionsOf(records).flatMap((intended) => {
      const say = (what: string) => `I12 ${session}: child ${intended.data.child} ${what}`;
      const of = records.filter((one) => 'child' in one.data && one.data.child === intended.data.child);
      const ends = of.filter((one) => one.type === 'child.finished');
      const isLost = of.some(({ type }) => type === 'child.lost');
      const isClosed = records.some(({ type, turn }) => type === 'turn.closed' && turn === intended.turn);
      if (ends.length > 1) return [say('ended twice')];
      const [end] = ends;
      if (end === undefined) return isLost || !isClosed ? [] : [say('has no end')];
      if (!of.some(({ type }) => type === 'child.started')) return [say('ended and was never started')];
      const found = sessions.get(end.data.last)?.[end.data.headSeq - 1];
      return found?.hash === end.data.headHash ? [] : [say('ended otherwise than its own ledger says')];
    }),
  );
}

function intentionsOf(records: readonly LedgerRecord[]): readonly RecordOf<'child.intended'>[] {
  return records.filter((one): one is RecordOf<'child.intended'> => one.type === 'child.intended');
}
