import { beforeAll, describe, expect, it } from 'vitest';
import type { LedgerRecord, RecordType } from '../../src/ledger/records.ts';
import { SECRET, soundSwarm } from './sound-swarm.ts';
import { brokenIn, checkSwarm } from './swarm.ts';
import type { SwarmWitness } from './witness.ts';

let sound: SwarmWitness;
beforeAll(async () => {
  sound = await soundSwarm();
});

type Change = (witness: SwarmWitness) => Partial<SwarmWitness>;

/** Sessions with the records of each changed. */
const records =
  (change: (records: readonly LedgerRecord[]) => readonly LedgerRecord[]): Change =>
  ({ sessions }) => ({ sessions: new Map([...sessions].map(([id, all]) => [id, change(all)])) });

const without = (type: RecordType) => records((all) => all.filter((one) => one.type !== type));

/** The first record of a type with other data. */
const told = (type: RecordType, data: object) =>
  records((all) => {
    const at = all.findIndex((one) => one.type === type);
    return all.map((one, index) =>
      // The history is meant to be one that no writer would have let in.
      index === at ? ({ ...one, data: { ...one.data, ...data } } as LedgerRecord) : one,
    );
  });

/** The first record of a type once more, behind all others. */
const again = (type: RecordType) =>
  records((all) => [...all, ...all.filter((one) => one.type === type).slice(0, 1)]);

const left = (change: Partial<SwarmWitness['remains']>): Change => {
  return ({ remains }) => ({ remains: { ...remains, ...change } });
};

const BROKEN: readonly (readonly [invariant: string, what: string, change: Change])[] = [
  ['I1', 'a record is gone', without('tool.settled')],
  ['I1', 'a record is another', told('assistant.message', { attempt: 7 })],
  ['I2', 'the last record that somebody was told of is gone', records((all) => all.slice(0, -1))],
  ['I3', 'an epoch falls', records((all) => all.map((one, at) => ({ ...one, epoch: at === 3 ? 9 : 1 })))],
  ['I4', 'a turn is closed twice', again('turn.closed')],
  ['I4', 'a turn is open and nobody lists it', without('turn.closed')],
  ['I4', 'a closed turn is listed', (witness) => left({ open: [...witness.sessions.keys()] })(witness)],
  ['I4', 'the end of a run is told twice', records((all) => [...all, toldEnd(all), toldEnd(all)])],
  ['I5', 'a call has no result', without('tool.settled')],
  ['I5', 'a call has two results', again('tool.settled')],
  ['I6', 'a tool is entered twice', ({ entries }) => ({ entries: [...entries, ...entries] })],
  [
    'I6',
    'a tool is entered before its intent is durable',
    ({ entries }) => ({ entries: entries.map((one) => ({ ...one, at: 1 })) }),
  ],
  [
    'I7',
    'a request is sent before an outcome is durable',
    ({ storedAt, sessions }) => ({ storedAt: lateOutcomes(sessions, storedAt) }),
  ],
  [
    'I8',
    'a request has a call without a result',
    ({ requests }) => ({
      requests: requests.map((one) => ({
        ...one,
        messages: one.messages.filter(({ role }) => role !== 'tool'),
      })),
    }),
  ],
  [
    'I9',
    'a step shows what is not bound',
    told('step.opened', { visible: ['pay', 'ask_payer', 'erase', 'more'] }),
  ],
  ['I9', 'a tool runs that was not shown', told('tool.dispatched', { toolName: 'more' })],
  ['I9', 'a child may more than its parent', ({ sessions }) => ({ sessions: widened(sessions) })],
  ['I9', 'a session is too deep', ({ bounds }) => ({ bounds: { ...bounds, depth: 0 } })],
  ['I9', 'too many children are at work at once', ({ bounds }) => ({ bounds: { ...bounds, fanOut: 0 } })],
  ['I10', 'a gated tool runs unasked', without('permission.decided')],
  ['I10', 'a gated tool runs with other arguments', told('permission.decided', { argsHash: '0'.repeat(64) })],
  ['I10', 'a gated tool runs when the request had expired', records((all) => all.map(expiredBefore))],
  ['I11', 'a text is injected twice', again('steering.injected')],
  [
    'I11',
    'a text is in no request',
    ({ requests }) => ({
      requests: requests.map((one) => ({
        ...one,
        messages: one.messages.filter(({ text }) => text !== 'Look twice.'),
      })),
    }),
  ],
  ['I11', 'a request for a person has no end', without('permission.decided')],
  ['I12', 'a child has no end', without('child.finished')],
  [
    'I12',
    'a child ended otherwise than its ledger says',
    told('child.finished', { headHash: '0'.repeat(64) }),
  ],
  ['I13', 'an event is missing on the bus', ({ events }) => ({ events: events.slice(0, -1) })],
  [
    'I13',
    'an event is there twice',
    ({ events }) => ({ events: events.flatMap((one, at) => (at === 4 ? [one, one] : [one])) }),
  ],
  ['I13', 'an event has no fact', records((all) => all.slice(0, -1))],
  [
    'I13',
    'a subscriber misses an event',
    ({ delivered }) => ({ delivered: delivered.filter((_, at) => at !== 4) }),
  ],
  [
    'I14',
    'a crash leaves what no machine gets into',
    ({ sessions }) => ({ sessions: settledUnsent(sessions) }),
  ],
  ['I15', 'a session has an owner still', left({ owned: ['s-1'] })],
  ['I15', 'a turn is left in the queue', left({ queued: 1 })],
  ['I15', 'a process does not end by itself', left({ exitCodes: [0, null] })],
  ['I15', 'usage is no sum', told('turn.closed', { usage: { inputTokens: 1, outputTokens: 1 } })],
  ['secrets', 'a secret is in what a process says', () => ({ said: `key ${SECRET}` })],
];

