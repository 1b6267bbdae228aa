import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { EVENT_DATA } from '../../src/events/event-data.ts';
import { createProjector } from '../../src/events/event-projector.ts';
import {
  DURABLE_EVENT_TYPES,
  parseEvent,
  type RunEvent,
  toJsonSchemas,
} from '../../src/events/event-schemas.ts';
import { EVENT_TABLE } from '../../src/events/event-table.ts';
import { createRedactor, MASK } from '../../src/events/redaction.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { RECORD_DATA, type RecordType } from '../../src/ledger/records.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { allRecords, CHILD, sampleRecord, writerOf } from './ledger-writing.ts';
import { SAMPLES, SPOKEN } from './sample-records.ts';

/** Kinds and names that readers in any language may rely on. */
const PUBLIC_TYPES = `
session.opened session.closed
turn.opened turn.paused turn.resumed turn.closed
step.started step.completed step.failed step.cache-broken
attempt.started attempt.failed attempt.retry-scheduled
tool.called tool.refused tool.dispatched tool.progressed tool.settled tool.indeterminate tool.reconciled
discovery.searched discovery.activated discovery.changed discovery.cleared discovery.measured
approval.requested approval.decided approval.expired
steering.accepted steering.injected steering.undelivered
child.intended child.started child.finished child.lost
handoff.taken handoff.refused
graph.updated graph.claimed graph.readied graph.finished
node.started node.finished node.skipped
message.received message.refused
compaction.committed compaction.skipped
budget.exceeded
machine.transitioned
`
  .trim()
  .split(/\s+/);

/** One event a line. */
function goldenOf(file: string): readonly RunEvent[] {
  const lines = readFileSync(new URL(file, import.meta.url), 'utf8')
    .trim()
    .split('\n');
  return lines.map((line) => JSON.parse(line));
}

const goldenWithout = goldenOf('golden-events.jsonl');
const goldenWith = goldenOf('golden-events-with-content.jsonl');
const goldenEvents = [...goldenWithout, ...goldenWith];

/** One session in which every sample happens, as events. */
async function projectAll(content: boolean): Promise<readonly RunEvent[]> {
  await using ledger = memoryLedger({ clock: fakeClock() });
  const session = await writerOf(ledger, CHILD);
  // Keys of the samples are record types.
  for (const type of Object.keys(SAMPLES) as RecordType[]) {
    const inTurn = type.startsWith('session.') ? {} : { turn: 's-child.1' };
    const inStep = /^(step|attempt|tool|permission)\./.test(type) ? { step: 's-child.1.1' } : {};
    const inCall = /^(tool|permission)\./.test(type) ? { call: 's-child.1.1.0' } : {};
    for (const index of (SAMPLES[type] ?? []).keys()) {
      await session.append(
        sampleRecord(type, index, { ...inTurn, ...inStep, ...inCall, cause: 's-child:1' }),
      );
    }
  }
  const projector = createProjector(ledger, { content });
  const events: RunEvent[] = [];
  for (const positioned of await allRecords(ledger)) {
    const event = await projector.project(positioned);
    if (event !== undefined) events.push(event);
  }
  return events;
}

describe('the table of events', () => {
  it('holds exactly the public kinds and names', () => {
    expect(Object.keys(EVENT_DATA).sort()).toEqual([...PUBLIC_TYPES].sort());
  });

  it('decides for every record type whether observers see it', () => {
    expect(Object.keys(EVENT_TABLE).sort()).toEqual(Object.keys(RECORD_DATA).sort());
  });

  it('has a sample of every record that observers see', () => {
    const seen = Object.entries(EVENT_TABLE).flatMap(([type, row]) => (row === null ? [] : [type]));
    expect(Object.keys(SAMPLES).sort()).toEqual(seen.sort());
  });
});

