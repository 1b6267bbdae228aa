import { describe, expect, it } from 'vitest';
import { admit } from '../../src/graph/admission.ts';
import { operatorStatus } from '../../src/graph/schedule-view.ts';
import type { WorkState } from '../../src/graph/work-state.ts';
import { FactLog, operator, work } from './fact-log.ts';

const NO_LIMITS = { activations: 1_000, children: 1_000 };
const names = (works: readonly WorkState[]) => works.map((one) => one.work);

function todo(log: FactLog) {
  const { ready, skip, cancel, gather } = admit(log.schedule, NO_LIMITS);
  return {
    ready: names(ready),
    skip: skip.map(({ work: one, reason }) => `${one.work} ${reason}`),
    cancel: cancel.map(({ work: one }) => one.work),
    gather: names(gather),
  };
}

describe('readiness', () => {
  it('GS-08 makes a work wait until every input is settled', () => {
    const log = new FactLog();
    log.scheduleAll(['a', 'b']);
    log.update({ update: 'c', operators: [operator('c')], works: [work('c', ['a', 'b'])] });
    log.run('a');
    expect(todo(log).ready).toEqual(['b']);
    log.run('b');
    expect(todo(log).ready).toEqual(['c']);
  });

  it('GS-08 makes a work wait for a record of an operator that is not committed', () => {
    const log = new FactLog();
    log.scheduleAll(['a']);
    log.ready('a');
    log.claim('a', 's-a');
    const data = { content: [], attempt: 1, provider: 'p', model: 'm' };
    const proposal = log.schedule.propose({
      update: 'b',
      operators: [operator('b')],
      works: [work('b', [], { records: ['s-a:1'] })],
    });
    expect(proposal).toMatchObject({ type: 'rejected', code: 'unknown-record' });
    log.write('assistant.message', data, 's-a');
    log.update({
      update: 'b',
      operators: [operator('b')],
      works: [work('b', [], { records: ['s-a:1'] })],
    });
    expect(todo(log).ready).toEqual(['b']);
  });

  it('T11 counts a skipped input as settled', () => {
    const log = new FactLog();
    log.scheduleAll(['a', 'b']);
    log.update({ update: 'c', operators: [operator('c')], works: [work('c', ['a', 'b'])] });
    log.skip('b');
    log.run('a');
    expect(todo(log).ready).toEqual(['c']);
  });

  it('T11 skips what has skipped inputs only, and tells of a join that can never fire', () => {
    const log = new FactLog();
    log.scheduleAll(['a', 'b', 'c']);
    log.update({
      update: 'joins',
      operators: [operator('all'), operator('two')],
      works: [work('all', ['a', 'b']), work('two', ['a', 'b', 'c'], { need: 2 })],
    });
    log.skip('a');
    log.skip('b');
    expect(todo(log).skip).toEqual(['all inputs-skipped']);
    log.run('c');
    expect(todo(log).skip).toEqual(['all inputs-skipped', 'two join-unmet']);
  });

  it.each(['completed', 'failed', 'cancelled'] as const)(
    'GS-11 fires a collecting join once, however its inputs end: %s',
    (status) => {
      const log = new FactLog();
      log.scheduleAll(['a', 'b']);
      log.update({
        update: 'j',
        operators: [operator('j')],
        works: [work('j', ['a', 'b'], { onError: 'collect' })],
      });
      log.run('a', status);
      expect(todo(log).ready).toEqual(['b']);
      log.run('b');
      expect(todo(log).ready).toEqual(['j']);
      log.run('j');
      // A follow-up of an input is another work: the join was sealed on the first.
      log.update({ update: 'again', works: [work('a2', [], { operator: 'a' })] });
      log.run('a2', 'failed');
      expect(todo(log)).toMatchObject({ ready: [], skip: [] });
      expect(log.statusOf('j')).toBe('completed');
    },
  );

  it('GS-12 skips what needs a failed input, and nothing beside it', () => {
    const log = new FactLog();
    log.scheduleAll(['a', 'b']);
    log.update({
      update: 'after',
      operators: [operator('c'), operator('d')],
      works: [work('c', ['a']), work('d', ['b'])],
    });
    log.run('a', 'failed');
    expect(todo(log)).toMatchObject({ ready: ['b'], skip: ['c input-failed'] });
    expect(log.schedule.status).toBe('active');
  });

  it('counts what a failure kept from running as failed, not as skipped', () => {
    const log = new FactLog();
    log.scheduleAll(['a', 'x']);
    log.update({
      update: 'after',
      operators: [operator('b'), operator('j'), operator('k')],
      works: [work('b', ['a']), work('j', ['b', 'x']), work('k', ['b', 'x'], { onError: 'collect' })],
    });
    log.run('x');
    log.run('a', 'failed');
    log.skip('b', 'input-failed');
    expect(todo(log)).toMatchObject({ skip: ['j input-failed'], ready: ['k'] });
  });

  it('fires a join that needs some as soon as it has them, and not for its failures', () => {
    const log = new FactLog();
    log.scheduleAll(['a', 'b', 'c']);
    log.update({
      update: 'j',
      operators: [operator('j')],
      works: [work('j', ['a', 'b', 'c'], { need: 2, onError: 'collect' })],
    });
    log.run('a', 'failed');
    log.run('b');
    expect(todo(log).ready).toEqual(['c']);
    log.run('c');
    expect(todo(log).ready).toEqual(['j']);
  });

  it('runs one work for each result of a routed operator, those before it included', () => {
    const log = new FactLog();
    log.scheduleAll(['a']);
    log.run('a');
    log.update({ update: 'route', operators: [operator('r', { routes: ['a'] })] });
    log.update({ update: 'more', works: [work('a2', [], { operator: 'a' })] });
    log.run('a2');
    expect(todo(log).ready).toEqual(['r<a', 'r<a2']);
  });
});

