import { describe, expect, it } from 'vitest';
import { FactLog, operator, scheduleOf, work } from './fact-log.ts';

describe('an update', () => {
  it('GS-07 made again by the same identity changes nothing', () => {
    const log = new FactLog();
    const request = { update: 'u', operators: [operator('a')], works: [work('a')] };
    log.update(request);
    expect(log.schedule.propose(request)).toEqual({ type: 'repeated', revision: 1 });
  });

  it('GS-07 of a known identity and other content is rejected', () => {
    const log = new FactLog();
    log.scheduleAll(['a']);
    const [first] = log.facts;
    const update = first?.type === 'graph.updated' ? first.data.update : '';
    const other = log.schedule.propose({ update, operators: [operator('b')] });
    expect(other).toMatchObject({ type: 'rejected', code: 'identity-reused' });
  });

  it('GS-07 after the one that finishes the graph is rejected', () => {
    const log = new FactLog();
    log.scheduleAll(['a']);
    log.run('a');
    log.update({ update: 'end', finish: { results: ['a'], reason: 'done' } });
    expect(log.schedule.status).toBe('completed');
    expect(log.schedule.propose({ update: 'late', works: [work('a2')] })).toMatchObject({
      type: 'rejected',
      code: 'graph-finished',
    });
  });

  it('GS-07 finishes with results that are committed, and adds nothing while it does', () => {
    const log = new FactLog();
    log.scheduleAll(['a', 'b']);
    log.run('a');
    const finish = { results: ['a', 'b'], reason: 'done' };
    expect(log.schedule.propose({ update: 'f', finish })).toMatchObject({ code: 'unknown-result' });
    const both = { update: 'f', works: [work('c')], finish: { results: ['a'], reason: 'done' } };
    expect(log.schedule.propose(both)).toMatchObject({ code: 'finish-with-work' });
  });

  it('closes a graph while claimed works are not settled, and skips what was not claimed', () => {
    const log = new FactLog();
    log.scheduleAll(['a', 'b', 'c']);
    log.run('a');
    log.ready('b');
    log.claim('b');
    log.start('b');
    log.update({ update: 'end', finish: { results: ['a'], reason: 'done' } });
    expect(log.schedule.status).toBe('closing');
    expect(log.schedule.actionable()).toMatchObject([[{ work: 'c' }, { reason: 'graph-ended' }]]);
    log.skip('c', 'graph-ended');
    log.finish('b');
    expect(log.schedule.status).toBe('completed');
  });

  it.each([
    ['a cycle of works', { works: [work('x', ['y']), work('y', ['x'])] }, 'cycle'],
    ['a work that needs itself', { works: [work('x', ['x'])] }, 'cycle'],
    ['an unknown input', { works: [work('x', ['nobody'])] }, 'unknown-work'],
    ['a work of an unknown operator', { works: [work('x', [], { operator: 'nobody' })] }, 'unknown-operator'],
    ['an operator twice', { operators: [operator('a')] }, 'duplicate-operator'],
    ['an operator routed from itself', { operators: [operator('r', { routes: ['r'] })] }, 'cycle'],
    ['an operator routed from nobody', { operators: [operator('r', { routes: ['n'] })] }, 'unknown-operator'],
    ['a work twice', { works: [work('a')] }, 'duplicate-work'],
    ['a join that can never fire', { works: [work('x', ['a'], { need: 2, operator: 'a' })] }, 'join-unmet'],
    ['a name of the schedule itself', { works: [work('a[0]', [], { operator: 'a' })] }, 'reserved-name'],
  ])('GS-22 with %s is rejected', (_, request, code) => {
    const log = new FactLog();
    log.scheduleAll(['a']);
    const operators = 'works' in request ? [operator('x'), operator('y')].slice(0, 2) : request.operators;
    const proposal = log.schedule.propose({ update: 'wrong', ...request, operators });
    expect(proposal).toMatchObject({ type: 'rejected', code });
  });
});

describe('facts that contradict each other', () => {
  it.each([
    ['a work claimed twice', (log: FactLog) => log.claim('a')],
    ['an operator bound to two sessions', (log: FactLog) => bindAgain(log, 'a2', 's-other')],
    ['a session bound to two operators', (log: FactLog) => log.claim('b', 's-a')],
    ['a work that ran and was skipped', (log: FactLog) => skipAfterStart(log)],
    ['two outcomes', (log: FactLog) => twoOutcomes(log)],
    ['one revision twice', (log: FactLog) => void log.write('graph.updated', revisionOne())],
    ['an unknown input', (log: FactLog) => void log.write('graph.updated', unknownInput())],
  ])('GS-22 close the schedule: %s', (_, contradict) => {
    const log = new FactLog();
    log.update({
      update: 'all',
      operators: [operator('a'), operator('b')],
      works: [work('a'), work('a2', [], { operator: 'a' }), work('b')],
    });
    log.ready('a');
    log.claim('a', 's-a');
    expect(log.schedule.faults).toEqual([]);
    contradict(log);
    expect(log.schedule.status).toBe('corrupt');
    expect(log.schedule.faults).toHaveLength(1);
    expect(log.schedule.actionable()).toEqual([]);
    expect(scheduleOf(log.facts.toReversed()).faults).toEqual(log.schedule.faults);
  });

  it('GS-22 a record of a session that is no operator changes nothing', () => {
    const log = new FactLog();
    log.scheduleAll(['a']);
    const before = log.schedule.version;
    log.write('assistant.message', { content: [], attempt: 1, provider: 'p', model: 'm' }, 's-foreign');
    expect(log.schedule.version).toBe(before);
    expect(log.schedule.record('s-foreign:1')).toBeUndefined();
  });
});

function bindAgain(log: FactLog, name: string, session: string): void {
  log.claim(name, session);
}

function skipAfterStart(log: FactLog): void {
  log.start('a');
  log.skip('a');
}

function twoOutcomes(log: FactLog): void {
  log.start('a');
  log.finish('a');
  log.finish('a', 'failed', { attempt: 2 });
}

const base = { operators: [], works: [], stops: [], fingerprint: 'f'.repeat(64) };
const revisionOne = () => ({ ...base, revision: 1, update: 'other' });
const unknownInput = () => ({
  ...base,
  revision: 2,
  update: 'other',
  works: [work('x', ['nobody'], { operator: 'a' })],
});