describe('golden events', () => {
  it('are what the samples become, without content and with', async () => {
    for (const [content, golden] of [
      [false, goldenWithout],
      [true, goldenWith],
    ] as const) {
      const events = await projectAll(content);
      const types = new Set(events.map(({ type }) => type));
      expect(events).toEqual(golden.filter(({ type }) => types.has(type)));
    }
  });

  it('exist for every event of a ledger', () => {
    const types = new Set(goldenEvents.map(({ type }) => type));
    expect([...types].sort()).toEqual([...DURABLE_EVENT_TYPES].sort());
  });

  it.each(goldenEvents.map((event) => [event.type, event] as const))(
    'of type %s are read back unchanged',
    (_, event) => {
      expect(parseEvent(event)).toEqual({ type: 'event', event });
    },
  );

  it('XC-02 carry session, root, parent, turn, run, step and a growing sequence', async () => {
    const events = await projectAll(false);
    let last = 0;
    for (const event of events) {
      expect(event).toMatchObject({
        session: 's-child',
        root: 's-root',
        parent: 's-root',
        agent: 'scout',
        agentPath: ['boss', 'scout'],
        id: `s-child:${event.seq}`,
        prev: last,
      });
      expect(event.seq).toBeGreaterThan(last);
      last = event.seq;
      if (event.kind !== 'session')
        expect([event.turn, event.run]).toEqual(['s-child.1', expect.any(String)]);
      if (event.kind === 'step' || event.kind === 'tool') expect(event.step).toBe('s-child.1.1');
      if (event.kind === 'tool') expect(event.call).toBe('s-child.1.1.0');
    }
    expect(last).toBeGreaterThan(events.length - 1);
  });

  it('name the run that resumed a turn from there on', async () => {
    const events = await projectAll(false);
    expect(events.find(({ type }) => type === 'turn.opened')?.run).toBe('r-1');
    expect(events.find(({ type }) => type === 'turn.closed')?.run).toBe('r-2');
  });
});

describe('JSON Schemas of events', () => {
  const schemas = toJsonSchemas();
  const ajv = new Ajv2020({ strict: false });

  it('exist for every event of a ledger', () => {
    expect(Object.keys(schemas)).toEqual(DURABLE_EVENT_TYPES);
  });

  it.each(DURABLE_EVENT_TYPES)('compile and accept the golden events of type %s', (type) => {
    const validate = ajv.compile(schemas[type]);
    const samples = goldenEvents.filter((event) => event.type === type);
    expect(samples).not.toEqual([]);
    for (const sample of samples) expect([validate(sample), validate.errors]).toEqual([true, null]);
    expect(validate({ ...samples[0], unknown: 1 })).toBe(true);
    expect(validate({ ...samples[0], seq: 0 })).toBe(false);
    expect(validate({ ...samples[0], data: null })).toBe(false);
  });
});

describe('parseEvent', () => {
  const [event] = goldenEvents;

  it('passes over versions and types it does not know', () => {
    expect(parseEvent({ ...event, v: 2 })).toEqual({ type: 'unknown', reason: 'version' });
    expect(parseEvent({ ...event, type: 'tool.dreamed' })).toEqual({ type: 'unknown', reason: 'event-type' });
    expect(parseEvent({ ...event, type: 'toString' })).toEqual({ type: 'unknown', reason: 'event-type' });
  });

  it('drops fields it does not know', () => {
    const parsed = parseEvent({ ...event, later: 1 });
    expect(parsed).toEqual({ type: 'event', event });
  });

  it.each([undefined, null, 'x', [], {}, { v: 1 }, { v: 1, type: 'turn.closed' }])('refuses %j', (value) => {
    expect(parseEvent(value)).toMatchObject({ type: 'invalid', message: expect.any(String) });
  });
});