/** The fact of what became of the run of a session, as workers leave it. */
function toldEnd(all: readonly LedgerRecord[]): LedgerRecord {
  const data = { run: 'r-1', status: 'completed', steps: 1, toolCalls: 0, usage: {} };
  // Only what the check looks at.
  return { ...all.at(-1), type: 'run.settled', data } as unknown as LedgerRecord;
}

/** A request that ran out when it was made, and a decision after that. */
function expiredBefore(one: LedgerRecord): LedgerRecord {
  if (one.type === 'permission.requested') return { ...one, data: { ...one.data, expiresAt: one.at } };
  return one.type === 'permission.decided' ? { ...one, at: one.at + 1 } : one;
}

/** Outcomes that the store had an hour later. */
function lateOutcomes(sessions: SwarmWitness['sessions'], storedAt: ReadonlyMap<string, number>) {
  const later = new Map(storedAt);
  for (const { id, type, at } of [...sessions.values()].flat()) {
    if (type === 'tool.settled') later.set(id, at + 3_600_000);
  }
  return later;
}

function widened(sessions: SwarmWitness['sessions']): SwarmWitness['sessions'] {
  const changed = told('session.opened', { ceiling: ['pay', 'more'] });
  const both = changed({ sessions } as SwarmWitness).sessions ?? sessions;
  return new Map(
    [...sessions].map(([id, all]) => [id, (all[0]?.parent === undefined ? all : both.get(id)) ?? all]),
  );
}

/** A call that is settled and was never dispatched. */
function settledUnsent(sessions: SwarmWitness['sessions']): SwarmWitness['sessions'] {
  return new Map(
    [...sessions].map(([id, all]) => [id, all.filter(({ type }) => type !== 'attempt.started')]),
  );
}

const brokenOf = (invariant: string, witness: SwarmWitness) =>
  checkSwarm(witness).find((check) => check.invariant === invariant)?.broken ?? [];

describe('the invariants', () => {
  it('hold for a swarm in which nothing goes wrong', () => {
    expect(brokenIn(checkSwarm(sound))).toEqual([]);
  });

  it('have each seen something', () => {
    for (const { saw } of checkSwarm(sound)) expect(saw).toMatch(/[1-9]/);
  });

  it.each(BROKEN)('%s tells when %s', (invariant, _, change) => {
    expect(brokenOf(invariant, { ...sound, ...change(sound) })).not.toEqual([]);
  });

  it('are all told of by some broken history', () => {
    const told = new Set(BROKEN.map(([invariant]) => invariant));
    expect([...told]).toEqual(checkSwarm(sound).map(({ invariant }) => invariant));
  });
});
