import { expect, it } from 'vitest';
import type { LedgerRecord } from '../../src/ledger/records.ts';
import { countOf } from './counts.ts';
import { takeoversAfter } from './takeovers.ts';

/** A record as far as it is looked at. */
const record = (type: string, more: object): LedgerRecord => ({ type, ...more }) as unknown as LedgerRecord;
const ended = (session: string, status = 'completed') =>
  record('run.settled', { session, data: { run: `r-${session}`, status } });
const entered = (operationId: string) => ({
  ...{ what: 'entered' as const, session: 's-1', toolName: 'pay', at: 1 },
  operationId,
});

it('a pause is no end, and what is told or entered twice is doubled', () => {
  const told = [ended('s-1'), ended('s-2', 'paused')];
  expect(countOf(told, [entered('a'), entered('b')])).toEqual({ settled: 1, doubled: 0 });
  expect(countOf([...told, ended('s-1')], [entered('a'), entered('a')])).toEqual({ settled: 1, doubled: 2 });
});

it('a takeover lasts from the death of the owner to the first record of the next', () => {
  const at = (session: string, epoch: number, time: number, type = 'tool.settled') =>
    record(type, { session, epoch, at: time });
  const records = [
    ...[at('s-1', 1, 100), at('s-1', 2, 2_600)],
    // Given up before anybody died, and nobody's death.
    ...[at('s-2', 1, 100, 'turn.paused'), at('s-2', 2, 2_000)],
    ...[at('s-3', 1, 100), at('s-3', 2, 400)],
  ];
  expect(takeoversAfter(records, [500])).toEqual([2_100]);
});