describe('items of a map', () => {
  function mapOf(items: number): FactLog {
    const log = new FactLog();
    log.update({ update: 'm', operators: [operator('m')], works: [work('m', [], { each: true })] });
    log.ready('m', items);
    return log;
  }

  it('settle the map when all of them are', () => {
    const log = mapOf(2);
    log.run('m[1]');
    expect(todo(log)).toMatchObject({ ready: ['m[0]'], gather: [] });
    log.run('m[0]');
    expect(todo(log).gather).toEqual(['m']);
  });

  it('settle an empty map at once', () => {
    expect(todo(mapOf(0)).gather).toEqual(['m']);
  });

  it('are skipped where they had not begun when one fails', () => {
    const log = mapOf(3);
    log.ready('m[1]');
    log.claim('m[1]');
    log.start('m[1]');
    log.run('m[0]', 'failed');
    expect(todo(log)).toMatchObject({ ready: [], skip: ['m[2] sibling-failed'], gather: [] });
    log.skip('m[2]', 'sibling-failed');
    log.finish('m[1]');
    expect(todo(log).gather).toEqual(['m']);
  });
});

describe('admission', () => {
  it('GS-08 leaves one of 33 works for the next pass', () => {
    const log = new FactLog();
    const all = Array.from({ length: 33 }, (_, at) => `w${at}`);
    log.scheduleAll(all);
    for (const name of all) log.ready(name);
    const pass = admit(log.schedule, { activations: 32, children: 1_000 });
    expect(names(pass.admit)).toEqual(all.slice(0, 32));
    expect(pass.deferred).toMatchObject([{ work: { work: 'w32' }, reason: 'activation-limit' }]);
    expect(admit(log.schedule, { activations: 0, children: 1_000 }).admit).toEqual([]);
  });

  it('GS-21 runs one work of an operator at a time, in their order', () => {
    const log = new FactLog();
    log.update({
      update: 'two',
      operators: [operator('a')],
      works: [work('a1', [], { operator: 'a' }), work('a2', [], { operator: 'a' })],
    });
    log.ready('a2');
    log.ready('a1');
    const first = admit(log.schedule, NO_LIMITS);
    expect(names(first.admit)).toEqual(['a1']);
    expect(first.deferred).toMatchObject([{ work: { work: 'a2' }, reason: 'operator-busy' }]);
    log.claim('a1');
    expect(names(admit(log.schedule, NO_LIMITS).admit)).toEqual([]);
    log.start('a1');
    // A failed one frees the place.
    log.finish('a1', 'failed');
    expect(names(admit(log.schedule, NO_LIMITS).admit)).toEqual(['a2']);
  });

  it('bounds the items of a map and the children of a graph', () => {
    const log = new FactLog();
    log.update({
      update: 'm',
      operators: [operator('m'), operator('n')],
      works: [work('m', [], { each: true, maxConcurrency: 2 }), work('n')],
    });
    log.ready('m', 3);
    expect(todo(log).ready).toEqual(['m[0]', 'm[1]', 'n']);
    for (const name of ['m[0]', 'm[1]', 'n']) log.ready(name);
    const pass = admit(log.schedule, NO_LIMITS);
    expect(names(pass.admit)).toEqual(['m[0]', 'm[1]', 'n']);
    const narrow = admit(log.schedule, { activations: 32, children: 1 });
    expect(names(narrow.admit)).toEqual(['m[0]']);
    expect(narrow.deferred.map(({ reason }) => reason)).toEqual(['fan-out', 'fan-out']);
  });
});