describe('content', () => {
  let without: readonly RunEvent[];
  let withContent: readonly RunEvent[];

  beforeAll(async () => {
    without = await projectAll(false);
    withContent = await projectAll(true);
  });

  it('stays behind unless a policy lets it out', () => {
    expect(JSON.stringify(without)).not.toContain(SPOKEN);
    expect(JSON.stringify(withContent)).toContain(SPOKEN);
  });

  it('leaves its size and hash, and the place it stood', () => {
    const settled = without.find((event) => event.type === 'tool.settled');
    expect(settled?.data.digests?.output).toEqual({
      bytes: 34,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(settled?.redacted).toEqual(['/output', '/result']);
    const full = withContent.find((event) => event.type === 'tool.settled');
    expect(full?.data).toMatchObject({ output: { type: 'text', text: SPOKEN }, result: { found: SPOKEN } });
    expect([full?.data.digests, full?.redacted]).toEqual([undefined, []]);
  });

  it('comes for the kinds a policy names alone', async () => {
    await using ledger = memoryLedger();
    const session = await writerOf(ledger, CHILD);
    await session.append(
      sampleRecord('tool.refused'),
      sampleRecord('tool.progressed'),
      sampleRecord('steering.accepted'),
    );
    const projector = createProjector(ledger, { content: ['steering'] });
    const [refused, , steered] = await Promise.all(
      (await allRecords(ledger)).map((one) => projector.project(one)),
    );
    expect(JSON.stringify(refused)).not.toContain(SPOKEN);
    expect(JSON.stringify(steered)).toContain(SPOKEN);
  });

  it('stays behind where the event would be too large', async () => {
    await using ledger = memoryLedger();
    const session = await writerOf(ledger, CHILD);
    await session.append({ type: 'steering.accepted', data: { id: 'x', text: 'y'.repeat(5_000) } });
    const [record] = await allRecords(ledger);
    const small = createProjector(ledger, { content: true, maxEventBytes: 2_000 });
    expect(record && (await small.project(record))).toMatchObject({
      data: { id: 'x', digests: { text: { bytes: 5_000 } } },
      redacted: ['/text'],
    });
  });

  it('of an unknown field of a record stays inside', async () => {
    await using ledger = memoryLedger();
    const session = await writerOf(ledger, CHILD);
    await session.append(sampleRecord('tool.called'));
    const [positioned] = await allRecords(ledger);
    if (positioned === undefined) return expect.unreachable();
    const { pos, record } = positioned;
    const later = Object.assign({}, record, { data: { ...record.data, novelty: SPOKEN } });
    const event = await createProjector(ledger).project({ pos, record: later });
    expect(JSON.stringify(event)).not.toContain('novelty');
  });
});

describe('secrets', () => {
  it('never leave, with content or without', async () => {
    const secret = 'hunter2-hunter2';
    await using ledger = memoryLedger();
    const session = await writerOf(ledger, CHILD);
    await session.append(
      { type: 'steering.accepted', data: { id: 'x', text: `use ${secret}`, actor: secret } },
      { type: 'message.refused', data: { from: secret, reason: `password=${'abcdefgh'}` } },
      {
        ...sampleRecord('tool.called'),
        data: { ...sampleRecord('tool.called').data, toolName: `t-${secret}`, args: { password: 'p4ssw' } },
      },
    );
    for (const content of [true, false]) {
      const projector = createProjector(ledger, { content, redactor: createRedactor({ secrets: [secret] }) });
      const events = await Promise.all((await allRecords(ledger)).map((one) => projector.project(one)));
      const text = JSON.stringify(events);
      for (const leak of [secret, 'abcdefgh', 'p4ssw']) expect(text).not.toContain(leak);
      expect(text).toContain(MASK);
      expect(events[2]?.redacted).toContain('/toolName');
    }
  });

  it('a name without end is cut', async () => {
    await using ledger = memoryLedger();
    const session = await writerOf(ledger, CHILD);
    await session.append({
      ...sampleRecord('tool.called'),
      data: { ...sampleRecord('tool.called').data, toolName: 'x'.repeat(10_000) },
    });
    const [record] = await allRecords(ledger);
    const event = record && (await createProjector(ledger).project(record));
    expect(JSON.stringify(event).length).toBeLessThan(4_000);
    expect(event?.redacted).toContain('/toolName');
  });
});
