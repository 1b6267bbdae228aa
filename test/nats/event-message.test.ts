import { describe, expect, it } from 'vitest';
import { parseEvent, type RunEvent } from '../../src/events/event-schemas.ts';
import { createEventWriter, createTraceparents, type StoredReference } from '../../src/nats/event-message.ts';
import { createSubjects } from '../../src/nats/subjects.ts';

/** An event whose facts are a list of names. */
function listing(names: readonly string[]): RunEvent {
  const event = {
    v: 1,
    id: 's-1:1',
    type: 'discovery.cleared',
    kind: 'discovery',
    name: 'cleared',
    tv: 1,
    session: 's-1',
    root: 's-1',
    agent: 'boss',
    agentPath: ['boss'],
    run: 'r-1',
    seq: 1,
    prev: 0,
    epoch: 1,
    ts: '2026-01-31T08:00:00.000Z',
    actor: { kind: 'runtime' },
    redacted: [],
    data: { names },
  };
  // An event as it comes out of the projector, which the first test holds to its schema.
  return event as unknown as RunEvent;
}

function writer(stored: Uint8Array[] = []) {
  return createEventWriter({
    subjects: createSubjects(),
    format: 'json',
    traceparent: () => undefined,
    store: {
      async put(bytes, type): Promise<StoredReference> {
        stored.push(bytes);
        return { store: 'here', key: 'k', size: bytes.length, sha256: 'k', type };
      },
    },
  });
}

const long = (count: number, chars: number) => Array.from({ length: count }, () => 'n'.repeat(chars));
const read = (payload: Uint8Array) => JSON.parse(Buffer.from(payload).toString());

describe('the message of an event', () => {
  it('is the event with its namespace, at its subject, under an id of its namespace', async () => {
    const event = listing(['a', 'b']);
    expect(parseEvent(event).type).toBe('event');
    const message = await writer().write(event);
    expect(message?.subject).toBe('swm.v1.default.evt.s-1.s-1.discovery.cleared');
    expect(message?.headers).toEqual({ 'Nats-Msg-Id': 'default:s-1:1', 'Swm-V': '1' });
    expect(read(message?.payload ?? new Uint8Array())).toEqual({ ...event, ns: 'default' });
  });

  it('NB-08 has the beginning of a list that is too long, and a reference to all of it', async () => {
    const stored: Uint8Array[] = [];
    const names = long(200, 1_000);
    const message = await writer(stored).write(listing(names));
    const payload = read(message?.payload ?? new Uint8Array());
    expect(parseEvent(payload).type).toBe('event');
    expect(payload.data.names).toHaveLength(50);
    expect(payload.redacted).toEqual(['/names']);
    expect(read(stored[0] ?? new Uint8Array())).toEqual({ names });
    expect(payload.ref).toMatchObject({ store: 'here', size: stored[0]?.length });
  });

  it('is none where nothing would make it fit', async () => {
    expect(await writer().write(listing(long(40, 10_000)))).toBeUndefined();
  });

  it('is in the trace of its run, as a span of its own, whoever works it out', () => {
    const event = listing([]);
    const [one, other] = [createTraceparents(), createTraceparents()];
    expect(one(event)).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(other(event)).toBe(one(event));
    const traceOf = (text: string) => text.split('-')[1];
    expect(traceOf(one({ ...event, id: 's-1:2' }))).toBe(traceOf(one(event)));
    expect(one({ ...event, id: 's-1:2' })).not.toBe(one(event));
    expect(traceOf(one({ ...event, run: 'r-2' }))).not.toBe(traceOf(one(event)));
  });
});