describe('stops', () => {
  it('GS-10 end a work that was claimed and not entered as cancelled', () => {
    const log = new FactLog();
    log.scheduleAll(['a', 'b', 'c']);
    for (const name of ['a', 'b']) log.ready(name);
    for (const name of ['a', 'b']) log.claim(name);
    log.start('b');
    log.update({
      update: 'stop',
      stops: ['a', 'b', 'c', 'nobody'].map((target) => ({ target, reason: 'enough' })),
    });
    expect(todo(log).cancel).toEqual(['a']);
    expect(log.statusOf('b')).toBe('running');
    expect(log.statusOf('c')).toBe('cancelled');
    log.finish('b');
    // It was on its way and came through: that is what became of it.
    expect(log.statusOf('b')).toBe('completed');
  });

  it('GS-18 reach everything there is, and nothing decided before them sets it going again', () => {
    const log = new FactLog();
    log.scheduleAll(['a', 'b']);
    const basis = log.schedule.revision;
    log.update({ update: 'stop', stops: [{ target: '*', reason: 'stopped' }] });
    expect([log.statusOf('a'), log.statusOf('b')]).toEqual(['cancelled', 'cancelled']);
    const more = { update: 'more', works: [work('a2', [], { operator: 'a' })] };
    expect(log.schedule.propose(more, basis)).toMatchObject({ type: 'rejected', code: 'stopped-meanwhile' });
    log.update(more);
    expect(todo(log).ready).toEqual(['a2']);
  });

  it('stop what is replaced', () => {
    const log = new FactLog();
    log.scheduleAll(['a']);
    log.update({ update: 'r', works: [work('a2', [], { operator: 'a', replaces: 'a' })] });
    expect(log.statusOf('a')).toBe('superseded');
    expect(todo(log).ready).toEqual(['a2']);
  });
});

describe('operators', () => {
  it('are blocked while their session waits for a person', () => {
    const log = new FactLog();
    log.scheduleAll(['a']);
    const status = () => {
      const state = log.schedule.operators.get('a');
      return state && operatorStatus(state);
    };
    expect(status()).toBe('waiting');
    log.ready('a');
    expect(status()).toBe('runnable');
    log.claim('a', 's-a');
    log.start('a');
    expect(status()).toBe('running');
    const request = { request: 's-a.1.1.0.ask', argsHash: 'a'.repeat(64), scopeKey: 'k', rememberable: true };
    log.write('permission.requested', { ...request, kind: 'permission', toolName: 't' }, 's-a');
    expect(status()).toBe('blocked');
    log.write('permission.expired', { request: request.request }, 's-a');
    expect(status()).toBe('running');
    log.finish('a', 'cancelled');
    expect(status()).toBe('aborted');
  });
});
