import type { JsonObject, RunEvent } from 'swarmwright';
import { describe, expect, it } from 'vitest';
import { createBusRequests } from '../../src/inspect/bus-requests.ts';
import { createEventLog } from '../../src/inspect/event-log.ts';
import { hashArguments } from '../../src/tools/argument-snapshot.ts';

const ARGS = { path: 'a', mode: 7 };

interface Written {
  readonly data: object;
  readonly redacted?: readonly string[];
  readonly session?: string;
}

let seq = 0;

/** What anybody who may publish can write. */
function event(type: string, { data, redacted = [], session = 's' }: Written): RunEvent {
  seq += 1;
  const place = { session, root: session, agent: 'a', agentPath: ['a'], turn: `${session}.1` };
  const id = { id: `${session}:${seq}`, seq, ts: '2026-01-01T00:00:00.000Z' };
  return {
    ...{ ...id, ...place, call: `${session}.1.1.0`, type, kind: type.split('.')[0], redacted, data },
  } as unknown as RunEvent;
}

function requested(data: { readonly argsHash: string; readonly input?: JsonObject }, more: object = {}) {
  const facts = { request: 'r', kind: 'permission', toolName: 'remove', rememberable: false };
  return event('approval.requested', { data: { ...facts, ...data }, ...more });
}

function requestsAfter(...events: readonly RunEvent[]) {
  const log = createEventLog({ maxEvents: 100, maxBytes: 1_000_000 });
  const requests = createBusRequests(log);
  for (const one of events) {
    log.push(one);
    requests.note(one);
  }
  return requests;
}

const called = (args: JsonObject | undefined, more: object = {}) =>
  event('tool.called', { data: { toolName: 'remove', ...(args === undefined ? {} : { args }) }, ...more });

describe('IN-08 arguments of a request on a bus', () => {
  it.each<[string, readonly RunEvent[], object]>([
    ['are shown as they are where they have the hash', [called(ARGS)], { input: ARGS }],
    ['are doubted where they have another', [called({ path: 'b' })], { doubt: 'different' }],
    ['are unknown where none were published', [called(undefined)], { doubt: 'absent' }],
    ['are unknown where the call is not there', [], { doubt: 'absent' }],
    [
      'cannot be checked where parts were masked',
      [called({ path: '[redacted]' }, { redacted: ['/args/path'] })],
      { doubt: 'masked' },
    ],
    ['are not those of the same call elsewhere', [called(ARGS, { session: 'other' })], { doubt: 'absent' }],
  ])('%s', (_, before, expected) => {
    const [request] = requestsAfter(...before, requested({ argsHash: hashArguments(ARGS) })).open();
    expect(request).toMatchObject(expected);
    if (!('doubt' in expected)) expect(request).not.toHaveProperty('doubt');
    if (!('input' in expected) && !before.some(({ redacted }) => redacted.length > 0)) {
      expect(request?.input).not.toEqual(ARGS);
    }
  });

  it('are those a gate put in their place, where it did', () => {
    const hash = hashArguments({ path: 'safe' });
    const [request] = requestsAfter(
      called(ARGS),
      requested({ argsHash: hash, input: { path: 'safe' } }),
    ).open();
    expect(request?.input).toEqual({ path: 'safe' });
    expect(request).not.toHaveProperty('doubt');
  });

  it('are doubted where no runtime takes any that are nested so deep', () => {
    let args: JsonObject = {};
    for (let depth = 0; depth < 500; depth += 1) args = { args };
    expect(requestsAfter(called(args), requested({ argsHash: 'x' })).find('r')?.doubt).toBe('different');
  });
});

describe('requests of a bus', () => {
  it.each([
    ['decided', event('approval.decided', { data: { request: 'r' } })],
    ['expired', event('approval.expired', { data: { request: 'r' } })],
    ['its turn is closed', event('turn.closed', { data: { status: 'cancelled' } })],
  ])('are gone once one is %s', (_, end) => {
    expect(requestsAfter(requested({ argsHash: 'x' }), end).open()).toEqual([]);
  });

  it('are bounded: the oldest are forgotten', () => {
    const many = Array.from({ length: 1_200 }, (_, at) =>
      event('approval.requested', { data: { request: `r${at}`, argsHash: 'x' }, session: `s${at}` }),
    );
    const requests = requestsAfter(...many);
    expect(requests.open()).toHaveLength(1_000);
    expect(requests.find('r0')).toBeUndefined();
    expect(requests.find('r1199')).toBeDefined();
  });
});
