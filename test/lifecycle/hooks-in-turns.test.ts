import { describe, expect, it } from 'vitest';
import { HOOK_ROWS } from '../../machines/hooks.ts';
import { lineOf, rowOf } from '../support/all-hooks.ts';
import { CRASH_SCENARIOS } from './hook-crash-scenarios.ts';
import { play } from './hook-play.ts';
import { TURN_SCENARIOS } from './hook-scenarios.ts';

const SCENARIOS = [...TURN_SCENARIOS, ...CRASH_SCENARIOS];

/** Rows that one agent without children, graph or compaction never takes, and why. */
const UNREACHED = [
  // Compaction is a stage that nothing here adds.
  'turn: projecting NEEDS_COMPACTION compacting',
  'turn: compacting COMPACTED projecting',
  'turn: compacting COMPACTION_FAILED projecting',
  'turn: compacting COMPACTION_FAILED closing',
  // A parked call is resolved before it is settled, so the last one is settled in `settling`.
  'turn: waitingForApproval CALL_SETTLED deciding',
  // A turn pauses with open calls only.
  'turn: paused RESUMED deciding',
  // A fact that cannot be written is COMMIT_FAILED, whichever it is.
  'turn: opening OPEN_FAILED closing',
  'step: capturing CAPTURE_FAILED failed',
  // Graphs and handoffs.
  'turn: deciding YIELD yielded',
  'turn: deciding HANDED_OFF handedOff',
  // A step that is stopped settles its outcome as aborted.
  'step: settlingOutcome OUTCOME_RETRYABLE aborted',
  // The end of a turn settles its requests one by one, as cancelled.
  'tool-call: awaitingPermission TURN_CLOSED rejected',
  // Children.
  'tool-call: suspended PROGRESS suspended',
  'tool-call: executing SUSPENDED suspended',
  'tool-call: suspended RESUMED executing',
  'agent: waiting WAIT_EXPIRED running',
  // A fault and what comes next are one turn of the event loop.
  'agent: faulted MESSAGE faulted',
  'agent: running TURN_DONE waiting',
  'agent: running TURN_YIELDED waiting',
  // Faults cost turns, never the session.
  'agent: faulted RESTART stopped',
  // The actor stops at rest.
  'agent: running STOP stopping',
  'agent: stopping TURN_DONE stopped',
  'agent: stopping TURN_YIELDED stopped',
  'agent: stopping TURN_BROKEN stopped',
  'agent: stopping STOP_GRACE_EXPIRED stopped',
  'agent: idle CHILD_DONE idle',
  'agent: running CHILD_DONE running',
  'agent: waiting CHILD_DONE waiting',
  'agent: waiting CHILD_DONE running',
  'agent: faulted CHILD_DONE faulted',
  'agent: stopping CHILD_DONE stopping',
];

describe('hooks of turns', { timeout: 5_000 }, () => {
  it.each(SCENARIOS)('HK-01 fire in order at their places: $what', async (scenario) => {
    const { hooks, misfits } = await play(scenario);
    expect(misfits).toEqual([]);
    expect(hooks).toBe(scenario.hooks.trim().replace(/\s+/g, ' '));
  });

  it.each(SCENARIOS)(
    'HK-01 fire once for each transition with a row, and for no other: $what',
    async (scenario) => {
      const { told, transitions } = await play(scenario);
      const expected = transitions
        .filter((record) => record.replayed !== true && record.illegal !== true)
        .flatMap((record) => {
          const row = rowOf(record);
          return row === undefined ? [] : [`${record.id} ${record.seq} ${row.hook}`];
        });
      expect(told.map(({ hook, record }) => `${record.id} ${record.seq} ${hook}`)).toEqual(expected);
    },
  );

  it('HK-01 cover every row that one agent without children, graph or compaction can reach', async () => {
    const reached = new Set<string>();
    for (const scenario of SCENARIOS) {
      for (const { record } of (await play(scenario)).told) {
        const row = rowOf(record);
        if (row !== undefined) reached.add(lineOf(row));
      }
    }
    const rows = HOOK_ROWS.filter(({ machine }) => machine !== 'graph-supervisor');
    const unreached = rows.map(lineOf).filter((line) => !reached.has(line));
    expect(unreached.sort()).toEqual([...UNREACHED].sort());
  });
});
