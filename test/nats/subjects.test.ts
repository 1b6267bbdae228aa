import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DURABLE_EVENT_TYPES } from '../../src/events/event-schemas.ts';
import { EVENT_TABLE } from '../../src/events/event-table.ts';
import { COMMAND_VERBS, createSubjects, decodeToken, encodeToken } from '../../src/nats/subjects.ts';

const TOKEN = /^[A-Za-z0-9_=-]{1,64}$/;

/** Ids as foreign systems and attackers write them. */
const hostile = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc.constantFrom('', '*', '>', '.', '..', 'a.b', 'a b', 'a\r\nPUB x 1', '\0', '$JS.API.>', '=', '=h', '=2E'),
  fc.constantFrom('=h0123456789abcdef0123456789abcdef', '漢字', '😀', '\ud800', 'x'.repeat(65), '=41'),
);
const wellFormed = hostile.map((text) => text.toWellFormed());

describe('subject tokens', () => {
  it('NB-02 hostile ids become one short token of safe characters', () => {
    fc.assert(fc.property(hostile, (id) => TOKEN.test(encodeToken(id))));
  });

  it('NB-02 hostile ids round-trip, unless only a hash of them fits', () => {
    fc.assert(
      fc.property(wellFormed, (id) => {
        const token = encodeToken(id);
        if (token.startsWith('=h')) expect(decodeToken(token)).toBeUndefined();
        else expect(decodeToken(token)).toBe(id);
      }),
      { numRuns: 2_000 },
    );
  });

  it('NB-02 different ids become different tokens', () => {
    fc.assert(
      fc.property(wellFormed, wellFormed, (one, other) => {
        fc.pre(one !== other);
        expect(encodeToken(one)).not.toBe(encodeToken(other));
      }),
      { numRuns: 2_000 },
    );
  });

  it('takes no token that the encoding never gives', () => {
    for (const token of ['', '=4', '=zz', '=2e', 'a.b', '*', '>', '=41', 'a=h']) {
      expect(decodeToken(token), token).toBeUndefined();
    }
  });
});

describe('subjects', () => {
  it('NB-02 subjects of hostile ids have a fixed number of tokens and say whose they are', () => {
    fc.assert(
      fc.property(wellFormed, wellFormed, wellFormed, (ns, root, session) => {
        const subjects = createSubjects({ ns });
        const subject = subjects.event({ root, session, type: 'tool.settled' });
        expect(subject.split('.')).toHaveLength(8);
        expect(Buffer.byteLength(subject)).toBeLessThanOrEqual(255);
        expect(subjects.parseEvent(subject)).toMatchObject({ kind: 'tool', name: 'settled' });
        expect(subjects.parseCommand(subjects.command('s-1', 'steer'))).toEqual({
          session: 's-1',
          verb: 'steer',
        });
      }),
    );
  });

  it('are two tokens at the end for every type of event', () => {
    expect(Object.keys(EVENT_TABLE).length).toBeGreaterThan(0);
    for (const type of DURABLE_EVENT_TYPES) expect(type).toMatch(/^[a-z]+\.[a-z-]+$/);
  });

  it.each([
    [{}, 'swm.v1.default.evt.>'],
    [{ root: 's-1' }, 'swm.v1.default.evt.s-1.>'],
    [{ session: 's-2' }, 'swm.v1.default.evt.*.s-2.>'],
    [{ kind: 'tool' }, 'swm.v1.default.evt.*.*.tool.>'],
    [{ name: 'failed' }, 'swm.v1.default.evt.*.*.*.failed'],
    [{ kind: 'approval', name: 'requested' }, 'swm.v1.default.evt.*.*.approval.requested'],
    [{ root: 'a.b' }, 'swm.v1.default.evt.a=2Eb.>'],
  ])('of the filter %o are %s', (filter, subject) => {
    expect(createSubjects().events(filter)).toBe(subject);
  });

  it('of another namespace or plane are not read as commands', () => {
    const subjects = createSubjects({ ns: 'one' });
    for (const verb of COMMAND_VERBS) {
      expect(createSubjects({ ns: 'two' }).parseCommand(subjects.command('s-1', verb))).toBeUndefined();
    }
    expect(subjects.parseCommand('swm.v1.one.cmd.s-1.destroy')).toBeUndefined();
    expect(subjects.parseCommand('swm.v1.one.cmd.a.b.steer')).toBeUndefined();
  });

  it('refuses a root that is more than one token', () => {
    expect(() => createSubjects({ subjectRoot: 'a.b' })).toThrow('subjectRoot');
  });
});
